"""The action for a replica, given its pod, its policy and the stored record."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, a_job, a_pod, at, pods
from tfjob.core import restart_policy
from tfjob.core.exit_codes import ExitCodes
from tfjob.core.job import Job
from tfjob.core.observe import Children, ReplicaInstance, observe
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.status import PodRecord, RecordCause, ReplicaStatus
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, PodCondition, Running

NOTHING = ReplicaStatus()
FIVE_MINUTES = timedelta(minutes=5)


def ruled(job: Job, **semantics: Any) -> Job:
    return msgspec.structs.replace(
        job, semantics=msgspec.structs.replace(job.semantics, **semantics)
    )


def slot_of(job: Job, pod: Pod) -> ReplicaInstance:
    instances = observe(job, Children(pods=[pod])).all_instances()
    return next(instance for instance in instances if instance.pod is not None)


def action_of(job: Job, pod: Pod, stored: ReplicaStatus = NOTHING) -> ReplicaAction:
    return restart_policy.action_for(slot_of(job, pod), semantics=job.semantics, stored=stored)


def instances_of(*found: Pod) -> dict[int, ReplicaInstance]:
    """Slots by index, in the order of these pods."""
    seen = observe(a_job("W3", restart="OnFailure"), Children(pods=found)).all_instances()
    by_uid = {instance.pod.metadata.uid: instance for instance in seen if instance.pod is not None}
    ordered = [by_uid[pod.metadata.uid] for pod in found]
    return {instance.index: instance for instance in ordered}


def recorded_as(uid: str, *, streak: int = 1, seconds: float = 0, index: int = 0) -> ReplicaStatus:
    entry = PodRecord(index=index, uid=uid, streak=streak, at=at(seconds))
    return ReplicaStatus(records=(entry,))


@pytest.mark.parametrize(
    ("policy", "letter", "expected"),
    [
        ("Always", "F", ReplicaAction.RESTART),
        ("Always", "K", ReplicaAction.RESTART),
        ("Always", "T", ReplicaAction.AWAIT_DELETION),
        ("Always", "S", ReplicaAction.KEEP),
        ("OnFailure", "F", ReplicaAction.RESTART),
        ("OnFailure", "T", ReplicaAction.AWAIT_DELETION),
        ("OnFailure", "S", ReplicaAction.KEEP),
        ("OnFailure", "R", ReplicaAction.KEEP),
        ("OnFailure", "P", ReplicaAction.KEEP),
        ("OnFailure", "U", ReplicaAction.KEEP),
        ("ExitCode", "F", ReplicaAction.FAIL_JOB_ON_EXIT_CODE),
        ("ExitCode", "K", ReplicaAction.RESTART),
        ("ExitCode", "T", ReplicaAction.AWAIT_DELETION),
        ("Never", "F", ReplicaAction.FAIL_JOB),
        ("Never", "K", ReplicaAction.FAIL_JOB),
        ("Never", "T", ReplicaAction.FAIL_JOB),
        ("Never", "R", ReplicaAction.KEEP),
        ("Never", "S", ReplicaAction.KEEP),
    ],
)
def test_the_policy_and_the_pod_decide(policy: str, letter: str, expected: ReplicaAction) -> None:
    (pod,) = pods(worker=letter)
    assert action_of(a_job("W1", restart=policy), pod) is expected


def test_a_replica_without_a_pod_is_kept_and_a_leaving_one_ignored() -> None:
    job = a_job("W1", restart="Never")
    empty = observe(job, Children()).all_instances()[0]
    assert (
        restart_policy.action_for(empty, semantics=job.semantics, stored=NOTHING)
        is ReplicaAction.KEEP
    )
    leaving = slot_of(job, a_pod("worker", 0, "Failed", exit_code=1))
    leaving.is_obsolete = True
    assert (
        restart_policy.action_for(leaving, semantics=job.semantics, stored=NOTHING)
        is ReplicaAction.IGNORE
    )


@pytest.mark.parametrize("phase", ["Pending", "Unknown"])
@pytest.mark.parametrize(
    ("policy", "expected"),
    [("Never", ReplicaAction.IGNORE), ("Always", ReplicaAction.AWAIT_DELETION)],
)
def test_a_pod_taken_before_it_ran_never_fails_the_job(
    policy: str, expected: ReplicaAction, phase: str
) -> None:
    assert action_of(a_job("W1", restart=policy), a_pod("worker", 0, phase, deleted=-5)) is expected


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(phase="Failed", pod_reason="Evicted"), id="evicted"),
        pytest.param(a_pod(phase="Failed", pod_reason="NodeLost"), id="node-lost"),
        pytest.param(a_pod(phase="Failed", pod_reason="NodeShutdown"), id="node-shutdown"),
        pytest.param(a_pod(phase="Failed", pod_reason="Shutdown"), id="shutdown"),
        pytest.param(a_pod(phase="Failed", pod_reason="Preempting"), id="preempting"),
        pytest.param(a_pod(phase="Failed", pod_reason="Terminated"), id="terminated"),
        pytest.param(
            a_pod(
                phase="Failed",
                exit_code=137,
                conditions=[PodCondition(type="DisruptionTarget", status="True")],
            ),
            id="disruption-target",
        ),
        pytest.param(
            a_pod(phase="Failed", exit_code=143, deleted=-10, ran=(-50, -5)), id="deleted"
        ),
        pytest.param(a_pod(phase="Failed", deleted=-10), id="deleted-without-an-exit-code"),
        pytest.param(
            a_pod(phase="Failed", exit_code=143, deleted=-10, ran=(-50, -10)),
            id="ended-in-the-second-of-its-deletion",
        ),
    ],
)
@pytest.mark.parametrize("policy", ["Always", "OnFailure", "ExitCode"])
def test_disrupted_pod_is_replaced_and_not_counted(policy: str, pod: Pod) -> None:
    assert action_of(a_job("W1", restart=policy), pod) is ReplicaAction.REPLACE


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(phase="Failed", exit_code=137, pod_reason="OOMKilled"), id="own-reason"),
        pytest.param(
            a_pod(
                phase="Failed",
                exit_code=137,
                conditions=[PodCondition(type="DisruptionTarget", status="False")],
            ),
            id="no-disruption-after-all",
        ),
        pytest.param(
            a_pod(phase="Failed", exit_code=137, deleted=-10, ran=(-50, -20)),
            id="failed-before-it-was-deleted",
        ),
    ],
)
def test_failure_of_the_program_is_counted(pod: Pod) -> None:
    assert action_of(a_job("W1", restart="OnFailure"), pod) is ReplicaAction.RESTART


def test_an_end_may_be_permanent_by_its_reason() -> None:
    codes = ExitCodes(at_least=128, permanent_reasons=frozenset({"OOMKilled"}))
    job = ruled(a_job("W1", restart="ExitCode"), exit_codes=codes)
    killed = a_pod("worker", 0, "Failed", exit_code=137, reason="OOMKilled")
    assert action_of(job, killed) is ReplicaAction.FAIL_JOB_ON_EXIT_CODE
    assert action_of(job, a_pod("worker", 0, "Failed", exit_code=137)) is ReplicaAction.RESTART


def test_where_evictions_count_only_a_deletion_is_spared() -> None:
    job = ruled(a_job("W1", restart="ExitCode"), counts_evictions=True)
    assert action_of(job, a_pod(phase="Failed", pod_reason="Evicted")) is ReplicaAction.RESTART
    assert action_of(job, a_pod(phase="Failed", exit_code=143, deleted=-9)) is ReplicaAction.REPLACE


def test_recorded_restart_is_not_counted_again() -> None:
    job = a_job("W2", restart="OnFailure")
    pod = a_pod("worker", 1, "Failed", exit_code=1, uid="x")
    assert action_of(job, pod, recorded_as("x", index=1)) is ReplicaAction.RESTARTING
    assert action_of(job, pod, recorded_as("y", index=1)) is ReplicaAction.RESTART
    assert action_of(job, pod, recorded_as("x", index=0)) is ReplicaAction.RESTART


def test_restart_policy_never_may_survive_disruptions() -> None:
    job = ruled(a_job("W2", restart="Never"), never_policy_survives_disruption=True)
    assert action_of(job, a_pod("worker", 1, deleted=-5)) is ReplicaAction.AWAIT_DELETION
    assert (
        action_of(job, a_pod("worker", 1, "Failed", exit_code=143, deleted=-5))
        is ReplicaAction.REPLACE
    )
    assert action_of(job, a_pod("worker", 1, "Failed", exit_code=1)) is ReplicaAction.FAIL_JOB


@pytest.mark.parametrize("policy", ["Never", "ExitCode"])
def test_where_only_the_decider_fails_the_job_others_are_tolerated(policy: str) -> None:
    job = ruled(a_job("W2", restart=policy), only_decisive_replica_fails_job=True)
    failing = {ReplicaAction.FAIL_JOB, ReplicaAction.FAIL_JOB_ON_EXIT_CODE}
    assert action_of(job, a_pod("worker", 0, "Failed", exit_code=1)) in failing
    assert action_of(job, a_pod("worker", 1, "Failed", exit_code=1)) is ReplicaAction.TOLERATE


def test_a_tolerant_type_is_tolerated_also_when_its_pod_is_taken() -> None:
    job = a_job("W2", restart="Never", enableDynamicWorker=True)
    assert action_of(job, a_pod("worker", 1, deleted=-5)) is ReplicaAction.TOLERATE


def restarting_on_success(job: Job) -> Job:
    replicas = [msgspec.structs.replace(each, restarts_on_success=True) for each in job.replicas]
    return msgspec.structs.replace(job, replicas=replicas)


def test_a_success_is_restarted_where_the_type_says_so_but_not_the_deciders() -> None:
    job = restarting_on_success(a_job("W2"))
    done = a_pod("worker", 1, "Succeeded", exit_code=0, uid="x")
    assert action_of(job, done) is ReplicaAction.RESTART
    assert action_of(job, done, recorded_as("x", index=1)) is ReplicaAction.RESTARTING
    assert action_of(job, a_pod("worker", 0, "Succeeded", exit_code=0)) is ReplicaAction.KEEP


def actions_of(job: Job, letters: str) -> list[tuple[ReplicaInstance, ReplicaAction]]:
    instances = observe(job, Children(pods=pods(worker=letters))).all_instances()
    return [
        (instance, restart_policy.action_for(instance, semantics=job.semantics, stored=NOTHING))
        for instance in instances
    ]


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (
            None,
            [
                ReplicaAction.RESTART,
                ReplicaAction.KEEP,
                ReplicaAction.RESTART,
                ReplicaAction.RESTART,
            ],
        ),
        (
            3,
            [
                ReplicaAction.RESTART,
                ReplicaAction.KEEP,
                ReplicaAction.RESTART,
                ReplicaAction.RESTART,
            ],
        ),
        (2, [ReplicaAction.RESTART, ReplicaAction.KEEP, ReplicaAction.RESTART, ReplicaAction.HOLD]),
        (1, [ReplicaAction.RESTART, ReplicaAction.KEEP, ReplicaAction.HOLD, ReplicaAction.HOLD]),
        (0, [ReplicaAction.HOLD, ReplicaAction.KEEP, ReplicaAction.HOLD, ReplicaAction.HOLD]),
    ],
)
def test_the_first_replicas_get_the_restarts_that_backoff_limit_leaves(
    left: int | None, expected: list[ReplicaAction]
) -> None:
    job = a_job("W4", restart="OnFailure")
    judged = restart_policy.apply_backoff_limit(
        actions_of(job, "FRFF"), left=left, semantics=job.semantics
    )
    assert [each for _, each in judged] == expected


def test_at_a_limit_that_only_stops_restarts_only_the_decisive_replica_fails_the_job() -> None:
    job = ruled(a_job("W2", restart="OnFailure"), backoff_limit_fails_job=False)
    judged = restart_policy.apply_backoff_limit(
        actions_of(job, "FF"), left=0, semantics=job.semantics
    )
    assert [each for _, each in judged] == [ReplicaAction.FAIL_JOB, ReplicaAction.TOLERATE]


def test_the_first_record_of_an_index_starts_a_streak() -> None:
    pod = a_pod("worker", 1, "Failed", exit_code=1, uid="x")
    entries = restart_policy.records_after_replacement(
        instances_of(pod), stored=recorded_as("other"), now=at(0.7)
    )
    assert entries == (
        PodRecord(index=0, uid="other", streak=1, at=NOW),
        PodRecord(index=1, uid="x", streak=1, at=NOW),
    )


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_pod_that_has_not_ended_is_never_recorded_as_failed(phase: str) -> None:
    pod = a_pod("worker", 0, phase, uid="x")
    (entry,) = restart_policy.records_after_replacement(instances_of(pod), stored=NOTHING, now=NOW)
    assert entry.cause is RecordCause.DISRUPTED


def test_restarts_of_one_reconcile_are_recorded_together_in_their_order() -> None:
    again = [a_pod("worker", index, "Failed", uid=f"w{index}") for index in (0, 2, 1)]
    entries = restart_policy.records_after_replacement(
        instances_of(*again), stored=recorded_as("old", streak=1), now=NOW
    )
    assert [(each.index, each.uid, each.streak) for each in entries] == [
        (0, "w0", 2),
        (2, "w2", 1),
        (1, "w1", 1),
    ]


@pytest.mark.parametrize(
    ("ran", "streak"), [((-700, -101), 4), ((-700, -100), 1), ((-1000, -1), 1), ((-5, -1), 4)]
)
def test_a_streak_continues_unless_the_container_ran_ten_minutes(
    ran: tuple[float, float], streak: int
) -> None:
    pod = a_pod("worker", 0, "Failed", exit_code=1, uid="x", ran=ran)
    (entry,) = restart_policy.records_after_replacement(
        instances_of(pod), stored=recorded_as("w", streak=3), now=NOW
    )
    assert (entry.streak, entry.uid, entry.at) == (streak, "x", NOW)


@pytest.mark.parametrize(("now", "streak"), [(545, 1), (544, 4)])
def test_a_pod_without_exit_ran_from_its_start_until_now(now: float, streak: int) -> None:
    failed = a_pod("worker", 0, "Failed", pod_reason="DeadlineExceeded")
    (entry,) = restart_policy.records_after_replacement(
        instances_of(failed), stored=recorded_as("w", streak=3), now=at(now)
    )
    assert entry.streak == streak


def test_a_pod_that_never_started_did_not_run_steadily() -> None:
    pod = a_pod("worker", 0, "Failed")
    unstarted = msgspec.structs.replace(
        pod, status=msgspec.structs.replace(pod.status, start_time=None)
    )
    stored = recorded_as("w", streak=1)
    (entry,) = restart_policy.records_after_replacement(
        instances_of(unstarted), stored=stored, now=at(9999)
    )
    assert entry.streak == 2


@pytest.mark.parametrize(
    ("streak", "delay"),
    [(0, 0), (1, 0), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (7, 300), (8, 300), (99, 300)],
)
def test_the_delay_doubles_with_the_streak_up_to_five_minutes(streak: int, delay: int) -> None:
    stored = recorded_as("u", streak=streak)
    due = restart_policy.backoff_until(stored, 0, now=NOW, max_delay=FIVE_MINUTES)
    assert due == (at(delay) if delay else None)
    assert restart_policy.backoff_until(stored, 0, now=at(delay), max_delay=FIVE_MINUTES) is None
    assert restart_policy.backoff_until(stored, 1, now=NOW, max_delay=FIVE_MINUTES) is None


def test_the_longest_delay_is_a_rule_of_the_dialect() -> None:
    stored = recorded_as("u", streak=8)
    assert restart_policy.backoff_until(stored, 0, now=NOW, max_delay=timedelta(seconds=360)) == at(
        360
    )


def test_restart_recorded_in_the_future_delays_nothing() -> None:
    stored = recorded_as("u", streak=5, seconds=1)
    assert restart_policy.backoff_until(stored, 0, now=NOW, max_delay=FIVE_MINUTES) is None


def test_a_running_container_is_no_exit() -> None:
    running = ContainerStatus(name="tensorflow", state=ContainerState(running=Running()))
    pod = a_pod("worker", 0, "Failed", others=[running])
    assert action_of(a_job("W1", restart="ExitCode"), pod) is ReplicaAction.RESTART


def recorded(pod: Pod, *, uid: str = "gone", now: float) -> int:
    """How many restarts of worker 0 are still recorded if this is its pod."""
    instances = observe(a_job("W1"), Children(pods=[pod])).all_instances()
    stored = recorded_as(uid, streak=3)
    return len(
        restart_policy.unexpired_records(
            stored, instances, existing={pod.metadata.uid}, now=at(now)
        )
    )


@pytest.mark.parametrize(("now", "expected"), [(544, 1), (545, 0)])
def test_a_restart_is_recorded_until_the_next_pod_has_run_ten_minutes(
    now: float, expected: int
) -> None:
    assert recorded(a_pod(), now=now) == expected


@pytest.mark.parametrize(("now", "expected"), [(899, 1), (900, 0)])
def test_a_slow_start_of_the_container_is_no_steady_run(now: float, expected: int) -> None:
    state = ContainerState(running=Running(started_at="2026-01-02T03:09:05Z"))
    late = a_pod(others=[ContainerStatus(name="tensorflow", state=state)])
    assert recorded(late, now=now) == expected


@pytest.mark.parametrize("pod", [*pods(worker="P"), *pods(worker="U"), *pods(worker="T")])
def test_a_restart_is_recorded_while_the_next_pod_does_not_run(pod: Pod) -> None:
    assert recorded(pod, now=9999) == 1


def test_a_restart_is_recorded_while_its_pod_exists() -> None:
    assert recorded(a_pod(uid="x"), uid="x", now=9999) == 1
