"""PodGroups that are touched to wake their scheduler: so many a second over all jobs."""

from datetime import datetime, timedelta

import msgspec

from tests.support.builders import NOW, meta
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import RETRIES_PER_SECOND, Pacer, PacingConfig
from tfjob.core.plan import ChildKind, Plan, Update
from tfjob.k8s import time

OTHER = Update(kind=ChildKind.POD_GROUP, name="j", uid="g", body={"spec": {}})
TOUCH = msgspec.structs.replace(OTHER, is_retry=True)


class World:
    def __init__(self, config: PacingConfig | None = None) -> None:
        self.time = 100.0
        self.pacer = Pacer(config, clock=lambda: self.time)

    def touches(self, job: str, *others: Update, requeue: float | None = None) -> Plan:
        """What remains of a plan that touches the PodGroup of a job."""
        later = None if requeue is None else after(requeue)
        plan = Plan(updates=[*others, TOUCH], requeue_at=later)
        return self.pacer.with_due_retries(a_job(job), plan, now=NOW)


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


def test_a_deleted_job_leaves_no_turn_behind() -> None:
    world = World()
    world.touches("j0")
    world.touches("j1")
    assert len(world.pacer._retries._reserved) == 1
    world.pacer.forget_job(a_job("j1"))
    assert len(world.pacer._retries._reserved) == 0


def test_without_pacing_nothing_waits() -> None:
    world = World(PacingConfig(is_on=False))
    assert all(TOUCH in world.touches(f"j{place}").updates for place in range(50))
