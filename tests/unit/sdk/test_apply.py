import asyncio
from typing import Any

import pytest

from tests.support.local_apiserver.serving import TFJOBS
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError

Json = dict[str, Any]


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def claim(name: str) -> Json:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": spec,
    }


async def stored(cluster: Cluster, path: str) -> Json:
    found: Json = await cluster.api.get(path, decode=dict)
    return found


async def test_everything_is_created_in_its_namespace_which_is_created_first(
    bare_cluster: Cluster,
) -> None:
    job = tfjob()
    job["metadata"]["namespace"] = "team"
    words = config_map("words", a="1")
    words["metadata"]["namespace"] = "team"
    found = await apply_all(bare_cluster, [words, job], job=job)
    assert (found.namespace, found.name) == ("team", "j")
    assert (await stored(bare_cluster, "/api/v1/namespaces/team/configmaps/words"))["data"] == {
        "a": "1"
    }


async def test_a_generated_name_is_found_again(bare_cluster: Cluster) -> None:
    job = tfjob()
    job["metadata"] = {"generateName": "try-"}
    others = [await apply_all(bare_cluster, [job], job=job) for _ in range(2)]
    assert len({each.name for each in others}) == 2
    assert all(each.name.startswith("try-") for each in others)


async def test_an_exported_job_is_created_without_what_its_server_had_set(
    bare_cluster: Cluster,
) -> None:
    job = exported(tfjob())
    found = await apply_all(bare_cluster, [exported(claim("v")), job], job=job)
    metadata = (await stored(bare_cluster, TFJOBS.item(found.name, "default")))["metadata"]
    assert metadata["uid"] != job["metadata"]["uid"]
    assert "finalizers" not in metadata
    assert "ownerReferences" not in metadata
    assert "status" not in await stored(bare_cluster, TFJOBS.item(found.name, "default"))


def exported(manifest: Json) -> Json:
    """The object as `kubectl get -o yaml` prints it."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "o"}
    manifest["metadata"] |= {
        "uid": "a77b9fb4-a773-11e9-91fe-42010a960094",
        "resourceVersion": "10429537",
        "generation": 1,
        "creationTimestamp": "2019-07-16T02:44:38Z",
        "selfLink": "/somewhere",
        "managedFields": [{"manager": "kubectl"}],
        "finalizers": ["example.com/keep"],
        "ownerReferences": [owner],
    }
    return {**manifest, "status": {"conditions": []}}


async def test_nothing_is_created_when_one_object_has_a_fault(bare_cluster: Cluster) -> None:
    job = tfjob()
    strange = {"apiVersion": "example.com/v1", "kind": "Strange", "metadata": {"name": "s"}}
    with pytest.raises(TFJobError) as error:
        await apply_all(bare_cluster, [job, strange, config_map("Bad_Name")], job=job)
    first, second = str(error.value).splitlines()
    assert first == "example.com/v1 Strange: the local cluster does not serve this kind"
    assert second.startswith("ConfigMap Bad_Name: ")
    assert (await stored(bare_cluster, TFJOBS.collection("default")))["items"] == []


async def test_an_earlier_run_is_replaced_and_its_claim_is_kept(bare_cluster: Cluster) -> None:
    job = tfjob()
    first = await apply_all(bare_cluster, [config_map("c", a="1"), claim("v"), job], job=job)
    path = "/api/v1/namespaces/default/persistentvolumeclaims/v"
    before = (await stored(bare_cluster, path))["metadata"]["uid"]
    second = await asyncio.wait_for(
        apply_all(bare_cluster, [config_map("c", a="2"), claim("v"), job], job=job), PATIENCE
    )
    assert first.job.owner.uid != second.job.owner.uid
    assert (await stored(bare_cluster, "/api/v1/namespaces/default/configmaps/c"))["data"] == {
        "a": "2"
    }
    assert (await stored(bare_cluster, path))["metadata"]["uid"] == before


async def test_a_namespace_in_the_file_may_be_there_already(bare_cluster: Cluster) -> None:
    job = tfjob()
    job["metadata"]["namespace"] = "team"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    assert (await apply_all(bare_cluster, [space, job], job=job)).namespace == "team"
