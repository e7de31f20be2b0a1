import pytest

from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import Json, tfjob
from tfjob.client.errors import Forbidden
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError


async def put(cluster: Cluster, job: Json) -> None:
    group, _, version = job["apiVersion"].partition("/")
    resource = Resource(group, version, f"{job['kind'].lower()}s")
    await cluster.api.create(resource.collection("default"), job, decode=PartialObjectMetadata)


async def test_job_is_found_in_whichever_api_has_it(bare_cluster: Cluster) -> None:
    for job in (tfjob(name="new"), old_job(name="old"), training_job(name="other")):
        await put(bare_cluster, job)
        found = await job_lookup.find(bare_cluster, job["metadata"]["name"])
        assert found.manifest["kind"] == job["kind"]


async def test_name_in_several_apis_is_ambiguous(bare_cluster: Cluster) -> None:
    await put(bare_cluster, tfjob())
    await put(bare_cluster, old_job())
    with pytest.raises(TFJobError) as raised:
        await job_lookup.find(bare_cluster, "j")
    assert str(raised.value) == (
        "'j' is ambiguous: use tfjobs.kubeflow.org/j or tfjobs.tensorflow.org/j,"
        " or choose with --api"
    )


@pytest.mark.parametrize(
    "api",
    [
        "tensorflow.org",
        "tensorflow.org/v1alpha1",
        "tfjobs.tensorflow.org",
        "tfjob.tensorflow.org",
        "TfJob.tensorflow.org",
        "tfjalpha",
    ],
)
async def test_api_is_chosen_before_the_name_or_by_a_flag(bare_cluster: Cluster, api: str) -> None:
    await put(bare_cluster, tfjob())
    await put(bare_cluster, old_job())
    for found in (
        await job_lookup.find(bare_cluster, "j", api=api),
        await job_lookup.find(bare_cluster, f"{api}/j"),
    ):
        assert found.manifest["apiVersion"] == "tensorflow.org/v1alpha1"


async def test_older_version_means_the_jobs_that_are_stored_as_the_newer(
    bare_cluster: Cluster,
) -> None:
    await put(bare_cluster, tfjob())
    found = await job_lookup.find(bare_cluster, "j", api="kubeflow.org/v1beta1")
    assert job_lookup.full_name(found) == "tfjobs.kubeflow.org/j"


async def test_unknown_api_is_answered_with_the_known_ones(bare_cluster: Cluster) -> None:
    with pytest.raises(TFJobError, match=r"'example.org'; choose one of tfjobs.kubeflow.org, "):
        await job_lookup.find(bare_cluster, "example.org/j")


async def test_missing_job_is_answered_with_the_most_similar_one(bare_cluster: Cluster) -> None:
    await put(bare_cluster, tfjob(name="mnist"))
    await put(bare_cluster, old_job(name="cifar"))
    for wanted, api, remedy in (
        ("mnits", None, "did you mean 'mnist'?"),
        ("cifra", None, "did you mean 'cifar'?"),
        ("cifra", "kubeflow.org", "`tfjob get -A` lists all jobs"),
    ):
        with pytest.raises(TFJobError) as raised:
            await job_lookup.find(bare_cluster, wanted, api=api)
        assert raised.value.remedy == remedy


async def test_missing_job_is_an_error(bare_cluster: Cluster) -> None:
    with pytest.raises(TFJobError, match="no job 'j' in namespace 'default'"):
        await job_lookup.find(bare_cluster, "j")


async def test_api_that_may_not_be_read_hides_no_job_of_another(
    bare_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(bare_cluster, tfjob())
    real = bare_cluster.api.get

    async def get(path: str, **options: object) -> object:
        if "tensorflow.org" in path:
            raise Forbidden("tfjobs.tensorflow.org is forbidden")
        return await real(path, **options)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr(bare_cluster.api, "get", get)
    assert (await job_lookup.find(bare_cluster, "j")).name == "j"
    with pytest.raises(Forbidden):
        await job_lookup.find(bare_cluster, "k")


async def test_job_is_refreshed_from_its_own_api(bare_cluster: Cluster) -> None:
    await put(bare_cluster, tfjob())
    await put(bare_cluster, old_job())
    found = await job_lookup.find(bare_cluster, "tensorflow.org/j")
    assert (await job_lookup.refreshed(bare_cluster, found)).dialect.group == "tensorflow.org"
    await bare_cluster.api.delete(found.path)
    with pytest.raises(TFJobError, match=r"tfjobs\.tensorflow\.org/j was deleted"):
        await job_lookup.refreshed(bare_cluster, found)


async def test_all_jobs_are_those_of_every_api_or_of_the_chosen_one(bare_cluster: Cluster) -> None:
    for job in (training_job(name="a"), tfjob(name="b"), old_job(name="c")):
        await put(bare_cluster, job)
    assert [each.name for each in (await job_lookup.find_all(bare_cluster)).found] == [
        "a",
        "b",
        "c",
    ]
    chosen = await job_lookup.find_all(bare_cluster, api="tensorflow.org")
    assert [each.name for each in chosen.found] == ["c"]
    with pytest.raises(TFJobError, match="unknown API 'odd'"):
        await job_lookup.find_all(bare_cluster, api="odd")


async def test_api_that_may_not_be_listed_hides_no_other(
    bare_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(bare_cluster, tfjob())
    real = bare_cluster.api.list_page
    refused = {"tensorflow.org"}

    async def list_page(path: str, **options: object) -> object:
        if any(group in path for group in refused):
            raise Forbidden("tfjobs.tensorflow.org is forbidden")
        return await real(path, **options)  # type: ignore[arg-type] # passed on as they came

    monkeypatch.setattr(bare_cluster.api, "list_page", list_page)
    listing = await job_lookup.find_all(bare_cluster)
    assert [each.name for each in listing.found] == ["j"]
    assert [each.message for each in listing.refusals] == ["tfjobs.tensorflow.org is forbidden"]
    refused |= {"kubeflow.org", "tensorstack.dev"}
    with pytest.raises(Forbidden):
        await job_lookup.find_all(bare_cluster)
