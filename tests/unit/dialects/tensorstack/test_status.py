"""Encoding and decoding the status loses nothing that the next reconcile needs."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import NOW, at
from tests.unit.dialects.tensorstack.jobs import Play, pod, pods, services, training_job
from tests.unit.k8s.json_values import JSON
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.core.status import ConditionType, JobStatus, PodRecord, ReplicaStatus
from tfjob.dialects.base import StatusContext
from tfjob.dialects.tensorstack.status import decode, encode

COUNTS = st.integers(0, 5)
RECENT = st.builds(
    PodRecord,
    index=st.integers(0, 1),
    uid=st.text(st.characters(codec="ascii"), max_size=3),
    streak=COUNTS,
    at=st.sampled_from([NOW, at(-90)]),
)
REPLICAS = st.builds(
    ReplicaStatus,
    active=COUNTS,
    succeeded=COUNTS,
    failed=COUNTS,
    restarts=COUNTS,
    completed=st.frozensets(st.integers(0, 1)),
    records=st.lists(RECENT, max_size=2).map(tuple),
)


@given(REPLICAS, st.sampled_from([None, NOW]))
def test_counts_and_records_come_back(worker: ReplicaStatus, start: Any) -> None:
    job = Play(training_job("W2")).job
    status = JobStatus(replicas={"worker": worker}, start_time=start)
    begun = {"conditions": [{"type": "Initialized", "status": "True"}]}
    found = decode(encode(job, status, StatusContext(now=NOW, stored=begun)))
    assert found.replicas == status.replicas
    assert found.start_time == start


PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", "Odd"])
PODS = st.builds(
    pod,
    st.just("worker"),
    st.integers(0, 1),
    PHASES,
    uid=st.sampled_from(["a", "b"]),
    deleted=st.sampled_from([None, at(-1)]),
)


@given(
    st.sampled_from(["Never", "OnFailure", "Always", "ExitCode"]),
    st.lists(st.tuples(st.lists(PODS, max_size=2), st.booleans()), max_size=4),
)
def test_what_is_stored_is_what_was_decided(policy: str, passes: list[Any]) -> None:
    """A pass that follows on an equal world changes nothing: it reads back what it knew."""
    play = Play(training_job("W2", restart=policy))
    for there, is_paused in passes:
        play.edit(runMode={"pause": {"enabled": is_paused}})
        found = {each.metadata.name: each for each in there}.values()
        play.go(*found)
        plan = play.go(*found)
        before = play.status
        after = play.go(*found)
        assert play.status == before
        assert after.status is None or after.status == plan.status


WORLDS = st.lists(
    st.tuples(st.lists(PODS, max_size=3), st.booleans(), st.integers(0, 40)), max_size=6
)


@settings(max_examples=60)
@given(st.sampled_from(["Never", "OnFailure", "Always", "ExitCode"]), st.booleans(), WORLDS)
def test_decisions_are_the_same_as_if_nothing_were_stored_in_between(
    policy: str, has_limit: bool, worlds: list[Any]
) -> None:
    """The neutral status, kept in memory over all passes, leads to the same plans.

    A job starts when all of it was made: until then no start is kept in either place.
    """
    limits = {"backoffLimit": 1, "activeDeadlineSeconds": 60} if has_limit else {}
    play = Play(training_job("W2", restart=policy, runPolicy=limits))
    kept = JobStatus()
    now = NOW
    for there, is_paused, seconds in worlds:
        now += timedelta(seconds=seconds)
        play.edit(runMode={"pause": {"enabled": is_paused}})
        found = list({each.metadata.name: each for each in there}.values())
        job = play.job
        assert isinstance(job, Job)
        read = play.go(*found, now=now)
        known = msgspec.structs.replace(job, status=kept)
        children = Children(pods=found, services=services(job))
        plan = reconcile(job=known, children=children, now=now)
        kept = plan.status or kept
        if "startTime" not in play.status:
            kept = msgspec.structs.replace(kept, start_time=None)
        assert (read.creates, read.deletes, read.events) == (
            plan.creates,
            plan.deletes,
            plan.events,
        )
        assert (read.requeue_at, read.replaced) == (plan.requeue_at, plan.replaced)
        assert read.writes_status_first == plan.writes_status_first


@pytest.mark.parametrize(
    ("conditions", "kinds"),
    [
        ([{"type": "Failed", "status": "True"}], [ConditionType.FAILED]),
        (
            [{"type": "Failed", "status": "False"}, {"type": "Completed", "status": "True"}],
            [ConditionType.SUCCEEDED],
        ),
        ([{"type": "Paused", "status": "False"}], [ConditionType.SUSPENDED]),
        ([{"type": "Running", "status": "True"}], []),
        ([None, 1, {"type": 3}, {"status": "True"}], []),
    ],
)
def test_conditions_are_read(conditions: list[Any], kinds: list[str]) -> None:
    assert [each.type for each in decode({"conditions": conditions}).conditions] == kinds


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_final_phase_counts_without_conditions(phase: str) -> None:
    assert decode({"phase": phase}).is_finished


@pytest.mark.parametrize("progress", ["Running", "Restarting"])
def test_condition_whose_words_are_not_stored_says_nothing(progress: str) -> None:
    found = decode({"phase": "Running", "progress": progress})
    assert [(each.type, each.message) for each in found.conditions] == [
        ("Created", ""),
        (progress, ""),
    ]


def test_resumed_condition_and_event_have_their_own_reasons() -> None:
    play = Play(training_job(runMode={"pause": {"enabled": True}}))
    play.go()
    play.edit(runMode={})
    play.go(now=at(5))
    assert play.condition("Paused")[1] == "Resumed"
    (found,) = [each for each in decode(play.status).conditions if each.type == "Suspended"]
    assert found.reason == "Resuming"


def test_time_of_a_condition_changes_with_its_status_alone() -> None:
    play = Play(training_job("W1"))
    play.go(pod())
    before = play.status["conditions"]
    play.go(pod(), now=at(100))
    assert play.status["conditions"] == before
    play.go(pod("worker", 0, "Failed"), now=at(200))
    times = {each["type"]: each["lastTransitionTime"] for each in play.status["conditions"]}
    assert times["Failed"] > times["Initialized"]


def test_conditions_of_others_are_kept() -> None:
    play = Play(training_job("W1"))
    foreign = {"type": "Audited", "status": "True"}
    play.status = {"conditions": [foreign]}
    play.go(pod())
    assert foreign in play.status["conditions"]


def test_tasks_are_in_the_order_of_the_spec() -> None:
    play = Play(training_job("W2 E1 C1 P1"))
    play.go()
    types = [each["type"] for each in play.status["tasks"]]
    assert types == ["worker", "evaluator", "chief", "ps"]
    assert play.aggregate() == {"creating": 5}


def test_replica_that_succeeded_stays_so_when_its_pod_is_gone() -> None:
    play = Play(training_job("W2"))
    play.go(pod("worker", 0), pod("worker", 1, "Succeeded"))
    plan = play.go(pod("worker", 0))
    assert plan.creates == []
    assert play.replica("worker", 1)["phase"] == "Succeeded"
    assert play.replica("worker", 1)["containers"][0]["exitCode"] == 0


def test_pod_that_vanished_is_being_created_again() -> None:
    play = Play(training_job("W2"))
    play.go(*pods(worker=2))
    play.go(pod("worker", 0))
    assert play.replica("worker", 1) == {
        "name": pod("worker", 1).metadata.name,
        "phase": "Creating",
    }


def test_containers_are_shown_as_they_are() -> None:
    play = Play(training_job("W2"))
    play.go(pod("worker", 0), pod("worker", 1, "Pending"))
    assert play.replica("worker", 0)["containers"] == [{"name": "tensorflow", "state": "Running"}]
    assert play.replica("worker", 1)["containers"] == [{"name": "tensorflow", "state": "Waiting"}]


def test_widest_job_fits_into_an_object() -> None:
    given = training_job("W5000")
    given["metadata"]["name"] = "a" * 42
    play = Play(given)
    play.go()
    uid = "12345678-1234-1234-1234-123456789012"
    entry = {
        "name": f"{'a' * 42}-12345-worker-4999",
        "uid": uid,
        "phase": "Succeeded",
        "containers": [{"name": "tensorflow", "state": "Terminated", "exitCode": 0}],
    }
    assert 5000 * len(str(entry)) < 1_250_000


@given(JSON)
def test_any_status_is_read_and_written(status: Any) -> None:
    play = Play(training_job("W2"))
    play.status = status
    play.go(pod("worker", 0, "Failed"))
    assert play.status["phase"]


PARTS = st.dictionaries(
    st.sampled_from(["phase", "conditions", "tasks", "tensorboard", "startTime", "progress"]),
    JSON
    | st.lists(
        st.dictionaries(
            st.sampled_from(["type", "status", "lastTransitionTime", "replicas", "recentRestarts"]),
            JSON | st.sampled_from(["worker", "Paused", "Failed", "True", "False"]),
        )
    ),
)


@settings(max_examples=40)
@given(PARTS)
def test_any_part_of_a_status_is_read_and_written(status: Any) -> None:
    play = Play(training_job("W2", tensorboardSpec={"image": "i"}))
    play.status = status
    play.go(pod("worker", 0, "Failed"))
    assert play.status["phase"]
