"""Pods stuck in termination."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, a_job, a_pod, at
from tfjob.core import stuck_pods
from tfjob.core.stuck_pods import StuckStep
from tfjob.dialects.base import Settings
from tfjob.k8s.pod import Pod

FIVE_MINUTES = 300
GONE_BY = a_pod("worker", 1, deleted=-30, grace=30, node="n1", uid="x")
"""This pod should be gone by NOW."""


def step(
    *found: Pod, now: datetime = NOW, lost: frozenset[str] = frozenset(), after: float | None = None
) -> StuckStep:
    limit = None if after is None else timedelta(seconds=after)
    job = a_job("W2", Settings(force_delete_after=limit))
    return stuck_pods.step(job, found, lost_nodes=lost, now=now)


def test_pods_that_are_not_terminating_are_ignored() -> None:
    assert step(a_pod("worker", 0), lost=frozenset({"node-1"}), after=0) == StuckStep()


def test_a_late_pod_is_waited_for_and_looked_at_again_after_five_minutes() -> None:
    found = step(GONE_BY, now=at(10))
    assert (found.deletes, found.events, found.requeue_at) == ([], [], at(FIVE_MINUTES))


@pytest.mark.parametrize(("seconds", "is_told"), [(299, False), (300, True), (900, True)])
def test_after_five_minutes_it_is_reported_with_one_key(seconds: float, is_told: bool) -> None:
    found = step(GONE_BY, now=at(seconds))
    assert bool(found.events) is is_told
    assert found.deletes == []
    if not is_told:
        return
    (event,) = found.events
    assert (str(event.type), event.reason) == ("Warning", "PodStuckTerminating")
    assert event.key == "stuck/x"
    assert event.message == (
        "Pod j-worker-1 on n1 is still terminating 5 minutes after its grace period;"
        " its replica is recreated once the pod is gone"
    )
    assert found.requeue_at is None


def test_a_pod_without_a_node_says_so() -> None:
    (event,) = step(a_pod("worker", 1, deleted=-900, node="")).events
    assert event.message.startswith("Pod j-worker-1 on no node ")


def test_only_pods_of_lost_nodes_are_force_deleted() -> None:
    other = a_pod("worker", 0, deleted=-30, node="n2")
    (delete,) = step(other, GONE_BY, lost=frozenset({"n1"})).deletes
    assert (delete.kind, delete.name, delete.uid) == ("Pod", "j-worker-1", "x")
    assert delete.is_forced


@pytest.mark.parametrize(("seconds", "is_forced"), [(59, False), (60, True)])
def test_it_is_force_deleted_after_the_configured_time(seconds: float, is_forced: bool) -> None:
    found = step(GONE_BY, now=at(seconds), after=60)
    assert bool(found.deletes) is is_forced
    assert found.requeue_at == at(FIVE_MINUTES if is_forced else 60)


def test_of_several_the_next_moment_is_waited_for() -> None:
    later = a_pod("worker", 0, deleted=-20, grace=30)
    assert step(later, GONE_BY).requeue_at == at(FIVE_MINUTES)
    assert step(later, GONE_BY, now=at(301)).requeue_at == at(FIVE_MINUTES + 10)


@pytest.mark.parametrize(
    ("pod", "now", "expected"),
    [
        (GONE_BY, at(-1), False),
        (GONE_BY, NOW, True),
        (a_pod("worker", 0), NOW, False),
    ],
)
def test_a_pod_is_stuck_once_it_should_be_gone(pod: Pod, now: datetime, expected: bool) -> None:
    assert stuck_pods.is_stuck(pod, now=now) is expected


@pytest.mark.parametrize(
    "text",
    ["", "soon", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-01-02T03:04:05+14:00"],
)
def test_an_absurd_deletion_time_is_no_error(text: str) -> None:
    fields: dict[str, Any] = {"deletion_timestamp": text}
    pod = msgspec.structs.replace(
        GONE_BY, metadata=msgspec.structs.replace(GONE_BY.metadata, **fields)
    )
    found = step(pod, after=60)
    assert all(each.is_forced for each in found.deletes)


def test_pod_kept_by_finalizers_is_not_force_deleted_again() -> None:
    held = msgspec.structs.replace(
        GONE_BY,
        metadata=msgspec.structs.replace(
            GONE_BY.metadata, deletion_grace_period_seconds=0, finalizers=["example.com/archive"]
        ),
    )
    assert step(held, lost=frozenset({"n1"})).deletes == []
