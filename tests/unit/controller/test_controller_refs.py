"""Controller references are added and removed on the intended object only."""

from contextlib import AbstractAsyncContextManager as Opened

import pytest

from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.local_apiserver.in_memory import CORE, JOBS, Json, decoded
from tfjob.client.errors import Forbidden
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import PODS
from tfjob.controller import controller_refs
from tfjob.core.job import Job
from tfjob.k8s.meta import ObjectMeta

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "other"}


async def job_of(harness: ControllerHarness) -> Job:
    await harness.look()
    snapshot = await harness.reader.read(KEY)
    assert snapshot is not None
    assert isinstance(snapshot.job, Job)
    return snapshot.job


async def owners(harness: ControllerHarness) -> list[str]:
    pod = await harness.server.ask("GET", f"{CORE}/pods/p")
    return [each["uid"] for each in pod["metadata"].get("ownerReferences", [])]


def meta_of(stored: Json) -> ObjectMeta:
    found: PartialObjectMetadata = decoded(stored, PartialObjectMetadata)
    return found.metadata


async def test_adopted_orphan_keeps_its_other_owners(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        pod = await harness.server.make(
            f"{CORE}/pods", {**POD, "metadata": {"name": "p", "ownerReferences": [OTHER]}}
        )
        job = await job_of(harness)
        await controller_refs.adopt(harness.server.api, job, PODS, meta_of(pod))
        assert sorted(await owners(harness)) == sorted([job.owner.uid, "other"])
        await controller_refs.release(harness.server.api, job, PODS, meta_of(pod))
        assert await owners(harness) == ["other"]


async def test_deleted_or_replaced_job_adopts_nothing(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        job = await job_of(harness)
        path = f"{JOBS}/j"
        assert await controller_refs.may_adopt(harness.server.api, job.owner, path)
        await harness.server.ask("DELETE", path)
        assert not await controller_refs.may_adopt(harness.server.api, job.owner, path)
        await harness.submit()
        assert not await controller_refs.may_adopt(harness.server.api, job.owner, path)


async def test_terminating_job_adopts_nothing(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        stored = await harness.submit()
        stored["metadata"]["finalizers"] = ["example.com/wait"]
        await harness.server.ask("PUT", f"{JOBS}/j", stored)
        job = await job_of(harness)
        await harness.server.ask("DELETE", f"{JOBS}/j")
        assert not await controller_refs.may_adopt(harness.server.api, job.owner, f"{JOBS}/j")


async def test_pod_with_another_uid_is_left_alone(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        job = await job_of(harness)
        gone = ObjectMeta(name="p", namespace="default", uid="gone")
        await controller_refs.adopt(harness.server.api, job, PODS, gone)
        await harness.server.make(f"{CORE}/pods", POD)
        await controller_refs.adopt(harness.server.api, job, PODS, gone)
        await controller_refs.release(harness.server.api, job, PODS, gone)
        assert await owners(harness) == []


async def test_refused_patch_is_raised(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit()
        pod = meta_of(await harness.server.make(f"{CORE}/pods", POD))
        job = await job_of(harness)
        harness.server.refuse = lambda request: Forbidden("no") if request.verb == "patch" else None
        with pytest.raises(Forbidden):
            await controller_refs.release(harness.server.api, job, PODS, pod)
