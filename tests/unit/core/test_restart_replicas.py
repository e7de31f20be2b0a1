"""Records of restarts over the life of a job: what is stored, and when it is pruned."""

from tests.support.builders import a_job, a_pod, decide, deleted_names, manifest, status_after
from tests.support.fake_kubelet import model_kubelet
from tests.support.model_cluster import ModelCluster
from tfjob.core.restart_policy import STABLE_AFTER

STEADILY = STABLE_AFTER.total_seconds()


def restarted(roles: str = "W3", *, failing: int = 2) -> ModelCluster:
    """A cluster in which the first workers of a job have failed once and run again."""
    cluster = ModelCluster(manifest(roles, restart="ExitCode"))
    cluster.run_pass()
    model_kubelet.start_all(cluster)
    cluster.run_pass()
    for index in range(failing):
        model_kubelet.leave(cluster, f"j-worker-{index}", code=137)
    cluster.settle(most=5)
    model_kubelet.start_all(cluster)
    cluster.settle(most=5)
    return cluster


def recorded(cluster: ModelCluster) -> list[int]:
    return [each.index for each in cluster.status.of("Worker").records]


def fail_last(cluster: ModelCluster) -> None:
    """Something else about the workers changes."""
    model_kubelet.leave(cluster, "j-worker-2", code=137)
    cluster.settle(most=5)


def test_records_are_pruned_with_the_next_change_once_replicas_run_stably() -> None:
    cluster = restarted()
    cluster.advance(STEADILY)
    fail_last(cluster)
    assert recorded(cluster) == [2]


def test_restarts_are_recorded_until_their_replicas_run_stably() -> None:
    cluster = restarted()
    cluster.advance(STEADILY - 1)
    fail_last(cluster)
    assert recorded(cluster) == [0, 1, 2]


def test_expired_records_alone_cause_no_write() -> None:
    cluster = restarted()
    cluster.advance(STEADILY)
    assert cluster.run_pass().plan.is_empty
    assert recorded(cluster) == [0, 1]


def test_a_reconcile_that_drops_records_is_followed_by_no_write() -> None:
    cluster = restarted()
    cluster.advance(STEADILY)
    model_kubelet.leave(cluster, "j-worker-2", code=0)
    assert cluster.run_pass().plan.status is not None
    assert recorded(cluster) == []
    assert cluster.run_pass().plan.is_empty


def test_record_of_a_succeeded_replica_is_pruned_at_once() -> None:
    cluster = restarted()
    model_kubelet.leave(cluster, "j-worker-1", code=0)
    cluster.settle(most=5)
    assert recorded(cluster) == [0]


def test_record_of_a_surplus_replica_without_a_pod_is_pruned() -> None:
    cluster = restarted("W2")
    model_kubelet.vanish(cluster, "j-worker-1")
    cluster.scale("Worker", 1)
    cluster.settle(most=5)
    assert recorded(cluster) == [0]


def test_pruned_restart_stays_counted() -> None:
    cluster = restarted()
    cluster.advance(STEADILY)
    fail_last(cluster)
    assert cluster.status.of("Worker").restarts == 3


def test_succeeded_job_has_no_records_of_completed_replicas() -> None:
    cluster = restarted("C1 W3")
    for index in range(3):
        model_kubelet.leave(cluster, f"j-worker-{index}", code=0)
    model_kubelet.leave(cluster, "j-chief-0", code=0)
    cluster.settle(most=5)
    assert cluster.status.is_finished
    assert recorded(cluster) == []


def test_restarts_in_place_that_reach_the_limit_stay_recorded_when_their_pod_is_deleted() -> None:
    job = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": 2})
    plan = decide(job, a_pod("worker", 0, restarts=2))
    status = status_after(job, plan)
    assert status.is_finished
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert [each.in_place for each in status.of("Worker").records] == [2]
