"""A status is written only over the version that it was computed from."""

import logging
from contextlib import AbstractAsyncContextManager as Opened
from typing import Any

import pytest

from tests.support.builders import NOW
from tests.support.controller_harness import (
    FAKE_JOB,
    KEY,
    ControllerHarness,
    child,
    controller_harness,
)
from tests.support.fake_dialect import JOBS as TOYS
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tfjob.client.errors import ApiError, Conflict, Invalid, NotLeadingError
from tfjob.client.request import Request
from tfjob.controller.job_object import JobObject
from tfjob.controller.snapshot import Snapshot
from tfjob.controller.status_writer import MAX_ATTEMPTS, WriteResult
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.core.status import JobStatus
from tfjob.dialects.base import StatusContext


async def snapshot(harness: ControllerHarness) -> Snapshot:
    await harness.look()
    found = await harness.reader.read(KEY)
    assert found is not None
    return found


async def written(
    harness: ControllerHarness, seen: Snapshot, plan: Plan | None = None
) -> WriteResult | None:
    async def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
        job = harness.reader.decode(fresh)
        assert isinstance(job, Job)
        return job, reconcile(job=job, children=seen.children, now=harness.now())

    job, decided = await decide(seen.stored)
    observed = StatusContext(children=seen.children)
    return await harness.statuses.write(
        seen.stored, job=job, plan=plan or decided, observed=observed, decide=decide
    )


async def touch(harness: ControllerHarness, **annotations: str) -> None:
    stored = await harness.job()
    stored["metadata"]["annotations"] = annotations
    await harness.replace_job(stored)


async def store_status(harness: ControllerHarness, **fields: Any) -> None:
    stored = await harness.job()
    stored["status"] = {**stored.get("status", {}), **fields}
    await harness.replace_job(stored, status=True)


