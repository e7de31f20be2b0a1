"""When the PodGroup of a gang that did not fit is touched, so that its scheduler retries."""

from itertools import pairwise

import pytest

from tests.support.builders import a_pod, at
from tfjob.core import gang_retry
from tfjob.core.gang_retry import ANNOTATION, Retry
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import PodCondition


def retried(
    now: float,
    *,
    last: float | None = None,
    room: float | None = None,
    node: str = "",
    deleted: str | None = None,
    reason: str = "Unschedulable",
) -> Retry:
    """What is due for a gang that was refused at second 0."""
    since = PodCondition(
        type="PodScheduled",
        status="False",
        reason=reason,
        last_transition_time=time.render(at(0)),
    )
    pod = a_pod("worker", 0, "Pending", node=node, conditions=[since])
    annotations = {} if last is None else {ANNOTATION: time.render(at(last))}
    meta = ObjectMeta(name="j", uid="g", annotations=annotations, deletion_timestamp=deleted)
    node_freed_at = None if room is None else at(room)
    return gang_retry.retry(
        PodGroup(metadata=meta), [pod], node_freed_at=node_freed_at, now=at(now)
    )


def touches_until(end: int, *, is_busy: bool = False) -> list[int]:
    """The seconds at which a gang that finds no room is touched."""
    touched: list[int] = []
    for second in range(end):
        last = touched[-1] if touched else None
        if retried(second, last=last, room=second if is_busy else None).update is not None:
            touched.append(second)
    return touched


def test_pauses_grow_with_the_wait_up_to_two_minutes() -> None:
    assert touches_until(700) == [10, 20, 40, 80, 160, 280, 400, 520, 640]


def test_room_that_was_given_up_shortens_the_pause() -> None:
    assert retried(540, last=480).update is None
    assert retried(540, last=480, room=470).update is None
    assert retried(540, last=480, room=490).update is not None
    assert retried(539, last=480, room=490).update is None


def test_room_is_taken_up_at_most_every_ten_seconds() -> None:
    assert retried(49, last=40, room=45).update is None
    assert retried(50, last=40, room=45).update is not None


def test_pauses_grow_although_pods_give_up_their_nodes_all_the_time() -> None:
    busy = touches_until(3600, is_busy=True)
    pauses = [after - before for before, after in pairwise(busy)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (10, 120)
    assert len(busy) < 60


def test_looks_are_as_far_apart_as_touches_with_room() -> None:
    assert retried(30, last=25).requeue_at == at(40)
    assert retried(500, last=480).requeue_at == at(560)
    assert retried(599, last=480).requeue_at == at(600)
    assert retried(600, last=480).requeue_at == at(660)


@pytest.mark.parametrize("last", [10_000, -10_000])
def test_a_time_that_cannot_be_true_does_not_stop_the_retries(last: float) -> None:
    found = retried(700, last=last)
    assert found.update is not None
    assert found.requeue_at == at(710)


def test_a_gang_on_its_nodes_is_left_in_peace() -> None:
    assert retried(500, node="node-1") == Retry()


def test_a_group_that_is_being_deleted_is_left_in_peace() -> None:
    assert retried(500, deleted="2026-01-02T03:04:05Z") == Retry()


def test_a_pod_of_which_no_scheduler_speaks_is_not_without_room() -> None:
    group = PodGroup(metadata=ObjectMeta(name="j", uid="g"))
    silent = a_pod("worker", 0, "Pending", node="")
    assert gang_retry.retry(group, [silent], node_freed_at=None, now=at(500)) == Retry()


def test_a_gated_pod_has_not_been_refused() -> None:
    assert retried(500, reason="SchedulingGated") == Retry()
