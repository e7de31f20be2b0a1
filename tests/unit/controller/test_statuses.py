"""A status is stored over the object it was decided on, and over no other."""

from contextlib import AbstractAsyncContextManager as Opened
from typing import Any

import pytest

from tests.support.played_api import CORE, JOBS
from tests.support.toy_desk import ToyDesk, at_toy_desk, child
from tests.support.toy_dialect import JOBS as TOYS
from tests.unit.controller.conftest import KEY, Desk
from tfjob.client.errors import ApiError, Conflict, NotLeadingError
from tfjob.client.request import Request
from tfjob.controller.objects import JobObject
from tfjob.controller.snapshot import Snapshot
from tfjob.controller.statuses import TRIES, Written
from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Observed


async def gathered(world: Desk) -> Snapshot:
    await world.look()
    found = await world.reader.read(KEY)
    assert found is not None
    return found


async def written(world: Desk, seen: Snapshot, plan: Plan | None = None) -> Written | None:
    def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
        job = world.reader.decode(fresh)
        assert isinstance(job, Job)
        return job, reconcile(job=job, children=seen.children, now=world.now())

    job, decided = decide(seen.stored)
    observed = Observed(children=seen.children)
    return await world.statuses.write(
        seen.stored, job=job, plan=plan or decided, observed=observed, decide=decide
    )


async def touch(world: Desk, **annotations: str) -> None:
    stored = await world.job()
    stored["metadata"]["annotations"] = annotations
    assert (await world.server.ask("PUT", f"{JOBS}/j", stored))["code"] == 200


async def store_status(world: Desk, **fields: Any) -> None:
    stored = await world.job()
    stored["status"] = {**stored.get("status", {}), **fields}
    assert (await world.server.ask("PUT", f"{JOBS}/j/status", stored))["code"] == 200


