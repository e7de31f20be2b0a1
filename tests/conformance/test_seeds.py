"""Every published job, unchanged, is accepted by an API server and does what its document says."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support import seeds
from tests.support.dialect_jobs import Jobs, env_of, id_of
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture, condition_of
from tests.support.seed_outcomes import OUTCOMES
from tests.support.vendor_crds import POD_GROUPS, crd_of
from tfjob.cli.convert import translated
from tfjob.dialects.registry import DIALECTS, dialect_for
from tfjob.sdk.exported_objects import as_written

Json = dict[str, Any]
Check = Callable[[Jobs, Any], Awaitable[None]]
GPU = "nvidia.com/gpu"


class Promise(NamedTuple):
    """What a document says will be there. `{job}` and `{id}` are the job's name and id."""

    replicas: tuple[str, ...]
    decider: str
    """The replica whose success is the job's."""
    beside: tuple[str, ...] = ()
    """Services that belong to no replica."""
    lines: str = ""
    """TF_CONFIG of the decider, where the document shows how it looks."""
    resource: str = ""
    """What the decider's container is limited in."""


_TFJOB = ("{job}-ps-0", "{job}-worker-0", "{job}-worker-1", "{job}-worker-2")
_PAIR = ("{job}-ps-0", "{job}-worker-0")
_FOUR = tuple(f"{{job}}-{{id}}-worker-{index}" for index in range(4))
_EXAMPLE = ("master-{id}-0", "ps-{id}-0", "ps-{id}-1", "worker-{id}-0")
_BOARD = "tensorboard-{id}"
_MNIST = (
    '{"cluster":{"ps":["dist-mnist-for-e2e-test-ps-0.NS.svc:2222"],'
    '"worker":["dist-mnist-for-e2e-test-worker-0.NS.svc:2222"]},'
    '"task":{"type":"worker","index":0},"environment":"cloud"}'
)
_STORED = (
    '{"cluster":{"master":["master-76no-0:2222"],"ps":["ps-76no-0:2222","ps-76no-1:2222"],'
    '"worker":["worker-76no-0:2222"]},"task":{"type":"master","index":0},"environment":"cloud"}'
)
PROMISES = {
    "000-tfjob": Promise(_TFJOB, "{job}-worker-0"),
    "000-tfjob-with-secret": Promise(_PAIR, "{job}-worker-0"),
    "000-tf-smoke-gpu": Promise(_PAIR, "{job}-worker-0", resource=GPU),
    "000-mnist": Promise(("{job}-worker-0",), "{job}-worker-0"),
    "001-example-job": Promise(_EXAMPLE, "master-{id}-0"),
    "001-example-job-as-stored": Promise(
        _EXAMPLE, "master-{id}-0", beside=(_BOARD,), lines=_STORED
    ),
    "001-gpu": Promise(("master-{id}-0",), "master-{id}-0", resource=GPU),
    "001-tensorboard-on-azure": Promise(
        ("master-{id}-0",), "master-{id}-0", beside=(_BOARD,), resource=GPU
    ),
    "001-tensorboard-on-gke": Promise(
        ("master-{id}-0",), "master-{id}-0", beside=(_BOARD,), resource=GPU
    ),
    "002-dist-mnist": Promise(_PAIR, "{job}-worker-0", lines=_MNIST),
    "003-example-tfjob": Promise(("{job}-master-0",), "{job}-master-0", resource=GPU),
    "003-module6-ex1-gpu": Promise(("{job}-master-0",), "{job}-master-0", resource=GPU),
    "003-module6-ex2-gpu": Promise(("{job}-master-0",), "{job}-master-0", resource=GPU),
    "004-tensorflow-example": Promise(_FOUR, _FOUR[0]),
    "004-scheduler": Promise(_FOUR, _FOUR[0]),
    "004-tensorboard": Promise(_FOUR, _FOUR[0], beside=("{job}-{id}",)),
}