async def test_version_of_the_write_is_returned(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit()
        found = await written(harness, await snapshot(harness))
        assert found is not None
        assert found.version == (await harness.job())["metadata"]["resourceVersion"]
        assert await harness.conditions() == ["Created"]


async def test_plan_without_a_status_writes_nothing(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit()
        before = harness.server.backend.store.revision
        found = await written(harness, await snapshot(harness), Plan())
        assert found is not None
        assert found.version is None
        assert harness.server.backend.store.revision == before


async def test_plan_is_computed_again_after_a_conflict(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        seen = await snapshot(harness)
        await touch(harness, by="somebody else")
        assert await written(harness, seen) is not None
        stored = await harness.job()
        assert stored["metadata"]["annotations"] == {"by": "somebody else"}
        assert await harness.conditions() == ["Created"]


async def test_verdict_that_another_writer_stored_is_not_overwritten(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        seen = await snapshot(harness)
        failed = {"type": "Failed", "status": "True", "reason": "TFJobFailed", "message": "x"}
        await store_status(harness, conditions=[failed])
        await written(harness, seen)
        assert "Failed" in await harness.conditions()


async def test_foreign_fields_of_a_status_stay(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit()
        await store_status(harness, fieldOfTomorrow={"a": [1]})
        await written(harness, await snapshot(harness))
        status = (await harness.job())["status"]
        assert status["fieldOfTomorrow"] == {"a": [1]}
        assert await harness.conditions() == ["Created"]


async def test_own_field_without_a_value_is_removed(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        await store_status(harness, lastReconcileTime="2026-01-02T03:04:05Z")
        seen = await snapshot(harness)
        await written(harness, seen, Plan(status=JobStatus()))
        assert "lastReconcileTime" not in (await harness.job())["status"]


async def test_conflict_is_raised_after_several_attempts(
    controller: Opened[ControllerHarness],
) -> None:
    asked: list[str] = []

    def refuse(request: Request) -> ApiError | None:
        if not request.path.endswith("/status"):
            return None
        asked.append(request.path)
        return Conflict("modified")

    async with controller as harness:
        await harness.submit()
        seen = await snapshot(harness)
        harness.server.refuse = refuse
        with pytest.raises(Conflict):
            await written(harness, seen)
        assert len(asked) == MAX_ATTEMPTS


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_deleted_or_replaced_job_gets_no_status(
    controller: Opened[ControllerHarness], *, is_made_anew: bool
) -> None:
    async with controller as harness:
        await harness.submit()
        seen = await snapshot(harness)
        await harness.server.ask("DELETE", f"{JOBS}/j")
        if is_made_anew:
            await harness.submit()
        assert await written(harness, seen) is None
        assert "status" not in await harness.job() or not is_made_anew


async def test_job_with_another_uid_is_not_deleted(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        seen = await snapshot(harness)
        await harness.server.ask("DELETE", f"{JOBS}/j")
        await harness.submit()
        with pytest.raises(Conflict):
            await harness.statuses.delete(seen.stored)
        assert (await harness.job())["code"] == 200


async def test_nothing_is_written_if_the_plan_is_empty_after_a_conflict(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit()
        seen = await snapshot(harness)
        await written(harness, seen)
        # The other writer was an earlier process of this operator: nothing is left to do.
        found = await written(harness, seen, Plan(status=JobStatus()))
        assert found is not None
        assert found.version == (await harness.job())["metadata"]["resourceVersion"]


async def test_status_that_shows_children_is_stored_only_if_they_change() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine")
        found = await harness.written(await harness.snapshot())
        assert found is not None
        assert found.is_stored
        before = harness.server.backend.store.revision
        found = await harness.written(await harness.snapshot(), Plan(status=JobStatus()))
        assert found is not None
        assert (found.is_stored, harness.server.backend.store.revision) == (False, before)
        await harness.server.make(f"{CORE}/services", child("Service", "beside-mine", job))
        await harness.written(await harness.snapshot(), trouble="no room")
        status = (await harness.job())["status"]
        assert (status["beside"], status["trouble"]) == (["Service"], "no room")


async def test_foreign_fields_stay_beside_shown_children() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine")
        await harness.replace_job({**job, "status": {"tomorrow": 1}}, status=True)
        await harness.written(await harness.snapshot())
        status = (await harness.job())["status"]
        assert (status["tomorrow"], status["phase"]) == (1, "Working")


async def test_terminating_job_is_not_written() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine")
        job["metadata"]["finalizers"] = ["toy.example/hold"]
        await harness.replace_job(job)
        await harness.server.ask("DELETE", f"{TOYS}/t")
        before = harness.server.backend.store.revision
        await harness.written(await harness.snapshot())
        assert harness.server.backend.store.revision == before


async def defaulted_spec(harness: ControllerHarness, seen: Snapshot) -> str | None:
    return await harness.statuses.store_defaulted_spec(seen.stored, harness.reader.defaulted_spec)


async def test_defaulted_spec_is_stored_in_the_current_version_of_the_job() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit()
        seen = await harness.snapshot()
        job["metadata"]["annotations"] = {"by": "somebody else"}
        await harness.replace_job(job)
        version = await defaulted_spec(harness, seen)
        stored = await harness.job()
        assert version == stored["metadata"]["resourceVersion"]
        assert stored["spec"] == {"replicas": 2, "id": "aaaa"}
        assert stored["metadata"]["annotations"] == {"by": "somebody else"}
        assert await defaulted_spec(harness, seen) == version
        assert (await harness.job())["spec"]["id"] == "aaaa"


async def test_defaulted_spec_is_not_stored_over_another_writer_or_leader() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        await harness.submit()
        seen = await harness.snapshot()
        harness.server.refuse = lambda request: (
            Conflict("modified") if request.verb == "update" else None
        )
        with pytest.raises(Conflict):
            await defaulted_spec(harness, seen)
        harness.server.refuse = lambda _: None
        harness.may_write = lambda: False
        with pytest.raises(NotLeadingError):
            await defaulted_spec(harness, seen)
        assert "id" not in (await harness.job())["spec"]


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_deleted_or_replaced_job_gets_no_defaulted_spec(*, is_made_anew: bool) -> None:
    async with controller_harness(FAKE_JOB) as harness:
        await harness.submit()
        seen = await harness.snapshot()
        await harness.server.ask("DELETE", f"{TOYS}/t")
        if is_made_anew:
            await harness.submit()
        assert await defaulted_spec(harness, seen) is None
        assert not is_made_anew or "id" not in (await harness.job())["spec"]


async def test_diagnosis_that_is_refused_is_left_out_and_logged(
    controller: Opened[ControllerHarness], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    def refuse(request: Request) -> ApiError | None:
        has_diagnosis = b'"diagnosis":{' in (request.body or b"")
        return Invalid("status.diagnosis: Invalid value") if has_diagnosis else None

    async with controller as harness:
        job = await harness.submit()
        seen = await snapshot(harness)
        harness.server.refuse = refuse
        diagnosis = Diagnosis(cause=Cause.KILLED, message="was killed", since=NOW)
        status = JobStatus(diagnosis=diagnosis, start_time=NOW)
        result = await written(harness, seen, Plan(status=status))
        assert result is not None
        assert result.is_stored
        stored = (await harness.job())["status"]
        assert "startTime" in stored
        assert not stored.get("diagnosis")
    (line,) = (each for each in caplog.records if "diagnosis refused" in each.getMessage())
    found = {name: getattr(line, name) for name in ("namespace", "job", "uid", "cause")}
    uid = job["metadata"]["uid"]
    assert found == {"namespace": "default", "job": "j", "uid": uid, "cause": "Killed"}
