"""Minimal histories that once violated an invariant."""

import pytest

from tests.support.builders import manifest
from tests.support.fake_kubelet import model_kubelet
from tests.support.model_cluster import ModelCluster, is_ended
from tfjob.core.status import ConditionType


def running(roles: str, restart: str, **run_policy: object) -> ModelCluster:
    """A cluster in which the job's pods have started and the operator has seen it."""
    cluster = ModelCluster(manifest(roles, restart=restart, run_policy=run_policy))
    cluster.run_pass()
    model_kubelet.start_all(cluster)
    cluster.run_pass()
    return cluster


def staying(cluster: ModelCluster) -> list[str]:
    return [name for name, pod in cluster.pods.items() if not pod.metadata.is_terminating]


@pytest.mark.parametrize("restart", ["Never", "OnFailure", "ExitCode", "Always"])
def test_scaling_down_and_up_again_counts_no_failure(restart: str) -> None:
    cluster = running("W3", restart)
    cluster.scale("Worker", 2)
    cluster.run_pass()
    cluster.scale("Worker", 3)
    cluster.run_pass()
    assert staying(cluster) == ["j-worker-0", "j-worker-1"]
    assert cluster.status.conditions[-1].type == ConditionType.RUNNING
    model_kubelet.finish_all(cluster)
    cluster.run_pass()
    assert staying(cluster) == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert cluster.status.of("Worker").records == ()


def test_records_of_surplus_pods_are_dropped_once_all_are_gone() -> None:
    cluster = running("W3", "Never")
    cluster.scale("Worker", 1)
    cluster.run_pass()
    noted = cluster.status.of("Worker").records
    assert [(each.index, each.is_restart) for each in noted] == [(1, False), (2, False)]
    model_kubelet.finish(cluster, "j-worker-1")
    cluster.run_pass()
    assert cluster.status.of("Worker").records == noted
    model_kubelet.finish(cluster, "j-worker-2")
    cluster.run_pass()
    assert cluster.status.of("Worker").records == ()


def test_surplus_pod_is_deleted_after_a_crash_before_its_deletion() -> None:
    cluster = running("W2", "Never", cleanPodPolicy="None")
    cluster.scale("Worker", 1)
    cluster.run_pass(crash_after=1)
    assert not cluster.pods["j-worker-1"].metadata.is_terminating
    cluster.scale("Worker", 2)
    model_kubelet.leave(cluster, "j-worker-1", code=1)
    cluster.settle(most=5)
    assert not cluster.status.is_finished
    assert not is_ended(cluster.pods["j-worker-1"])


@pytest.mark.parametrize("effects", range(5))
def test_job_past_its_limit_still_fails_after_a_crash(effects: int) -> None:
    cluster = running("W1", "OnFailure", backoffLimit=1, cleanPodPolicy="All")
    model_kubelet.leave(cluster, "j-worker-0", code=1)
    cluster.run_pass(crash_after=effects)
    model_kubelet.finish_all(cluster)
    cluster.settle(most=5)
    assert cluster.status.is_true(ConditionType.FAILED)
    assert staying(cluster) == []
