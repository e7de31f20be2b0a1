"""Failures grouped into incidents, independent of their order; the earliest is the cause."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import a_job, at
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Incident, names
from tfjob.core.diagnosis.failures import Failure
from tfjob.core.diagnosis.incidents import merged

JOB = a_job("C1 W3", restart="ExitCode")
_CODES = {
    Cause.PROGRAM_FAILED: 1,
    Cause.PEER_LOST: 1,
    Cause.OUT_OF_MEMORY: 137,
    Cause.KILLED: 137,
    Cause.PREEMPTED: None,
}


def failure(replica: str, seconds: int, cause: Cause = Cause.PROGRAM_FAILED) -> Failure:
    kind, _, index = replica.partition("-")
    found = Incident(
        key=f"{replica}@{seconds}",
        cause=cause,
        kind=kind,
        index=int(index),
        at=at(seconds),
        exit_code=_CODES[cause],
    )
    replicas = {each.label: each for each in JOB.replicas}
    return Failure(found, replicas[kind], started=at(-100))


def calls(run: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def causes(found: Sequence[Incident]) -> list[tuple[str, Cause, list[str]]]:
    return [(each.replica, each.cause, names(each.consequences)) for each in found]


def test_the_killed_worker_is_the_cause_and_the_survivors_follow() -> None:
    seen = [
        failure("worker-0", 7, Cause.PEER_LOST),
        failure("worker-1", 0, Cause.KILLED),
        failure("chief-0", 9, Cause.PEER_LOST),
    ]
    assert causes(merged(JOB, (), seen)) == [("worker-1", Cause.KILLED, ["chief-0", "worker-0"])]


def test_a_cause_that_becomes_known_late_takes_over_its_incident() -> None:
    stored = merged(JOB, (), [failure("worker-0", 7, Cause.PEER_LOST)])
    assert causes(stored) == [("worker-0", Cause.PEER_LOST, [])]
    found = merged(JOB, stored, [failure("worker-1", 0, Cause.PREEMPTED)])
    assert causes(found) == [("worker-1", Cause.PREEMPTED, ["worker-0"])]


def test_two_causes_within_the_window_are_two_incidents() -> None:
    seen = [failure("worker-0", 0, Cause.KILLED), failure("worker-1", 5, Cause.OUT_OF_MEMORY)]
    assert [each.replica for each in merged(JOB, (), seen)] == ["worker-0", "worker-1"]


def test_one_preemption_of_several_replicas_is_one_incident() -> None:
    seen = [failure(f"worker-{index}", index, Cause.PREEMPTED) for index in range(3)]
    (found,) = merged(JOB, (), seen)
    assert names(found.alike) == ["worker-1", "worker-2"]
    assert (found.at, found.alike_until, found.until) == (at(0), at(2), None)


def test_within_one_second_the_evidence_decides() -> None:
    seen = [failure("chief-0", 0, Cause.PEER_LOST), failure("worker-2", 0, Cause.OUT_OF_MEMORY)]
    assert causes(merged(JOB, (), seen)) == [("worker-2", Cause.OUT_OF_MEMORY, ["chief-0"])]


def test_a_later_failure_is_an_incident_of_its_own() -> None:
    stored = merged(JOB, (), [failure("worker-0", 0, Cause.KILLED)])
    found = merged(JOB, stored, [failure("worker-0", 300, Cause.KILLED)])
    assert len(found) == 2


def test_what_is_older_than_the_kept_incidents_is_not_counted_again() -> None:
    stored = merged(JOB, (), [failure("worker-0", 300, Cause.KILLED)])
    found = merged(JOB, stored, [failure("worker-1", 0)], forgotten_until=at(200))
    assert found == stored


def test_incidents_stay_apart_when_their_pods_are_gone() -> None:
    first, second = failure("worker-0", 0, Cause.KILLED), failure("worker-1", 30)
    restarted = msgspec.structs.replace(second, started=at(20))
    stored = merged(JOB, (), [first, restarted])
    assert [each.replica for each in stored] == ["worker-0", "worker-1"]
    assert merged(JOB, stored, [first]) == stored
    assert merged(JOB, stored, ()) == stored


def test_the_work_does_not_grow_with_the_square_of_the_failures() -> None:
    job = a_job("P1 W1000")
    (replica,) = (each for each in job.replicas if each.label == "worker")

    def failed(count: int) -> list[Failure]:
        every = (failure(f"worker-{index}", 0).incident for index in range(count))
        return [Failure(each, replica) for each in every]

    few, many = failed(500), failed(1000)
    assert len(merged(job, (), many)) == 1000
    assert calls(lambda: merged(job, (), many)) < 3 * calls(lambda: merged(job, (), few))


def test_a_deletion_learns_late_that_it_was_a_preemption() -> None:
    first = failure("worker-0", 0, Cause.PREEMPTED)
    deleted = Incident(
        key=first.incident.key, cause=Cause.POD_DELETED, kind="worker", index=0, at=at(0)
    )
    (found,) = merged(JOB, [deleted], [first])
    assert found.cause is Cause.PREEMPTED
    (still,) = merged(JOB, [found], [Failure(deleted, first.replica)])
    assert still.cause is Cause.PREEMPTED


failures = st.lists(
    st.builds(
        failure,
        st.sampled_from(["chief-0", "worker-0", "worker-1", "worker-2"]),
        st.integers(0, 200),
        st.sampled_from(sorted(_CODES)),
    ),
    max_size=7,
    unique_by=lambda each: each.incident.key,
)


@given(failures, st.data())
def test_the_order_of_the_failures_does_not_matter(
    seen: list[Failure], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(seen))
    assert merged(JOB, (), seen) == merged(JOB, (), shuffled)


@given(failures)
def test_failures_observed_again_change_nothing(seen: list[Failure]) -> None:
    once = merged(JOB, (), seen)
    assert merged(JOB, once, seen) == once
    assert merged(JOB, once, ()) == once


@given(failures)
def test_every_failure_is_a_cause_or_belongs_to_one(seen: list[Failure]) -> None:
    found = merged(JOB, (), seen)
    named = {each.replica for each in found}
    for each in found:
        named |= {*names(each.consequences), *names(each.alike)}
    assert named == {each.incident.replica for each in seen}


@given(st.permutations(["worker-0", "worker-2", "chief-0"]), st.integers(0, 3))
def test_one_incident_is_told_the_same_in_whatever_order_it_becomes_known(
    survivors: list[str], place: int
) -> None:
    every = [failure(each, 5, Cause.PEER_LOST) for each in survivors]
    every.insert(place, failure("worker-1", 0, Cause.KILLED))
    found: tuple[Incident, ...] = ()
    for each in every:
        found = merged(JOB, found, [each])
    expected = ("worker-1", Cause.KILLED, ["chief-0", "worker-0", "worker-2"])
    assert causes(found) == [expected]
