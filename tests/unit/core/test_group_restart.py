"""Recovery mode Group: one incident restarts a coupled group, together and once."""

import msgspec
import pytest

from tests.support.builders import a_pod, at, created_names, deleted_names, manifest, pods
from tests.unit.core.group_passes import (
    LOST,
    crash_loop,
    failed,
    generation,
    in_place,
    just_ended,
    records,
    restarts,
    running,
)
from tfjob.core.diagnosis.diagnosis import names
from tfjob.core.plan import Rule
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.k8s import time
from tfjob.k8s.pod import Pod


def test_a_lost_worker_restarts_all_others_at_once() -> None:
    passes = running()
    plan = passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    assert sorted((each.name, each.rule) for each in plan.deletes) == [
        ("j-worker-0", Rule.GROUP_RESTART),
        ("j-worker-1", Rule.RESTART_POLICY),
        ("j-worker-2", Rule.GROUP_RESTART),
    ]
    assert plan.writes_status_first
    assert records(passes) == {
        "uid-j-worker-0": ("Group", LOST),
        "uid-j-worker-1": ("Failed", LOST),
        "uid-j-worker-2": ("Group", LOST),
    }


@pytest.mark.parametrize(
    ("seen", "restarts_before"),
    [
        ([just_ended(1, 2)], 0),
        ([just_ended(1, 2, restarts=3)], 3),
        ([crash_loop(1, 2, restarts=1)], 1),
        ([in_place(1, 2)], 0),
        ([just_ended(1, 2), in_place(1, 2)], 0),
    ],
    ids=["ended", "ended again", "waits", "runs again", "ended, then runs again"],
)
def test_a_container_that_ends_in_its_pod_restarts_the_group_and_counts_once(
    seen: list[Pod], restarts_before: int
) -> None:
    passes = running(restart="OnFailure")
    plans = [
        passes.go(*pods(worker="R-R"), each, now=at(3 + second)) for second, each in enumerate(seen)
    ]
    assert deleted_names(plans[0], "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert restarts(passes) == restarts_before + 1


def test_a_container_that_ends_alone_is_left_to_the_kubelet() -> None:
    passes = running(restart="OnFailure", found=pods(worker="R"), roles="W1")
    plan = passes.go(just_ended(0, 2), now=at(3))
    assert (deleted_names(plan, "Pod"), restarts(passes)) == ([], 0)


def test_a_container_that_cannot_start_is_left_to_the_kubelet() -> None:
    """The kubelet restarts it after growing delays; nobody misses it."""
    passes = running(restart="OnFailure")
    plan = passes.go(*pods(worker="R-R"), just_ended(1, 2, code=127), now=at(3))
    assert (deleted_names(plan, "Pod"), restarts(passes)) == ([], 0)


def test_containers_that_end_together_are_one_restart_and_one_group() -> None:
    """The first was killed, the second only followed it, the third still runs."""
    passes = running(restart="OnFailure", run_policy={"backoffLimit": 1})
    ended = [just_ended(1, 2), just_ended(2, 3, code=1)]
    plan = passes.go(*pods(worker="R"), *ended, now=at(4))
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert (restarts(passes), passes.job.status.is_finished) == (1, False)
    assert {incident for _, incident in records(passes).values()} == {LOST}


def test_at_the_backoff_limit_a_container_that_ends_in_its_pod_fails_the_job() -> None:
    passes = running(restart="OnFailure", run_policy={"backoffLimit": 0})
    passes.go(*pods(worker="R-R"), just_ended(1, 2), now=at(3))
    assert passes.job.status.is_finished


def test_one_incident_counts_one_restart() -> None:
    passes = running(run_policy={"backoffLimit": 1})
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    assert restarts(passes) == 1
    ended = [failed("worker", 0, 1, 4, deleted=3), failed("worker", 2, 143, 4, deleted=3)]
    passes.go(*ended, now=at(5))
    passes.go(now=at(6))
    assert (restarts(passes), passes.job.status.is_finished) == (1, False)


@pytest.mark.parametrize("mode", ["Auto", "Replica"])
def test_in_other_modes_those_that_run_are_left_alone(mode: str) -> None:
    passes = running(mode=mode)
    plan = passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    assert deleted_names(plan, "Pod") == ["j-worker-1"]
    assert records(passes) == {"uid-j-worker-1": ("Failed", "")}


def test_the_new_group_is_created_together_when_the_last_old_pod_is_gone() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    going = a_pod("worker", 0, deleted=3)
    assert created_names(passes.go(going, now=at(5)), "Pod") == []
    plan = passes.go(now=at(9))
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert [each.rule for each in plan.creates if each.kind == "Pod"] == [
        Rule.GROUP_RESTART,
        Rule.RESTART_POLICY,
        Rule.GROUP_RESTART,
    ]


def test_a_restart_that_was_stored_and_not_carried_out_is_finished() -> None:
    """As after a crash of the operator between storing and deleting."""
    passes = running()
    found = [*pods(worker="R-R"), failed("worker", 1, 137, 2)]
    passes.go(*found, now=at(3))
    before = passes.job.status
    plan = passes.go(*found, now=at(4))
    assert sorted(deleted_names(plan, "Pod")) == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert passes.job.status.replicas == before.replicas


def test_the_new_group_is_not_restarted_for_the_same_incident() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    fresh = [a_pod("worker", index, uid=f"new-{index}") for index in range(3)]
    plan = passes.go(*fresh, now=at(20))
    assert plan.deletes == []
    assert plan.creates == []


def test_the_group_waits_for_the_delay_of_the_replica_that_fails_again_and_again() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    passes.go(now=at(9))
    fresh = [a_pod("worker", index, uid=f"new-{index}") for index in (0, 2)]
    plan = passes.go(*fresh, failed("worker", 1, 137, 12, uid="new-1"), now=at(13))
    assert sorted(deleted_names(plan, "Pod")) == ["j-worker-0", "j-worker-2"]
    assert plan.requeue_at == at(23)
    kept = failed("worker", 1, 137, 12, uid="new-1")
    assert created_names(passes.go(kept, now=at(15)), "Pod") == []
    assert deleted_names(passes.go(kept, now=at(23)), "Pod") == ["j-worker-1"]
    assert len(created_names(passes.go(now=at(24)), "Pod")) == 3


@pytest.mark.parametrize("kind", ["failed", "deleted", "in place"])
@pytest.mark.parametrize("rotates", [True, False])
def test_a_group_that_is_restarted_again_and_again_waits_longer_and_longer(
    kind: str, rotates: bool
) -> None:
    """Whichever of its replicas is lost, and however."""
    passes = running(restart="OnFailure")
    delays = []
    for number in range(5):
        index, when = (number % 3 if rotates else 1), 1000.0 * number
        started = time.render(at(when - 60))
        uid = f"{number}-{index}"
        lost = {
            "failed": a_pod(
                "worker", index, "Failed", exit_code=137, ran=(when - 60, when), uid=uid
            ),
            "deleted": a_pod("worker", index, deleted=when, uid=uid),
            "in place": in_place(index, when, uid=uid),
        }[kind]
        found = [fresh(each, started) for each in generation(number, lost)]
        passes.go(*found, now=at(when + 1))
        streaks = {each.streak for each in passes.job.status.of("Worker").records}
        assert streaks == {number + 1}
        plan = passes.go(now=at(when + 2))
        until = None if created_names(plan, "Pod") else plan.requeue_at
        delays.append(0 if until is None else (until - at(when + 1)).total_seconds())
        later = passes.go(now=at(when + 400))
        assert len(created_names(later, "Pod")) == 3
    assert delays == [0, 10, 20, 40, 80]


def fresh(pod: Pod, started: str) -> Pod:
    status = msgspec.structs.replace(pod.status, start_time=started)
    return msgspec.structs.replace(pod, status=status)


def test_a_run_of_ten_minutes_ends_the_streak_of_the_group() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    passes.go(now=at(9))
    passes.go(*generation(1, a_pod("worker", 0, deleted=3000, uid="1-0")), now=at(3001))
    assert {each.streak for each in passes.job.status.of("Worker").records} == {1}
    assert len(created_names(passes.go(now=at(3002)), "Pod")) == 3


def test_a_replica_that_joins_a_restart_does_not_lengthen_the_delay() -> None:
    passes = running()
    passes.go(*pods(worker="R-P"), failed("worker", 1, 137, 2), now=at(3))
    passes.go(a_pod("worker", 0, deleted=3), a_pod("worker", 2), now=at(5))
    assert {each.streak for each in passes.job.status.of("Worker").records} == {1}


def test_exit_code_0_after_the_restart_was_decided_is_no_success() -> None:
    """Collective programs catch SIGTERM and may exit with 0."""
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    ended = a_pod("worker", 0, "Succeeded", exit_code=0, ran=(-50, 8), deleted=3)
    passes.go(ended, now=at(9))
    assert passes.job.status.of("Worker").completed == frozenset()
    assert not passes.job.status.is_finished


@pytest.mark.parametrize("skew", [-3600, -10, 0, 10, 3600])
@pytest.mark.parametrize("grace", [30, 0])
@pytest.mark.parametrize("is_seen", [True, False])
def test_no_clock_of_a_node_makes_an_end_by_deletion_a_success(
    skew: float, grace: int, is_seen: bool
) -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    if is_seen:
        passes.go(a_pod("worker", 0, deleted=3), now=at(4))
    ran = (-50 + skew, 8 + skew)
    ended = a_pod("worker", 0, exit_code=0, ran=ran, deleted=3, grace=grace)
    passes.go(ended, now=at(9))
    assert passes.job.status.of("Worker").completed == frozenset()
    assert not passes.job.status.is_finished


@pytest.mark.parametrize("skew", [-3600, 3600])
@pytest.mark.parametrize(("known", "is_success"), [(1, True), (2, False)])
def test_the_generation_proves_that_a_replica_ended_before_its_deletion(
    skew: float, known: int, is_success: bool
) -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    pod = a_pod("worker", 0, "Succeeded", exit_code=0, ran=(-50, 2 + skew), deleted=3)
    meta = msgspec.structs.replace(pod.metadata, generation=2)
    status = msgspec.structs.replace(pod.status, observed_generation=known)
    passes.go(msgspec.structs.replace(pod, metadata=meta, status=status), now=at(9))
    assert passes.job.status.is_true("Succeeded") is is_success


def test_a_success_before_the_deletion_was_requested_stays_one() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    passes.go(a_pod("worker", 2, "Succeeded", exit_code=0, ran=(-50, 2)), now=at(4))
    assert passes.job.status.of("Worker").completed == frozenset({2})
    plan = passes.go(a_pod("worker", 2, "Succeeded", exit_code=0, ran=(-50, 2)), now=at(5))
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert plan.deletes == []


def test_the_diagnosis_names_one_incident_and_those_that_followed() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    ended = [failed("worker", 0, 143, 4, deleted=3), failed("worker", 2, 137, 33, deleted=3)]
    passes.go(*ended, now=at(34))
    passes.go(now=at(120))
    found = passes.job.status.diagnosis
    assert found is not None
    (incident,) = found.incidents
    assert (found.incident_count, found.replica) == (1, "worker-1")
    assert names(incident.consequences) == ["worker-0", "worker-2"]


def test_a_worker_that_was_deleted_restarts_its_group_and_nothing_counts() -> None:
    passes = running()
    plan = passes.go(*pods(worker="RTR"), now=at(3))
    assert sorted(deleted_names(plan, "Pod")) == ["j-worker-0", "j-worker-2"]
    assert records(passes)["uid-j-worker-1"] == ("Disrupted", LOST)
    assert restarts(passes) == 0


@pytest.mark.parametrize("is_seen", [True, False])
def test_exit_code_0_is_a_loss_if_it_is_first_seen_with_an_eviction(is_seen: bool) -> None:
    """A kubelet may evict a pod between the end of its container and that of the pod."""
    passes = running()
    if is_seen:
        passes.go(*pods(worker="R-R"), a_pod("worker", 1, exit_code=0, ran=(-50, 2)), now=at(2))
    evicted = a_pod("worker", 1, "Failed", exit_code=0, ran=(-50, 2), pod_reason="Evicted")
    plan = passes.go(*pods(worker="R-R"), evicted, now=at(3))
    assert passes.job.status.of("Worker").completed == (frozenset({1}) if is_seen else frozenset())
    deleted = [] if is_seen else ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert sorted(deleted_names(plan, "Pod")) == deleted
    assert restarts(passes) == 0


def test_two_losses_are_one_restart_of_the_group() -> None:
    passes = running()
    found = [failed("worker", 1, 137, 2), failed("worker", 2, 137, 2)]
    plan = passes.go(*pods(worker="R"), *found, now=at(3))
    assert len(deleted_names(plan, "Pod")) == 3
    assert {incident for _, incident in records(passes).values()} == {LOST}
    assert restarts(passes) == 2


@pytest.mark.parametrize(
    "lost",
    [
        a_pod("worker", 1, "Pending", deleted=2),
        failed("worker", 1, 128, 2, reason="StartError"),
        a_pod("worker", 1, "Failed", pod_reason="OutOfcpu"),
    ],
)
def test_a_worker_that_never_ran_is_not_missed(lost: Pod) -> None:
    passes = running("W3", pods(worker="R-R"), restart="OnFailure")
    plan = passes.go(*pods(worker="R-R"), lost, now=at(3))
    assert not {"j-worker-0", "j-worker-2"} & set(deleted_names(plan, "Pod"))


def test_a_worker_that_has_not_started_is_not_restarted() -> None:
    passes = running()
    plan = passes.go(*pods(worker="R-P"), failed("worker", 1, 137, 2), now=at(3))
    assert sorted(deleted_names(plan, "Pod")) == ["j-worker-0", "j-worker-1"]


def test_a_worker_that_starts_while_its_group_is_restarted_is_restarted_too() -> None:
    """It would meet old replicas."""
    passes = running()
    passes.go(*pods(worker="R-P"), failed("worker", 1, 137, 2), now=at(3))
    old = a_pod("worker", 0, deleted=3)
    plan = passes.go(old, a_pod("worker", 2), now=at(5))
    assert deleted_names(plan, "Pod") == ["j-worker-2"]
    assert records(passes)["uid-j-worker-2"] == ("Group", LOST)
    assert restarts(passes) == 1


def test_a_permanent_failure_fails_the_job_and_restarts_nothing() -> None:
    passes = running()
    plan = passes.go(*pods(worker="R-R"), failed("worker", 1, 1, 2), now=at(3))
    assert passes.job.status.is_true("Failed")
    assert deleted_names(plan, "Pod") == []


def test_at_the_backoff_limit_the_job_fails_and_restarts_nothing() -> None:
    passes = running(run_policy={"backoffLimit": 0})
    passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    assert passes.job.status.is_true("Failed")
    assert records(passes) == {}


@pytest.mark.parametrize("restart", ["Never", "Always"])
def test_without_a_policy_that_survives_losses_there_are_no_groups(restart: str) -> None:
    passes = running(restart=restart)
    plan = passes.go(*pods(worker="RTR"), now=at(3))
    assert deleted_names(plan, "Pod") == []


def test_a_suspension_forgets_the_group() -> None:
    given_passes = running()
    given_passes.go(*pods(worker="R-R"), failed("worker", 1, 137, 2), now=at(3))
    suspended = manifest("W3", restart="ExitCode", run_policy={"suspend": True})
    suspended["metadata"]["annotations"] = {RECOVERY: "Group"}
    given_passes.edit(suspended)
    given_passes.go(a_pod("worker", 0, deleted=3), now=at(5))
    assert records(given_passes) == {}
