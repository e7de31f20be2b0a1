"""A touch that wakes a scheduler takes one of the turns that all jobs share."""

from contextlib import AbstractAsyncContextManager as Opened
from datetime import timedelta

import msgspec

from tests.support.builders import NOW, meta
from tests.support.controller_harness import KEY, ControllerHarness
from tfjob.client.errors import ApiError, Conflict
from tfjob.client.request import Request
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import RETRIES_PER_SECOND, Pacer
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.snapshot import Snapshot
from tfjob.core.plan import ChildKind, Plan, Update
from tfjob.k8s import time

TOUCH = Update(kind=ChildKind.POD, name="j-worker-0", uid="u", body={}, is_retry=True)
PAUSE = timedelta(seconds=1 / RETRIES_PER_SECOND)


def touched(pacer: Pacer, name: str) -> Plan:
    """What remains of the touch of another job."""
    stored = JobObject(metadata=meta(name))
    return pacer.with_due_retries(stored, Plan(updates=[TOUCH]), now=NOW)


def touching(harness: ControllerHarness, pacer: Pacer) -> Reconciler:
    """A reconciler of which each plan has a touch, after another job has used the first turn."""
    assert touched(pacer, "first").updates
    reconciler = harness.reconciler_with(pacer)
    decide = reconciler._decide

    def with_touch(snapshot: Snapshot) -> Plan:
        return msgspec.structs.replace(decide(snapshot), updates=[TOUCH])

    reconciler._decide = with_touch  # type: ignore[method-assign]  # a test's own door
    return reconciler


async def failed(harness: ControllerHarness) -> None:
    """A job whose worker has failed, so that its status is written first."""
    await harness.submit("W1", restart="ExitCode")
    await harness.one_pass()
    await harness.end_pod("j-worker-0", 137)
    await harness.look()


async def test_plan_that_is_made_again_after_a_conflict_waits_for_its_turn(
    controller: Opened[ControllerHarness],
) -> None:
    conflicts = [Conflict("modified")]
    patched: list[str] = []

    def refuse(request: Request) -> ApiError | None:
        if request.verb == "patch":
            patched.append(request.path)
        return conflicts.pop() if conflicts and request.path.endswith("/status") else None

    async with controller as harness:
        await failed(harness)
        reconciler = touching(harness, Pacer(clock=lambda: 0.0))
        harness.server.refuse = refuse
        result = await reconciler.reconcile(KEY)
        assert (result.errors, conflicts, patched) == ([], [], [])
        assert result.requeue_at == time.add(NOW, PAUSE)


async def test_job_that_is_deleted_while_it_is_reconciled_takes_no_turn(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await failed(harness)
        pacer = Pacer(clock=lambda: 0.0)
        reconciler, read = touching(harness, pacer), harness.reader.read

        async def read_late(key: tuple[str, str]) -> Snapshot | None:
            found = await read(key)
            harness.stores.jobs.remove(KEY)
            return found

        harness.reader.read = read_late  # type: ignore[method-assign]  # a test's own door
        await reconciler.reconcile(KEY)
        assert touched(pacer, "next").requeue_at == time.add(NOW, PAUSE)
