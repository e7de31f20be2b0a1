"""The order of writes in a reconcile: leadership, first status, many children, conflicts."""

from contextlib import AbstractAsyncContextManager as Opened
from datetime import timedelta
from typing import Any

import pytest

from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tfjob.client.errors import ApiError, Conflict, Forbidden, NotLeadingError
from tfjob.client.request import Request
from tfjob.controller.job_object import JobObject


async def test_operator_that_lost_its_lead_in_a_reconcile_writes_no_more(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        leads = iter([True, True, False, False])
        harness.may_write = lambda: next(leads, False)
        await harness.one_pass()
        assert await harness.server.names("services") == ["j-worker-0"]
        assert await harness.server.names("pods") == []
        with pytest.raises(NotLeadingError):
            await harness.statuses.store_defaulted_spec(_stored(harness), lambda _: {})


async def test_operator_that_lost_its_lead_writes_no_first_status(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        harness.may_write = lambda: False
        with pytest.raises(NotLeadingError):
            await harness.one_pass()
        assert "status" not in await harness.job()


async def test_first_status_is_stored_before_any_child_is_created(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W2")
        await harness.look()
        first = await harness.reconciler.reconcile(KEY)
        assert (first.requeue, set(first.versions)) == (True, {"jobs"})
        assert await harness.conditions() == ["Created"]
        assert await harness.server.names("pods") == []
        assert harness.counted("tfjob_first_status_seconds_count") == 1
        await harness.look()
        assert not (await harness.reconciler.reconcile(KEY)).requeue
        assert len(await harness.server.names("pods")) == 2
        assert harness.counted("tfjob_first_status_seconds_count") == 1


async def test_status_that_cannot_be_stored_keeps_no_child_from_being_created(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Forbidden("not yours") if request.path.endswith("/status") else None

    async with controller as harness:
        await harness.submit("W2")
        await harness.look()
        harness.server.refuse = refuse
        result = await harness.reconciler.reconcile(KEY)
        assert [str(type(each).__name__) for each in result.errors] == ["Forbidden"]
        assert len(await harness.server.names("pods")) == 2


async def test_worker_that_may_not_wait_leaves_many_children_to_another(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W2")
        await harness.look()
        await harness.reconciler.reconcile(KEY, max_creates=3)
        assert await harness.conditions() == ["Created"]
        await harness.look()
        assert (await harness.reconciler.reconcile(KEY, max_creates=3)).exceeds_max_creates
        assert await harness.server.names("pods") == []
        assert not (await harness.reconciler.reconcile(KEY, max_creates=4)).exceeds_max_creates
        assert len(await harness.server.names("pods")) == 2


def _stored(harness: ControllerHarness) -> JobObject:
    found = harness.stores.jobs.get(KEY)
    assert found is not None
    return found


async def test_job_that_can_no_longer_be_read_keeps_nothing_running(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await harness.one_pass()
        job = await harness.job()
        job["spec"]["tfReplicaSpecs"] = {"Launcher": {}}
        await harness.replace_job(job)
        await harness.one_pass()
        assert "Failed" in await harness.conditions()
        left = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert left["kind"] == "Status" or "deletionTimestamp" in left["metadata"]


async def test_job_of_another_manager_is_left_alone(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
        before = harness.server.backend.store.revision
        await harness.one_pass()
        assert harness.server.backend.store.revision == before


async def test_status_conflict_that_never_ends_is_an_error(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        harness.server.refuse = lambda request: (
            Conflict("modified") if request.path.endswith("/status") else None
        )
        result = await harness.one_pass()
        assert [type(error) for error in result.errors] == [Conflict]


async def test_job_that_ended_before_it_had_pods_gets_none_from_a_late_view(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await begin(harness, run_policy={"activeDeadlineSeconds": 10})
        unaware = _stored(harness)
        harness.time += timedelta(seconds=60)
        await harness.reconciler.reconcile(KEY)
        assert "Failed" in await harness.conditions()
        harness.time -= timedelta(seconds=60)
        harness.stores.jobs.put(unaware)
        await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == []


def reads(harness: ControllerHarness) -> list[str]:
    """The jobs that the operator reads from the server from now on."""
    return harness.noted("get", f"{JOBS}/j")


async def succeed_elsewhere(harness: ControllerHarness) -> None:
    """Another leader stores the success of the worker."""
    stored = await harness.job()
    stored["status"]["replicaStatuses"] = {"Worker": {"succeeded": 1, "completedIndexes": "0"}}
    await harness.replace_job(stored, status=True)


async def begin(harness: ControllerHarness, **fields: Any) -> str:
    """A job that appears while this operator leads, and gets its first status."""
    uid: str = (await harness.submit("W1", **fields))["metadata"]["uid"]
    harness.reconciler.created_here.add(uid)
    await harness.look()
    await harness.reconciler.reconcile(KEY)
    await harness.look()
    return uid


async def test_job_that_this_process_alone_has_followed_is_not_read_before_its_first_pods(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        jobs = reads(harness)
        await begin(harness)
        await harness.reconciler.reconcile(KEY)
        assert (await harness.server.names("pods"), jobs) == (["j-worker-0"], [])


async def test_job_that_another_leader_has_written_is_read_before_its_first_pods(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await begin(harness)
        stored = await harness.job()
        stored["status"]["lastReconcileTime"] = "2026-01-02T03:04:05Z"
        await harness.replace_job(stored, status=True)
        await harness.look()
        await succeed_elsewhere(harness)
        await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == []


async def test_job_whose_pods_another_leader_has_made_is_read_before_one_is_made_again(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        uid = await begin(harness)
        await harness.reconciler.reconcile(KEY)
        harness.reconciler.created_here.add(uid)  # As if the pod were not its own.
        await harness.look()
        await harness.reconciler.reconcile(KEY)
        unaware = _stored(harness)
        await succeed_elsewhere(harness)
        await harness.server.ask("DELETE", f"{CORE}/pods/j-worker-0")
        await harness.look()
        harness.stores.jobs.put(unaware)
        await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == []
