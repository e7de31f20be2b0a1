"""Hooks for metrics. They are called only for what the API server has confirmed."""

from typing import Protocol

from tfjob.core.status import JobStatus


class MetricsRecorder(Protocol):
    def status_stored(self, namespace: str, *, before: JobStatus, after: JobStatus) -> None:
        """A status was stored; the difference shows the transitions."""

    def first_status_stored(self, *, seconds: float) -> None:
        """A job got its first status this long after its creation."""

    def restarted(self, namespace: str, *, replicas: int) -> None:
        """Replicas of a job are restarted."""

    def job_deleted(self, namespace: str) -> None:
        """A job was deleted after its TTL."""

    def child_created(self, kind: str) -> None: ...
    def child_failed(self, kind: str) -> None: ...
    def child_deleted(self, kind: str) -> None: ...


class ReconcileRecorder(Protocol):
    def reconciled(self, *, result: str, seconds: float) -> None:
        """A reconcile ended with `success`, `requeue_after`, `requeue` or `error`."""
