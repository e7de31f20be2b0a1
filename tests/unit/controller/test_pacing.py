"""What is deferred, for how long at most, and what is never deferred."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager as Opened
from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, a_job, a_pod, meta
from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.fake_time import FakeTime, settle
from tests.support.local_apiserver.in_memory import CORE
from tfjob.client.events import Backlog
from tfjob.client.timing import Timing
from tfjob.client.workqueue import Priority
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import (
    BATCH_WINDOW,
    BATCH_WINDOW_CREATED,
    BATCH_WINDOW_STARTING,
    BUSY_EVENT_BACKLOG,
    IDLE_STATUS_DELAY,
    MAX_EVENT_YIELD,
    Change,
    EventPacer,
    LoadSignals,
    Pacer,
    PacingConfig,
    Schedule,
)
from tfjob.core.job import Job
from tfjob.core.plan import EventType, JobEvent, Plan
from tfjob.core.status import Condition, ConditionType, JobStatus, Limit, ReplicaStatus
from tfjob.k8s.child_types import Service
from tfjob.k8s.pod import Pod, PodSpec

BOUND = PacingConfig().status_delay
OFF = PacingConfig(is_on=False)


class World:
    """A pacer whose clock and load the test sets."""

    def __init__(self, config: PacingConfig | None = None, *, shows_children: bool = False) -> None:
        self.time, self.is_busy = 0.0, False
        self.is_in_progress, self.is_reconciling = True, False
        load = LoadSignals(
            has_queued_creates=lambda: self.is_busy,
            is_in_progress=self._is_worked_on,
            is_reconciling=lambda key: self.is_reconciling and key == ("n", "j"),
        )
        self.pacer = Pacer(
            config, load=load, clock=lambda: self.time, shows_children=shows_children
        )

    def _is_worked_on(self, key: tuple[str, str]) -> bool:
        return self.is_in_progress and key == ("n", "j")

    def turn(self, old: Any, new: Any, *siblings: Pod) -> Schedule | None:
        return self.pacer.schedule_for(Change(("n", "j"), old, new, lambda: siblings))

    def defer(self, after: JobStatus, **fields: Any) -> float | None:
        return self.pacer.defer_status(stored(), running(0), Plan(status=after, **fields))


def stored(version: str = "1", *, status: bytes = b"null") -> JobObject:
    changed = msgspec.structs.replace(meta("j"), resource_version=version)
    return JobObject(metadata=changed, status=msgspec.Raw(status))


def condition(kind: ConditionType) -> Condition:
    return Condition(
        type=str(kind), status="True", reason="r", message="", last_update=NOW, last_transition=NOW
    )


def status(active: int, *kinds: ConditionType, **fields: Any) -> JobStatus:
    conditions = tuple(condition(each) for each in (ConditionType.CREATED, *kinds))
    counts = {"Worker": ReplicaStatus(active=active)}
    return JobStatus(conditions=conditions, **{"replicas": counts, "start_time": NOW, **fields})


def running(active: int) -> Job:
    """A job of three workers with this stored count of active ones."""
    return msgspec.structs.replace(a_job("W3"), status=status(active))


BEGINS = status(1, ConditionType.RUNNING)


def test_status_of_running_replicas_waits_briefly_and_under_load_for_seconds() -> None:
    harness = World()
    assert harness.defer(BEGINS) == IDLE_STATUS_DELAY
    harness.is_busy, harness.time = True, IDLE_STATUS_DELAY
    assert harness.defer(BEGINS) == pytest.approx(BOUND - IDLE_STATUS_DELAY)
    harness.time = BOUND
    assert harness.defer(BEGINS) is None


def test_wait_counts_from_the_first_status_that_waited_whatever_comes_after_it() -> None:
    harness = World()
    harness.is_busy = True
    for step in range(4):
        harness.time = step * BOUND / 4
        assert harness.defer(status(1 + step % 2, ConditionType.RUNNING)) is not None
        assert (harness.pacer.deferred_count, harness.pacer.oldest_deferred_seconds) == (
            1,
            harness.time,
        )
    harness.time = BOUND
    assert harness.defer(BEGINS) is None
    harness.pacer.status_written(stored())
    assert (harness.pacer.deferred_count, harness.pacer.oldest_deferred_seconds) == (0, 0.0)
    assert harness.defer(BEGINS) == BOUND


def test_first_condition_never_waits() -> None:
    harness = World()
    harness.is_busy = True
    new = msgspec.structs.replace(a_job("W3"), status=JobStatus())
    assert harness.pacer.defer_status(stored(), new, Plan(status=status(0))) is None
    assert harness.pacer.defer_status(stored(), new, Plan(status=BEGINS)) is None


@pytest.mark.parametrize(
    "after",
    [
        status(3, ConditionType.RUNNING),
        status(1, ConditionType.RESTARTING),
        status(1, ConditionType.FAILED),
        status(1, ConditionType.SUCCEEDED),
        status(0, ConditionType.SUSPENDED),
        status(1, replicas={"Worker": ReplicaStatus(active=1, failed=1)}),
        status(1, completion_time=NOW),
        status(1, last_reconcile_time=NOW),
        status(1, start_time=None),
        status(1, limit_reached=Limit.DEADLINE),
        status(1, training_completed=NOW),
    ],
    ids=[
        "all run",
        "restarting",
        "failed",
        "succeeded",
        "suspended",
        "a failure",
        "an end",
        "a sign of life",
        "a start",
        "a limit",
        "a trained model",
    ],
)
def test_status_that_users_wait_for_is_stored_immediately(after: JobStatus) -> None:
    harness = World()
    harness.is_busy = True
    assert harness.defer(after) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"writes_status_first": True},
        {"replaced": 1},
        {"events": [JobEvent(type=EventType.NORMAL, reason="r", message="m", key="k")]},
    ],
)
def test_status_that_proves_something_is_stored_at_once(fields: Mapping[str, Any]) -> None:
    assert World().defer(BEGINS, **fields) is None


def test_status_of_a_job_whose_time_is_limited_is_stored_at_once() -> None:
    limited = a_job("W3", run_policy={"activeDeadlineSeconds": 60})
    job = msgspec.structs.replace(limited, status=status(0))
    assert World().pacer.defer_status(stored(), job, Plan(status=BEGINS)) is None


@pytest.mark.parametrize("how", ["forget", "forget_job"])
def test_dropped_deferral_starts_again(how: str) -> None:
    harness = World()
    harness.is_busy = True
    harness.defer(BEGINS)
    harness.time = 1.0
    getattr(harness.pacer, how)(*([] if how == "forget" else [stored()]))
    assert harness.pacer.deferred_count == 0
    assert harness.defer(BEGINS) == BOUND


def test_new_job_overtakes_and_a_known_one_does_not() -> None:
    harness = World()
    seen = stored(status=b'{"conditions":[]}')
    assert harness.turn(None, stored()) == Schedule(0.0, Priority.HIGH)
    assert harness.turn(None, seen) == Schedule(0.0, Priority.NORMAL)
    assert harness.turn(stored(), seen) == Schedule(0.0, Priority.NORMAL)
    assert harness.turn(seen, None) == Schedule(0.0, Priority.NORMAL)


def test_routine_change_waits_for_others_and_an_end_does_not() -> None:
    harness = World()
    pending, up, failed = (a_pod(phase=each) for each in ("Pending", "Running", "Failed"))
    assert harness.turn(None, up) == Schedule(BATCH_WINDOW, Priority.NORMAL)
    assert harness.turn(up, up) == Schedule(BATCH_WINDOW, Priority.NORMAL)
    assert harness.turn(pending, up) == Schedule(BATCH_WINDOW, Priority.HIGH)
    for old, new in ((up, failed), (failed, None), (up, a_pod(phase="Running", deleted=-5))):
        assert harness.turn(old, new) == Schedule(0.0, Priority.HIGH)


def test_start_of_a_pod_waits_for_the_others_of_its_job_on_a_busy_server() -> None:
    harness = World()
    harness.is_busy = True
    pending, up = a_pod(phase="Pending"), a_pod(phase="Running")
    assert harness.turn(pending, up, up, pending) == Schedule(BATCH_WINDOW_STARTING, Priority.HIGH)
    assert harness.turn(pending, up, up, up) == Schedule(BATCH_WINDOW, Priority.HIGH)
    assert harness.turn(up, up, pending) == Schedule(BATCH_WINDOW, Priority.NORMAL)
    assert BATCH_WINDOW_STARTING + BOUND < 5.0


def test_pods_that_have_just_started_are_not_searched_for_one_that_is_pending() -> None:
    harness = World()
    harness.is_busy = True
    pending, up = a_pod(phase="Pending"), a_pod(phase="Running")

    def siblings() -> Iterator[Pod]:
        yield pending
        pytest.fail("a later pod is looked at")

    change = Change(("n", "j"), pending, up, siblings)
    assert harness.pacer.schedule_for(change) == Schedule(BATCH_WINDOW_STARTING, Priority.HIGH)


def test_start_of_a_pod_waits_for_those_that_are_being_created_on_a_busy_server() -> None:
    harness = World()
    harness.is_reconciling = True
    pending, up = a_pod(phase="Pending"), a_pod(phase="Running")
    assert harness.turn(pending, up, up) == Schedule(BATCH_WINDOW, Priority.HIGH)
    harness.is_busy = True
    assert harness.turn(pending, up, up) == Schedule(BATCH_WINDOW_STARTING, Priority.HIGH)
    harness.is_reconciling = False
    assert harness.turn(pending, up, up) == Schedule(BATCH_WINDOW, Priority.HIGH)


def test_child_that_was_just_created_is_no_reason_to_look_at_a_job_that_is_worked_on() -> None:
    harness = World()
    new = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    service = Service(metadata=new.metadata)
    assert harness.turn(None, new) == Schedule(BATCH_WINDOW)
    harness.is_busy = True
    assert harness.turn(None, new) == harness.turn(None, service) == Schedule(BATCH_WINDOW_CREATED)
    harness.is_in_progress = False
    assert harness.turn(None, new) == Schedule(BATCH_WINDOW)


def test_every_change_is_of_interest_where_the_status_repeats_it() -> None:
    harness = World(shows_children=True)
    harness.is_busy = True
    new = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    bound = msgspec.structs.replace(new, spec=PodSpec(node_name="node"))
    assert harness.turn(None, new) == harness.turn(new, bound) == Schedule(BATCH_WINDOW)
    assert World().turn(new, bound) is None


@pytest.mark.parametrize(
    ("load", "is_busy"),
    [
        (LoadSignals(), False),
        (LoadSignals(queued_jobs=lambda: 1), True),
        (LoadSignals(has_queued_creates=lambda: True), True),
        (LoadSignals(pending_events=lambda: BUSY_EVENT_BACKLOG - 1), False),
        (LoadSignals(pending_events=lambda: BUSY_EVENT_BACKLOG), True),
    ],
)
def test_server_is_busy_when_anything_waits_for_it(load: LoadSignals, *, is_busy: bool) -> None:
    assert load.is_busy() is is_busy


def test_nothing_waits_and_nothing_is_skipped_when_pacing_is_off() -> None:
    harness = World(OFF)
    harness.is_busy = True
    pending, up = a_pod(phase="Pending"), a_pod(phase="Running")
    bound = msgspec.structs.replace(pending, spec=PodSpec(node_name="node"))
    unbound = msgspec.structs.replace(pending, spec=PodSpec())
    assert harness.defer(BEGINS) is None
    assert harness.turn(pending, up, pending) == Schedule(0.0, Priority.HIGH)
    assert harness.turn(None, unbound) == Schedule(0.0, Priority.NORMAL)
    assert harness.turn(unbound, bound) == Schedule(0.0, Priority.NORMAL)


class Events:
    """An event pacer with a settable backlog of creates."""

    def __init__(self, config: PacingConfig | None = None) -> None:
        self.time, self.calm = FakeTime(), asyncio.Event()
        self.waits: list[float] = []
        timing = Timing(clock=self.time.time, sleep=self.time.sleep)
        self.pacer = EventPacer(config, wait_until_idle=self._until_calm, timing=timing)

    async def _until_calm(self, within: float) -> None:
        self.waits.append(within)
        await self.calm.wait()

    async def is_sent(self, *, is_half_full: bool = False, age: float = 0.0) -> bool:
        backlog = Backlog(is_half_full, age, 0.0)
        turn = asyncio.create_task(self.pacer.wait_to_send_event(backlog))
        await settle()
        is_done = turn.done()
        turn.cancel()
        return is_done


async def test_event_gives_way_to_children_unless_it_is_late_or_too_many_wait() -> None:
    events = Events()
    assert not await events.is_sent()
    assert events.waits == [MAX_EVENT_YIELD]
    assert await events.is_sent(is_half_full=True)
    assert not await events.is_sent(age=PacingConfig().event_delay)
    assert await events.is_sent(age=PacingConfig().event_delay + 1)
    events.calm.set()
    assert await events.is_sent()
    assert await Events(OFF).is_sent()


async def test_server_that_answers_late_is_left_alone_for_a_while() -> None:
    events = Events()
    events.calm.set()
    for took in (0.01, 5.0):
        turn = asyncio.create_task(events.pacer.wait_to_send_event(Backlog(False, 0.0, took)))
        await settle()
        assert turn.done() is (took < 1.0)
        await events.time.advance(1.0)
        await turn


async def begun(controller: ControllerHarness, pacer: Pacer) -> None:
    """A job of two workers, one of them running."""
    controller.reconciler = controller.reconciler_with(pacer)
    await controller.submit("W2")
    await controller.one_pass()
    pod = await controller.server.ask("GET", f"{CORE}/pods/j-worker-0")
    pod["status"]["phase"] = "Running"
    await controller.server.ask("PUT", f"{CORE}/pods/j-worker-0/status", pod)


async def test_status_that_waited_long_enough_is_stored_as_it_is_by_then(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        paced = World()
        await begun(harness, paced.pacer)
        assert (await harness.one_pass()).deferred_for == IDLE_STATUS_DELAY
        assert await harness.conditions() == ["Created"]
        paced.time = IDLE_STATUS_DELAY
        assert (await harness.one_pass()).deferred_for is None
        assert await harness.conditions() == ["Created", "Running"]
        assert paced.pacer.deferred_count == 0


async def test_status_is_stored_at_once_when_pacing_is_off(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await begun(harness, World(OFF).pacer)
        assert (await harness.one_pass()).deferred_for is None
        assert await harness.conditions() == ["Created", "Running"]


async def test_nothing_is_remembered_of_a_job_that_goes_while_it_is_reconciled(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        paced = World()
        await begun(harness, paced.pacer)
        await harness.look()
        read = harness.reader.read

        async def read_late(key: tuple[str, str]) -> Any:
            found = await read(key)
            harness.stores.jobs.remove(KEY)
            return found

        harness.reader.read = read_late  # type: ignore[method-assign]  # a test's own door
        assert (await harness.reconciler.reconcile(KEY)).deferred_for is None
        assert paced.pacer.deferred_count == 0