async def test_version_of_the_write_is_returned(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        found = await written(world, await gathered(world))
        assert found is not None
        assert found.version == (await world.job())["metadata"]["resourceVersion"]
        assert await world.conditions() == ["Created"]


async def test_plan_without_a_status_writes_nothing(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        before = world.server.backend.store.revision
        found = await written(world, await gathered(world), Plan())
        assert found is not None
        assert found.version is None
        assert world.server.backend.store.revision == before


async def test_conflict_is_decided_again_and_keeps_what_the_other_wrote(
    desk: Opened[Desk],
) -> None:
    async with desk as world:
        await world.submit()
        seen = await gathered(world)
        await touch(world, by="somebody else")
        assert await written(world, seen) is not None
        stored = await world.job()
        assert stored["metadata"]["annotations"] == {"by": "somebody else"}
        assert await world.conditions() == ["Created"]


async def test_verdict_that_another_writer_stored_is_not_overwritten(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        seen = await gathered(world)
        failed = {"type": "Failed", "status": "True", "reason": "TFJobFailed", "message": "x"}
        await store_status(world, conditions=[failed])
        await written(world, seen)
        assert "Failed" in await world.conditions()


async def test_foreign_fields_of_a_status_stay(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        await store_status(world, fieldOfTomorrow={"a": [1]})
        await written(world, await gathered(world))
        status = (await world.job())["status"]
        assert status["fieldOfTomorrow"] == {"a": [1]}
        assert await world.conditions() == ["Created"]


async def test_field_of_ours_that_says_nothing_any_more_goes(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        await store_status(world, lastReconcileTime="2026-01-02T03:04:05Z")
        seen = await gathered(world)
        await written(world, seen, Plan(status=JobStatus()))
        assert "lastReconcileTime" not in (await world.job())["status"]


async def test_endless_conflict_is_given_up_after_some_tries(desk: Opened[Desk]) -> None:
    asked: list[str] = []

    def refuse(request: Request) -> ApiError | None:
        if not request.path.endswith("/status"):
            return None
        asked.append(request.path)
        return Conflict("modified")

    async with desk as world:
        await world.submit()
        seen = await gathered(world)
        world.server.refuse = refuse
        with pytest.raises(Conflict):
            await written(world, seen)
        assert len(asked) == TRIES


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_job_that_is_gone_or_another_one_gets_no_status(
    desk: Opened[Desk], *, is_made_anew: bool
) -> None:
    async with desk as world:
        await world.submit()
        seen = await gathered(world)
        await world.server.ask("DELETE", f"{JOBS}/j")
        if is_made_anew:
            await world.submit()
        assert await written(world, seen) is None
        assert "status" not in await world.job() or not is_made_anew


async def test_only_the_job_that_was_meant_is_deleted(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        seen = await gathered(world)
        await world.server.ask("DELETE", f"{JOBS}/j")
        await world.submit()
        with pytest.raises(Conflict):
            await world.statuses.delete(seen.stored)
        assert (await world.job())["code"] == 200


async def test_nothing_decided_twice_leaves_the_stored_status_alone(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit()
        seen = await gathered(world)
        await written(world, seen)
        # The other writer was ourselves, in a life before: the fresh look finds nothing to do.
        found = await written(world, seen, Plan(status=JobStatus()))
        assert found is not None
        assert found.version == (await world.job())["metadata"]["resourceVersion"]


async def test_status_that_shows_children_is_stored_when_those_change_and_only_then() -> None:
    async with at_toy_desk() as world:
        job = await world.submit(id="mine")
        found = await world.written(await world.gathered())
        assert found is not None
        assert found.is_stored
        before = world.server.backend.store.revision
        found = await world.written(await world.gathered(), Plan(status=JobStatus()))
        assert found is not None
        assert (found.is_stored, world.server.backend.store.revision) == (False, before)
        await world.server.make(f"{CORE}/services", child("Service", "beside-mine", job))
        await world.written(await world.gathered(), trouble="no room")
        status = (await world.job())["status"]
        assert (status["beside"], status["trouble"]) == (["Service"], "no room")


async def test_foreign_fields_stay_beside_shown_children() -> None:
    async with at_toy_desk() as world:
        job = await world.submit(id="mine")
        await world.server.ask("PUT", f"{TOYS}/t/status", {**job, "status": {"tomorrow": 1}})
        await world.written(await world.gathered())
        status = (await world.job())["status"]
        assert (status["tomorrow"], status["phase"]) == (1, "Working")


async def test_job_on_its_way_out_is_not_written_to() -> None:
    async with at_toy_desk() as world:
        job = await world.submit(id="mine")
        job["metadata"]["finalizers"] = ["toy.example/hold"]
        await world.server.ask("PUT", f"{TOYS}/t", job)
        await world.server.ask("DELETE", f"{TOYS}/t")
        before = world.server.backend.store.revision
        await world.written(await world.gathered())
        assert world.server.backend.store.revision == before


async def completed(world: ToyDesk, seen: Snapshot) -> str | None:
    return await world.statuses.complete(seen.stored, world.reader.completed)


async def test_completed_spec_is_stored_over_the_job_as_it_is_now() -> None:
    async with at_toy_desk() as world:
        job = await world.submit()
        seen = await world.gathered()
        job["metadata"]["annotations"] = {"by": "somebody else"}
        await world.server.ask("PUT", f"{TOYS}/t", job)
        version = await completed(world, seen)
        stored = await world.job()
        assert version == stored["metadata"]["resourceVersion"]
        assert stored["spec"] == {"replicas": 2, "id": "aaaa"}
        assert stored["metadata"]["annotations"] == {"by": "somebody else"}
        assert await completed(world, seen) == version
        assert (await world.job())["spec"]["id"] == "aaaa"


async def test_completion_gives_way_to_another_writer_and_to_another_leader() -> None:
    async with at_toy_desk() as world:
        await world.submit()
        seen = await world.gathered()
        world.server.refuse = lambda request: (
            Conflict("modified") if request.verb == "update" else None
        )
        with pytest.raises(Conflict):
            await completed(world, seen)
        world.leads = False
        with pytest.raises(NotLeadingError):
            await completed(world, seen)
        assert "id" not in (await world.job())["spec"]


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_job_that_is_gone_or_another_one_is_not_completed(*, is_made_anew: bool) -> None:
    async with at_toy_desk() as world:
        await world.submit()
        seen = await world.gathered()
        await world.server.ask("DELETE", f"{TOYS}/t")
        if is_made_anew:
            await world.submit()
        assert await completed(world, seen) is None
        assert not is_made_anew or "id" not in (await world.job())["spec"]