def test_every_document_promises_something() -> None:
    assert sorted(PROMISES) == seeds.JOBS


@pytest.mark.scenario(139)
@pytest.mark.parametrize("name", sorted(PROMISES))
async def test_published_job_does_what_its_document_says(fixture: JobFixture, name: str) -> None:
    document, promise = seeds.submitted(name), PROMISES[name]
    jobs = Jobs(fixture, document["apiVersion"])
    fixture.kubelet.script("*", runs)
    with _platform_of(name, fixture):
        made = await jobs.create(document)
        job = made["metadata"]["name"]
        made = await jobs.until("has an id", id_of, name=job)

        def filled(pattern: str) -> str:
            return pattern.format(job=job, id=id_of(made))

        replicas = {filled(each) for each in promise.replicas}
        beside = {filled(each) for each in promise.beside}
        is_old = document["apiVersion"].startswith("tensorflow.org/")
        await jobs.has("jobs" if is_old else "pods", replicas, exactly=not beside or is_old)
        await jobs.has("services", replicas | beside)
        await jobs.has("deployments", beside)
        await jobs.comes_to("Running", name=job)
        pod = await jobs.pod(filled(promise.decider))
        if promise.lines:
            assert env_of(pod) == promise.lines.replace("NS", fixture.namespace)
        if promise.resource:
            assert pod["spec"]["containers"][0]["resources"]["limits"][promise.resource] == "1"
        if more := MORE.get(name):
            await more(jobs, pod)
        await fixture.kubelet.finish(pod, exit_code=0)
        ended = await jobs.comes_to(OUTCOMES[name].phase, name=job)
        if more := AFTERWARDS.get(name):
            await more(jobs, ended)
        await jobs.clear()


@pytest.mark.parametrize("name", sorted(PROMISES))
async def test_published_job_is_accepted_in_every_other_api_and_back(
    fixture: JobFixture, name: str
) -> None:
    document = as_written(seeds.submitted(name))
    source = dialect_for(document["apiVersion"], document["kind"])
    assert source is not None
    for target in [each for each in DIALECTS if each is not source]:
        there, _ = translated(document, source, target)
        back, _ = translated(there, target, source)
        for job, api in ((there, target), (back, source)):
            path = f"/apis/{job['apiVersion']}/namespaces/{fixture.namespace}/{api.plural}"
            made = await fixture.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", job)
            assert (made["apiVersion"], made["kind"]) == (job["apiVersion"], api.kind)
    assert await fixture.pods() == {}


@contextmanager
def _platform_of(name: str, fixture: JobFixture) -> Iterator[None]:
    """The platform that a document was written for, where it needs more than Kubernetes."""
    if name != "004-scheduler":
        yield
        return
    env, crd = fixture.env, crd_of(POD_GROUPS)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    env.server.install_crds([crd])
    try:
        env.operator.restart()
        yield
    finally:
        env.endpoint.request("DELETE", f"{path}/{crd['metadata']['name']}")
        env.operator.kill()


async def _secret_is_mounted(jobs: Jobs, pod: Json) -> None:
    assert pod["spec"]["volumes"][0]["secret"]["secretName"] == "user-gcp-sa"
    assert env_of(pod, "GOOGLE_APPLICATION_CREDENTIALS") == "/etc/secrets/user-gcp-sa.json"


async def _part_of_a_claim_is_mounted(jobs: Jobs, pod: Json) -> None:
    mounts = [each for each in pod["spec"]["containers"][0]["volumeMounts"] if "subPath" in each]
    assert [(each["subPath"], each["mountPath"]) for each in mounts] == [
        ("module6-ex2-gpu", "/tmp/tensorflow")  # noqa: S108 - a path in a pod
    ]


