"""Metrics follow stored state and have the names that dashboards use."""

import pytest
from prometheus_client import generate_latest

from tests.support.builders import NOW
from tfjob.core.status import Condition, ConditionType, JobStatus, ReplicaStatus
from tfjob.manager.metrics import Metrics

NAMES = (
    "created_pods_total",
    "deleted_pods_total",
    "failed_pods_total",
    "succeeded_service_creation_total",
    "failed_service_creation_total",
    "created_pod_groups_total",
    "deleted_pod_groups_total",
    "tf_operator_is_leader",
    "python_info",
    "process_cpu_seconds_total",
)


def status(*kinds: ConditionType) -> JobStatus:
    return JobStatus(
        conditions=tuple(Condition(kind, "True", "r", "m", NOW, NOW) for kind in kinds)
    )


def restarts(**counts: int) -> JobStatus:
    return JobStatus(replicas={kind: ReplicaStatus(restarts=n) for kind, n in counts.items()})


def jobs(metrics: Metrics, name: str, namespace: str = "n") -> float:
    labels = {"job_namespace": namespace, "framework": "tensorflow"}
    full = f"training_operator_jobs_{name}_total"
    return metrics.registry.get_sample_value(full, labels) or 0.0


def test_every_name_of_the_contract_is_exposed() -> None:
    metrics = Metrics()
    passes = metrics.reconcile_recorder("tfjob-controller")
    passes.reconciled(result="success", seconds=0.1)
    passes.reconciled(result="error", seconds=0.1)
    metrics.queue_depth.labels("tfjob-controller").set(3)
    metrics.observe_request("get", "pods", 200, 0.1)
    text = generate_latest(metrics.registry).decode()
    for name in NAMES:
        assert f"\n{name}" in text
    assert (
        'controller_runtime_reconcile_total{controller="tfjob-controller",result="error"}' in text
    )
    assert 'controller_runtime_reconcile_errors_total{controller="tfjob-controller"} 1.0' in text
    assert 'controller_runtime_reconcile_time_seconds_count{controller="tfjob-controller"}' in text
    assert 'workqueue_depth{name="tfjob-controller"} 3.0' in text
    assert 'rest_client_requests_total{code="200",method="get",resource="pods"} 1.0' in text
    assert "_created{" not in text


def test_transition_is_counted_when_it_is_stored_and_once() -> None:
    metrics = Metrics()
    created = status(ConditionType.CREATED)
    ended = status(ConditionType.CREATED, ConditionType.SUCCEEDED)
    metrics.status_stored("n", before=JobStatus(), after=created)
    metrics.status_stored("n", before=created, after=created)
    metrics.status_stored("n", before=created, after=ended)
    metrics.status_stored("n", before=ended, after=ended)
    assert (jobs(metrics, "created"), jobs(metrics, "successful")) == (1, 1)
    assert jobs(metrics, "failed") == 0
    assert jobs(metrics, "created", "other") == 0


@pytest.mark.scenario("R47")
def test_counters_start_from_the_existing_jobs() -> None:
    metrics = Metrics()
    metrics.seed(
        [
            ("n", status(ConditionType.CREATED, ConditionType.FAILED)),
            ("n", status(ConditionType.CREATED)),
            ("m", JobStatus()),
        ]
    )
    assert (jobs(metrics, "created"), jobs(metrics, "failed")) == (2, 1)
    assert jobs(metrics, "created", "m") == 0


def test_restarts_are_those_of_the_statuses_while_working_and_after_a_start() -> None:
    first, second = restarts(Worker=1), restarts(Worker=4, PS=1)
    working, started = Metrics(), Metrics()
    working.status_stored("n", before=JobStatus(), after=first)
    working.status_stored("n", before=first, after=first)
    working.status_stored("n", before=first, after=second)
    started.seed([("n", second)])
    assert jobs(working, "restarted") == jobs(started, "restarted") == 5


def test_replaced_pods_are_counted_apart_from_restarts() -> None:
    metrics = Metrics()
    metrics.restarted("n", replicas=2)
    value = metrics.registry.get_sample_value
    assert value("tfjob_pods_replaced_total", {"job_namespace": "n"}) == 2
    assert jobs(metrics, "restarted") == 0


def test_children_are_counted_by_kind_and_unknown_kinds_not_at_all() -> None:
    metrics = Metrics()
    for kind in ("Pod", "Service", "PodGroup", "ConfigMap", "Job"):
        metrics.child_created(kind)
        metrics.child_failed(kind)
        metrics.child_deleted(kind)
    value = metrics.registry.get_sample_value
    assert [value(name) for name in NAMES[:7]] == [1] * 7


def test_two_operators_in_one_process_count_apart() -> None:
    one, two = Metrics(), Metrics()
    one.job_deleted("n")
    one.seed([("n", restarts(Worker=3))])
    assert (jobs(one, "deleted"), jobs(one, "restarted")) == (1, 3)
    assert (jobs(two, "deleted"), jobs(two, "restarted")) == (0, 0)


def test_time_to_the_first_status_is_observed() -> None:
    metrics = Metrics()
    for seconds in (-0.5, 0.4, 4.0, 400.0):
        metrics.first_status_stored(seconds=seconds)
    value = metrics.registry.get_sample_value
    name = "tfjob_first_status_seconds"
    found = [value(f"{name}_bucket", {"le": each}) for each in ("0.5", "5.0", "300.0")]
    assert (found, value(f"{name}_count")) == ([2, 3, 3], 4)
