"""When the PodGroup of a gang without room is touched, so that its scheduler looks again."""

import pytest

from tests.support.builders import a_pod, at
from tfjob.core import gang_retry
from tfjob.core.gang_retry import ANNOTATION, Retry
from tfjob.k8s import time
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import PodCondition
from tfjob.k8s.podgroup import PodGroup


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
    room_since = None if room is None else at(room)
    return gang_retry.retry(PodGroup(metadata=meta), [pod], room_since=room_since, now=at(now))


def touches_until(end: int) -> list[int]:
    """The seconds at which a gang that finds no room is touched."""
    touched: list[int] = []
    for second in range(end):
        if retried(second, last=touched[-1] if touched else None).update is not None:
            touched.append(second)
    return touched


def test_pauses_grow_with_the_wait_up_to_two_minutes() -> None:
    assert touches_until(700) == [10, 20, 40, 80, 160, 280, 400, 520, 640]


def test_room_that_was_given_up_ends_the_pause() -> None:
    assert retried(500, last=480).update is None
    assert retried(500, last=480, room=470).update is None
    assert retried(500, last=480, room=490).update is not None


def test_room_is_taken_up_at_most_every_ten_seconds() -> None:
    assert retried(489, last=480, room=485).update is None
    assert retried(490, last=480, room=485).update is not None


def test_the_next_look_is_never_far() -> None:
    assert retried(500, last=480).requeue_at == at(510)
    assert retried(500, last=380).requeue_at == at(510)


@pytest.mark.parametrize("last", [10_000, -10_000])
def test_a_time_that_cannot_be_true_does_not_stop_the_retries(last: float) -> None:
    found = retried(500, last=last)
    assert found.requeue_at is not None
    assert retried(700, last=last).update is not None or last > 0
    assert (retried(700, last=last).requeue_at or at(0)) <= at(710)


def test_a_gang_on_its_nodes_is_left_in_peace() -> None:
    assert retried(500, node="node-1") == Retry()


def test_a_group_that_is_being_deleted_is_left_in_peace() -> None:
    assert retried(500, deleted="2026-01-02T03:04:05Z") == Retry()


def test_a_pod_of_which_no_scheduler_speaks_is_not_without_room() -> None:
    group = PodGroup(metadata=ObjectMeta(name="j", uid="g"))
    silent = a_pod("worker", 0, "Pending", node="")
    assert gang_retry.retry(group, [silent], room_since=None, now=at(500)) == Retry()


def test_a_gated_pod_has_not_been_refused() -> None:
    assert retried(500, reason="SchedulingGated") == Retry()