async def _default_servers_are_told_of_all(jobs: Jobs, pod: Json) -> None:
    [config] = [each for each in await jobs.owned("configmaps") if each.startswith("cm-ps-")]
    server = await jobs.pod(f"ps-{config.removeprefix('cm-ps-')}-1")
    assert server["spec"]["containers"][0]["command"][-2:] == ["--task_id", "1"]


async def _group_of_four(jobs: Jobs, pod: Json) -> None:
    [group] = (await jobs.objects("podgroups")).values()
    assert group["spec"] == {"minMember": 4, "queue": "default", "priority": 50}
    assert pod["spec"]["schedulerName"] == "t9k-scheduler"


async def _board_reads_the_claim(jobs: Jobs, pod: Json) -> None:
    [board] = (await jobs.objects("deployments")).values()
    template = board["spec"]["template"]["spec"]
    assert template["containers"][0]["image"] == "t9kpublic/tensorboard:2.11.0"
    [claim] = [each["persistentVolumeClaim"] for each in template["volumes"]]
    assert claim["claimName"] == "tensorflow-tensorboard-pvc"


async def _board_reads_the_share(jobs: Jobs, pod: Json) -> None:
    [board] = (await jobs.objects("deployments")).values()
    template = board["spec"]["template"]["spec"]
    assert template["volumes"][0]["azureFile"]["shareName"] == "data"
    assert "/tmp/tensorflow" in template["containers"][0]["command"]  # noqa: S108 - as above


async def _server_runs_on(jobs: Jobs, ended: Json) -> None:
    """As the document's own listing shows it: the server is Running, the worker Completed."""
    name = ended["metadata"]["name"]
    phases = {key: pod["status"]["phase"] for key, pod in (await jobs.objects("pods")).items()}
    assert phases == {f"{name}-ps-0": "Running", f"{name}-worker-0": "Succeeded"}


async def _stored_as_shown(jobs: Jobs, ended: Json) -> None:
    """The whole status of the finished job, as the document prints it."""
    assert ended["status"] == seeds.published("001-example-job-as-stored")["status"]


async def _ended_well(jobs: Jobs, ended: Json) -> None:
    assert condition_of(ended, "Completed")["message"] == "The job has finished successfully."


MORE: dict[str, Check] = {
    "000-tfjob-with-secret": _secret_is_mounted,
    "001-example-job": _default_servers_are_told_of_all,
    "001-tensorboard-on-azure": _board_reads_the_share,
    "003-module6-ex2-gpu": _part_of_a_claim_is_mounted,
    "004-scheduler": _group_of_four,
    "004-tensorboard": _board_reads_the_claim,
}
AFTERWARDS: dict[str, Check] = {
    "001-example-job-as-stored": _stored_as_shown,
    "002-dist-mnist": _server_runs_on,
    "004-tensorflow-example": _ended_well,
}


@pytest.mark.scenario("A-25")
async def test_published_configuration_brings_drivers_to_the_published_job(
    fixture: JobFixture, tmp_path: Path
) -> None:
    (tmp_path / "controller_config_file.yaml").write_text(seeds.configuration())
    fixture.env.operator.kill()
    flags = (f"--controller-config-file={tmp_path}", f"--namespace={fixture.namespace}")
    operator = fixture.env.new_operator(*flags, name=f"configured-{fixture.namespace}")
    operator.start()
    jobs = Jobs(fixture, "tensorflow.org/v1alpha1")
    await jobs.create(seeds.submitted("001-gpu"))
    job = await jobs.until("has an id", id_of, name="tf-smoke-gpu")
    batch = await jobs.object("jobs", f"master-{id_of(job)}-0")
    operator.close()
    template = batch["spec"]["template"]
    paths = {each["name"]: each["hostPath"]["path"] for each in template["spec"]["volumes"]}
    assert paths == {"nvidia-libs": "/opt/nvidia/lib64", "nvidia-tools": "/opt/nvidia/bin"}
    assert env_of(template, "LD_LIBRARY_PATH") == "/usr/local/nvidia/lib64"
    await jobs.clear()
