"""Prometheus metrics, with the names that training-operator's dashboards use.

Job counters follow the stored state: they start from the existing jobs and grow with each stored
transition, so they match the objects even after a restart. What is not in a status, such as the
number of replaced pods, is counted from the start of the process.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from tfjob.core.plan import ChildKind
from tfjob.core.status import ConditionType, JobStatus

_FRAMEWORK: Final = "tensorflow"
_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
_FIRST_STATUS_BUCKETS: Final = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Creation timestamps have a resolution of one second."""


class Metrics:
    """All metrics of one operator, in their own registry."""

    def __init__(self) -> None:
        # Creation times of counters would double the number of series.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's own omission
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._jobs = {
            name: self._counter(
                f"training_operator_jobs_{name}", text, "job_namespace", "framework"
            )
            for name, text in (
                ("created", "Jobs that got the Created condition"),
                ("deleted", "Jobs deleted by the operator after their TTL"),
                ("successful", "Jobs that succeeded"),
                ("failed", "Jobs that failed"),
                ("restarted", "Replica restarts recorded in job statuses"),
            )
        }
        self._created: dict[str, Counter] = {
            ChildKind.POD: self._counter("created_pods", "Pods created"),
            ChildKind.SERVICE: self._counter("succeeded_service_creation", "Services created"),
            ChildKind.POD_GROUP: self._counter("created_pod_groups", "PodGroups created"),
        }
        self._failed: dict[str, Counter] = {
            ChildKind.POD: self._counter("failed_pods", "Pods that could not be created"),
            ChildKind.SERVICE: self._counter(
                "failed_service_creation", "Services that could not be created"
            ),
        }
        self._deleted: dict[str, Counter] = {
            ChildKind.POD: self._counter("deleted_pods", "Pods deleted"),
            ChildKind.POD_GROUP: self._counter("deleted_pod_groups", "PodGroups deleted"),
        }
        self._replaced = self._counter(
            "tfjob_pods_replaced",
            "Pods replaced since the operator started, including disrupted ones",
            "job_namespace",
        )
        self._add_runtime()

    def _add_runtime(self) -> None:
        self._reconciles = self._counter(
            "controller_runtime_reconcile", "Reconciles by result", "controller", "result"
        )
        self._errors = self._counter(
            "controller_runtime_reconcile_errors", "Reconciles that failed", "controller"
        )
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of reconciles in seconds",
            ["controller"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.queue_depth = Gauge(
            "workqueue_depth", "Jobs waiting for a worker", ["name"], registry=self.registry
        )
        self.leader = Gauge(
            "tf_operator_is_leader", "1 if this operator is the leader", registry=self.registry
        )
        self._watch_idle = Gauge(
            "tfjob_watch_idle_seconds",
            "Seconds since a watch was last opened, received data or ended normally",
            ["controller", "resource"],
            registry=self.registry,
        )
        self._events_dropped = self._counter(
            "tfjob_events_dropped", "Events dropped because the queue was full or sending failed"
        )
        self._add_pacing()
        self._requests = self._counter(
            "rest_client_requests", "Requests to the API server", "code", "method", "resource"
        )
        self._requests_by: dict[tuple[int, str, str], Counter] = {}

    def _add_pacing(self) -> None:
        registry = self.registry
        self.statuses_deferred = Gauge(
            "tfjob_statuses_deferred",
            "Status updates that are deferred",
            ["controller"],
            registry=registry,
        )
        self.oldest_status = Gauge(
            "tfjob_statuses_deferred_oldest_seconds",
            "Age of the oldest deferred status update",
            ["controller"],
            registry=registry,
        )
        self.events_deferred = Gauge(
            "tfjob_events_deferred", "Events waiting to be sent", registry=registry
        )
        self.oldest_event = Gauge(
            "tfjob_events_deferred_oldest_seconds",
            "Age of the oldest event waiting to be sent",
            registry=registry,
        )
        self._first_status = Histogram(
            "tfjob_first_status_seconds",
            "Seconds from the creation of a job to its first status",
            buckets=_FIRST_STATUS_BUCKETS,
            registry=registry,
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def seed(self, statuses: Iterable[tuple[str, JobStatus]]) -> None:
        """Count the jobs that exist when the operator starts."""
        for namespace, status in statuses:
            self.status_stored(namespace, before=JobStatus(), after=status)

    def status_stored(self, namespace: str, *, before: JobStatus, after: JobStatus) -> None:
        for kind, name in (
            (ConditionType.CREATED, "created"),
            (ConditionType.SUCCEEDED, "successful"),
            (ConditionType.FAILED, "failed"),
        ):
            if after.is_true(kind) and not before.is_true(kind):
                self._count_job(name, namespace)
        if after.restarts > before.restarts:
            self._count_job("restarted", namespace, after.restarts - before.restarts)

    def first_status_stored(self, *, seconds: float) -> None:
        self._first_status.observe(max(seconds, 0.0))

    def restarted(self, namespace: str, *, replicas: int) -> None:
        """Count replaced pods, including disrupted ones, which do not count as restarts."""
        self._replaced.labels(namespace).inc(replicas)

    def job_deleted(self, namespace: str) -> None:
        self._count_job("deleted", namespace)

    def child_created(self, kind: str) -> None:
        _count(self._created, kind)

    def child_failed(self, kind: str) -> None:
        _count(self._failed, kind)

    def child_deleted(self, kind: str) -> None:
        _count(self._deleted, kind)

    def watch_idle(self, controller: str, resource: str, *, seconds: float) -> None:
        self._watch_idle.labels(controller, resource).set(seconds)

    def event_dropped(self) -> None:
        self._events_dropped.inc()

    def reconcile_recorder(self, controller: str) -> "ReconcileMetrics":
        """The reconcile metrics of one controller."""
        return ReconcileMetrics(
            controller, results=self._reconciles, errors=self._errors, lengths=self._seconds
        )

    def observe_request(self, verb: str, resource: str, code: int, seconds: float) -> None:  # noqa: ARG002 - the hook's shape
        # Cached, because looking up a counter by its labels is slow and this runs per request.
        found = self._requests_by.get((code, verb, resource))
        if found is None:
            found = self._requests.labels(str(code), verb, resource)
            self._requests_by[code, verb, resource] = found
        found.inc()

    def _count_job(self, name: str, namespace: str, number: int = 1) -> None:
        self._jobs[name].labels(namespace, _FRAMEWORK).inc(number)


class ReconcileMetrics:
    """The reconcile metrics of one controller."""

    def __init__(
        self, controller: str, *, results: Counter, errors: Counter, lengths: Histogram
    ) -> None:
        self._controller = controller
        self._results = results
        self._results_by: dict[str, Counter] = {}
        self._errors = errors.labels(controller)
        self._lengths = lengths.labels(controller)

    def reconciled(self, *, result: str, seconds: float) -> None:
        found = self._results_by.get(result)
        if found is None:
            found = self._results_by[result] = self._results.labels(self._controller, result)
        found.inc()
        self._lengths.observe(seconds)
        if result == "error":
            self._errors.inc()


def _count(counters: Mapping[str, Counter], kind: str) -> None:
    counter = counters.get(kind)
    if counter is not None:
        counter.inc()
