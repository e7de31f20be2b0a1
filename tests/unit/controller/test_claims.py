"""Owner references are written and removed on the object that is meant, and on no other."""

from contextlib import AbstractAsyncContextManager as Opened

import pytest

from tests.support.played_api import CORE, JOBS, Json, decoded
from tests.unit.controller.conftest import KEY, Desk
from tfjob.client.errors import Forbidden
from tfjob.client.http import Stored
from tfjob.client.resource import PODS
from tfjob.controller import claims
from tfjob.core.job import Job
from tfjob.k8s.meta import ObjectMeta

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "other"}


async def job_of(world: Desk) -> Job:
    await world.look()
    gathered = await world.reader.read(KEY)
    assert gathered is not None
    assert isinstance(gathered.job, Job)
    return gathered.job


async def owners(world: Desk) -> list[str]:
    pod = await world.server.ask("GET", f"{CORE}/pods/p")
    return [each["uid"] for each in pod["metadata"].get("ownerReferences", [])]


def meta_of(stored: Json) -> ObjectMeta:
    found: Stored = decoded(stored, Stored)
    return found.metadata


async def test_orphan_is_adopted_beside_its_other_owners(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        pod = await world.server.make(
            f"{CORE}/pods", {**POD, "metadata": {"name": "p", "ownerReferences": [OTHER]}}
        )
        job = await job_of(world)
        await claims.adopt(world.server.api, job, PODS, meta_of(pod))
        assert sorted(await owners(world)) == sorted([job.owner.uid, "other"])
        await claims.release(world.server.api, job, PODS, meta_of(pod))
        assert await owners(world) == ["other"]


async def test_job_that_is_gone_or_another_one_adopts_nothing(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        job = await job_of(world)
        path = f"{JOBS}/j"
        assert await claims.may_adopt(world.server.api, job.owner, path)
        await world.server.ask("DELETE", path)
        assert not await claims.may_adopt(world.server.api, job.owner, path)
        await world.submit()
        assert not await claims.may_adopt(world.server.api, job.owner, path)


async def test_job_on_its_way_out_adopts_nothing(desk: Opened[Desk]) -> None:
    async with desk as world:
        stored = await world.submit()
        stored["metadata"]["finalizers"] = ["example.com/wait"]
        await world.server.ask("PUT", f"{JOBS}/j", stored)
        job = await job_of(world)
        await world.server.ask("DELETE", f"{JOBS}/j")
        assert not await claims.may_adopt(world.server.api, job.owner, f"{JOBS}/j")


async def test_another_pod_of_the_same_name_is_left_alone(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        job = await job_of(world)
        gone = ObjectMeta(name="p", namespace="default", uid="gone")
        await claims.adopt(world.server.api, job, PODS, gone)
        await world.server.make(f"{CORE}/pods", POD)
        await claims.adopt(world.server.api, job, PODS, gone)
        await claims.release(world.server.api, job, PODS, gone)
        assert await owners(world) == []


async def test_refusal_is_passed_on(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        pod = meta_of(await world.server.make(f"{CORE}/pods", POD))
        job = await job_of(world)
        world.server.refuse = lambda request: Forbidden("no") if request.verb == "patch" else None
        with pytest.raises(Forbidden):
            await claims.release(world.server.api, job, PODS, pod)
