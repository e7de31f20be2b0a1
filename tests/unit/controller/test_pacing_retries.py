"""PodGroups that are touched to wake their scheduler: so many a second over all jobs."""

import heapq
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from tests.support.builders import NOW, meta
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import RETRIES_PER_SECOND, Pacer, PacingConfig
from tfjob.core.plan import ChildKind, Plan, Update
from tfjob.k8s import time

OTHER = Update(kind=ChildKind.POD_GROUP, name="j", uid="g", body={"spec": {}})
TOUCH = msgspec.structs.replace(OTHER, is_retry=True)
PAUSE = 1 / RETRIES_PER_SECOND
SLACK = 0.001


class World:
    def __init__(self, config: PacingConfig | None = None) -> None:
        self.time = self.start = 100.0
        self.pacer = Pacer(config, clock=lambda: self.time)

    def touches(self, job: str, *others: Update, requeue: float | None = None) -> Plan:
        """What remains of a plan that touches the PodGroup of a job."""
        later = None if requeue is None else after(requeue)
        plan = Plan(updates=[*others, TOUCH], requeue_at=later)
        return self.pacer.with_due_retries(a_job(job), plan, now=NOW)

    def fill(self, count: int) -> None:
        """Let so many jobs come at once: the first is served, the others wait."""
        for place in range(count):
            self.touches(f"j{place}")

    def served(
        self, jobs: Sequence[str], *, late: Callable[[int], float] = lambda _place: 0.0
    ) -> dict[str, float]:
        """When each job is served, if all come now and then when they are told to, or later."""
        self.start = self.time
        due = [(self.time, place) for place in range(len(jobs))]
        used: dict[str, float] = {}
        while due:
            self.time, place = heapq.heappop(due)
            plan = self.touches(jobs[place])
            if TOUCH in plan.updates:
                used[jobs[place]] = self.time
            elif plan.requeue_at is not None:
                wait = (plan.requeue_at - NOW).total_seconds() + late(place)
                heapq.heappush(due, (self.time + max(wait, SLACK), place))
        return used


def a_job(name: str) -> JobObject:
    return JobObject(metadata=meta(name), status=msgspec.Raw(b"null"))


def after(seconds: float) -> datetime:
    return time.add(NOW, timedelta(seconds=seconds))


def test_the_touches_of_many_jobs_are_spread_out_in_the_order_in_which_they_came() -> None:
    world = World()
    assert TOUCH in world.touches("j0").updates
    for place in range(1, 200):
        plan = world.touches(f"j{place}")
        assert list(plan.updates) == []
        assert plan.requeue_at == after(place / RETRIES_PER_SECOND)


def test_a_job_keeps_its_turn_however_often_it_comes_before() -> None:
    world = World()
    for name in ("j0", "j1", "j2", "j1", "j1"):
        world.touches(name)
    world.time += 1 / RETRIES_PER_SECOND
    assert TOUCH in world.touches("j1").updates
    assert list(world.touches("j2").updates) == []
    world.time += 1 / RETRIES_PER_SECOND
    assert TOUCH in world.touches("j2").updates


def test_a_turn_is_used_up() -> None:
    world = World()
    assert TOUCH in world.touches("j0").updates
    assert list(world.touches("j0").updates) == []


def test_other_updates_and_an_earlier_time_stay() -> None:
    world = World()
    world.touches("j0")
    plan = world.touches("j1", OTHER, requeue=0.01)
    assert (list(plan.updates), plan.requeue_at) == ([OTHER], after(0.01))
    without = Plan(updates=[OTHER])
    assert world.pacer.with_due_retries(a_job("j2"), without, now=NOW) is without


def test_a_new_job_does_not_wait_for_jobs_that_were_deleted() -> None:
    world = World()
    world.fill(500)
    for place in range(500):
        world.pacer.forget_job(a_job(f"j{place}"))
    assert world.touches("new").requeue_at == after(PAUSE)


def test_a_job_moves_up_when_jobs_in_front_of_it_are_deleted() -> None:
    world = World()
    world.fill(100)
    for place in range(1, 99):
        world.pacer.forget_job(a_job(f"j{place}"))
    assert world.touches("j99").requeue_at == after(PAUSE)


def test_a_job_moves_up_when_jobs_in_front_of_it_do_not_come() -> None:
    world = World()
    world.fill(100)
    world.time += 5
    turn = world.touches("j99").requeue_at
    assert turn is not None
    assert after(0) < turn < after(1)


def test_a_job_that_no_longer_needs_a_touch_gives_up_its_turn() -> None:
    world = World()
    world.fill(3)
    world.pacer.with_due_retries(a_job("j1"), Plan(), now=NOW)
    assert world.touches("j2").requeue_at == after(PAUSE)
    assert world.touches("j1").requeue_at == after(2 * PAUSE)


def test_a_new_leader_has_its_first_turn_at_once() -> None:
    world = World()
    world.fill(50)
    world.pacer.forget()
    assert TOUCH in world.touches("j49").updates


def test_turns_that_have_passed_do_not_come_all_at_once() -> None:
    world = World()
    world.fill(50)
    world.time += 60
    used = world.served([f"j{place}" for place in range(1, 50)])
    assert sum(moment == world.start for moment in used.values()) <= 2
    assert max(used.values()) - world.start >= 47 * PAUSE - SLACK


def test_jobs_that_do_not_come_hold_up_nobody() -> None:
    world = World()
    world.fill(40)
    world.time += 60
    used = world.served([f"new{place}" for place in range(20)])
    assert max(used.values()) - world.start <= 20 * PAUSE + SLACK
    assert TOUCH not in world.touches("j39").updates
    world.time += PAUSE
    assert TOUCH in world.touches("j39").updates


def test_every_job_of_a_slow_operator_has_its_turn() -> None:
    world = World()
    names = [f"j{place}" for place in range(300)]
    used = sorted(world.served(names, late=lambda place: place * 7 % 31 / 10).values())
    assert len(used) == 300
    in_a_second = RETRIES_PER_SECOND + 2
    spans = zip(used, used[in_a_second:], strict=False)
    assert all(last - first >= 1 - SLACK for first, last in spans)
    assert used[-1] - used[0] <= 3 * 300 * PAUSE


def test_a_turn_used_a_moment_late_does_not_put_off_the_next() -> None:
    world = World()
    world.fill(3)
    world.time += PAUSE * 1.5
    assert TOUCH in world.touches("j1").updates
    world.time += PAUSE * 0.5 + SLACK
    assert TOUCH in world.touches("j2").updates


def test_without_pacing_nothing_waits() -> None:
    world = World(PacingConfig(is_on=False))
    assert all(TOUCH in world.touches(f"j{place}").updates for place in range(50))
