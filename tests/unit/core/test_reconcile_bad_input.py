"""Malformed stored or reported data never raises and leads to a sane plan."""

from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    at,
    conditions_of,
    created_names,
    decide,
    deleted_names,
    manifest,
    pods,
    status_after,
)
from tfjob.core.plan import Plan
from tfjob.dialects.base import Settings
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, PodStatus, Terminated

TIMES = [
    "",
    "soon",
    "2026-01-02T03:04:05",
    "2026-01-02T03:04:05.123456789Z",
    "2026-01-02T03:04:05+14:00",
    "2026-01-02T03:04:05-12:00",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-02-30T00:00:00Z",
    "1",
]
POLICIES = ["Never", "OnFailure", "Always", "ExitCode"]
LABELS = a_pod("worker", 0).metadata.labels


def a_strange_pod(moment: str, phase: str, code: int) -> Pod:
    """A pod all of whose times are this text."""
    ended = Terminated(exit_code=code, started_at=moment, finished_at=moment)
    status = ContainerStatus(name="tensorflow", state=ContainerState(terminated=ended))
    return Pod(
        metadata=ObjectMeta(
            name="j-worker-0",
            uid="u",
            labels=LABELS,
            creation_timestamp=moment,
            deletion_timestamp=moment,
            deletion_grace_period_seconds=30,
        ),
        status=PodStatus(phase=phase, start_time=moment, container_statuses=[status]),
    )


@pytest.mark.parametrize("moment", TIMES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("phase", ["Running", "Failed", "Succeeded"])
def test_times_of_a_pod_may_be_any_text(moment: str, policy: str, phase: str) -> None:
    settings = Settings(force_delete_after=None)
    passes = Passes(manifest("W2", restart=policy, run_policy={"backoffLimit": 3}), settings)
    for seconds in (0, 700):
        plan = passes.go(a_strange_pod(moment, phase, 143), *pods(worker="-R"), now=at(seconds))
        assert created_names(plan, "Pod") == []
        assert deleted_names(plan, "Pod") == []


@pytest.mark.parametrize("moment", TIMES)
def test_times_of_a_stored_status_may_be_any_text(moment: str) -> None:
    condition = {"status": "True", "lastUpdateTime": moment, "lastTransitionTime": moment}
    records = [{"index": 0, "uid": "u", "streak": 9, "time": moment}]
    stored = {
        "conditions": [{"type": "Created", **condition}, {"type": "Suspended", **condition}],
        "replicaStatuses": {"Worker": {"recentRestarts": records}},
        "startTime": moment,
        "completionTime": moment,
        "lastReconcileTime": moment,
    }
    limits = {"activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 5, "backoffLimit": 1}
    for settings in (Settings(), Settings(gang_scheduler_name="volcano")):
        for suspend in (False, True):
            policy = {**limits, "suspend": suspend}
            job = a_job("W2", settings, restart="OnFailure", run_policy=policy, status=stored)
            for letters in ("RR", "TF", "--"):
                plan = decide(job, *pods(worker=letters))
                assert not plan.deletes_job


@pytest.mark.parametrize("moment", TIMES)
def test_a_finished_job_with_an_absurd_end_is_kept_or_goes_and_nothing_else(moment: str) -> None:
    verdict = {"type": "Failed", "status": "True", "lastTransitionTime": moment}
    stored = {"conditions": [verdict], "completionTime": moment}
    job = a_job("W1", run_policy={"ttlSecondsAfterFinished": 60}, status=stored)
    plan = decide(job, *pods(worker="R"))
    assert plan.deletes_job or plan.requeue_at is not None
    assert not plan.creates


def test_a_pod_without_a_status_is_pending() -> None:
    bare = Pod(metadata=a_pod("worker", 0).metadata)
    job = a_job("W1")
    plan = decide(job, bare)
    assert created_names(plan, "Pod") == []
    assert conditions_of(status_after(job, plan)) == ["Created"]


@pytest.mark.parametrize("phase", ["Mystery", "running", " ", "Done"])
@pytest.mark.parametrize("policy", POLICIES)
def test_unknown_phase_is_waited_for(phase: str, policy: str) -> None:
    job = a_job("W2", restart=policy)
    plan = decide(job, *pods(worker="R"), a_pod("worker", 1, phase))
    assert (created_names(plan, "Pod"), plan.deletes) == ([], [])
    status = status_after(job, plan)
    assert conditions_of(status) == ["Created", "Running"]
    assert (status.of("Worker").active, status.of("Worker").failed) == (1, 0)


@pytest.mark.parametrize("index", ["-1", "one", "", "0x0"])
def test_a_pod_with_a_strange_index_is_left_alone(index: str) -> None:
    job = a_job("W1")
    plan = decide(job, *pods(worker="R"), a_pod("worker", index, "Failed", name="stray"))
    assert (created_names(plan, "Pod"), deleted_names(plan, "Pod")) == ([], [])
    assert conditions_of(status_after(job, plan)) == ["Created", "Running"]


@pytest.mark.parametrize("other", ["Running", "Failed", "Succeeded", "Pending"])
def test_a_second_pod_of_one_index_is_ignored_and_not_deleted(other: str) -> None:
    twin = a_pod("worker", 0, other, exit_code=1, name="adopted", created=-999)
    job = a_job("W1", restart="OnFailure")
    plan = decide(job, twin, *pods(worker="R"))
    assert (created_names(plan, "Pod"), deleted_names(plan, "Pod")) == ([], [])
    status = status_after(job, plan)
    assert conditions_of(status) == ["Created", "Running"]
    assert status.of("Worker").active == 1


def test_clock_that_goes_backwards_neither_ends_nor_repeats_anything() -> None:
    limits = {"activeDeadlineSeconds": 60, "backoffLimit": 5, "ttlSecondsAfterFinished": 60}
    passes = Passes(manifest("W2", restart="OnFailure", run_policy=limits))
    passes.go(*pods(worker="RR"))
    failed = a_pod("worker", 1, "Failed", exit_code=1, uid="x")
    passes.go(*pods(worker="R"), failed, now=at(5))
    plan = passes.go(*pods(worker="R"), now=at(-3600))
    assert created_names(plan, "Pod") == ["j-worker-1"]
    assert plan.requeue_at == at(61)
    passes.go(*pods(worker="S"), now=at(-7200))
    plan = passes.go(*pods(worker="S"), now=at(-9999))
    assert not plan.deletes_job
    assert passes.job.status.restarts == 1


def test_a_start_in_the_future_is_waited_for() -> None:
    stored = {"startTime": "2026-01-02T04:04:05Z"}
    job = a_job("W1", run_policy={"activeDeadlineSeconds": 5}, status=stored)
    plan = decide(job, *pods(worker="R"))
    assert plan.requeue_at == at(3606)
    assert status_after(job, plan).is_true("Running")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**40)
    | st.text(max_size=8)
    | st.sampled_from(TIMES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
CONDITION = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["Created", "Running", "Restarting", "Succeeded", "Failed", "Suspended", "Other"]
        )
        | JSON,
        "status": st.sampled_from(["True", "False", "Unknown"]) | JSON,
        "reason": JSON,
        "lastTransitionTime": st.sampled_from(TIMES),
    },
)
NUMBERS = ("active", "succeeded", "failed", "restarts")
MEMORY = ("completedIndexes", "recentRestarts", "selector")
REPLICA = st.fixed_dictionaries({}, optional=dict.fromkeys((*NUMBERS, *MEMORY), JSON))
STATUS = st.fixed_dictionaries(
    {},
    optional={
        "conditions": st.lists(CONDITION, max_size=4) | JSON,
        "replicaStatuses": st.dictionaries(st.sampled_from(["Worker", "PS", "x"]), REPLICA) | JSON,
        "startTime": st.sampled_from(TIMES) | JSON,
        "completionTime": st.sampled_from(TIMES) | JSON,
        "lastReconcileTime": JSON,
    },
)


