"""What a controller lets others count: facts that the API server has confirmed."""

from typing import Protocol

from tfjob.core.status import JobStatus


class Observer(Protocol):
    def status_stored(self, namespace: str, *, before: JobStatus, after: JobStatus) -> None:
        """A status was stored; transitions are what differs."""

    def first_status_stored(self, *, seconds: float) -> None:
        """A job has its first status, so many seconds after it was created."""

    def restarted(self, namespace: str, *, replicas: int) -> None:
        """Replicas are being started again."""

    def job_deleted(self, namespace: str) -> None:
        """A job was deleted because its time had come."""

    def child_created(self, kind: str) -> None: ...
    def child_failed(self, kind: str) -> None: ...
    def child_deleted(self, kind: str) -> None: ...


class PassObserver(Protocol):
    def passed(self, *, result: str, seconds: float) -> None:
        """One pass ended: `success`, `requeue_after`, `requeue` or `error`."""