@given(
    status=STATUS,
    letters=st.text(alphabet="PRUSsFKT-", max_size=4),
    policy=st.sampled_from(POLICIES),
    suspend=st.booleans(),
    now=st.sampled_from([NOW, datetime.max.replace(tzinfo=NOW.tzinfo)]),
)
def test_any_stored_status_gives_a_plan(
    status: Any, letters: str, policy: str, suspend: bool, now: datetime
) -> None:
    limits = {
        "backoffLimit": 2,
        "activeDeadlineSeconds": 9,
        "ttlSecondsAfterFinished": 9,
        "suspend": suspend,
    }
    job = a_job("W2 P1", restart=policy, run_policy=limits, status=status)
    plan = decide(job, *pods(worker=letters), now=now)
    assert isinstance(plan, Plan)
    names = [(each.kind, each.name) for each in plan.creates]
    assert len(set(names)) == len(names)


def test_a_negative_restart_count_is_no_credit() -> None:
    job = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": 0})
    pod = a_pod("worker", 0, restarts=-5)
    assert conditions_of(status_after(job, decide(job, pod))) == ["Created", "Running"]


def test_containers_of_no_name_are_no_training_containers() -> None:
    nameless = msgspec.structs.replace(
        ContainerStatus(state=ContainerState(terminated=Terminated(exit_code=1))), name=""
    )
    job = a_job("W1")
    plan = decide(job, a_pod("worker", 0, others=[nameless]))
    assert conditions_of(status_after(job, plan)) == ["Created", "Running"]
