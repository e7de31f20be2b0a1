"""A job as a Python object: made from a manifest, then submitted, watched and changed.

Importing it is fast, so that importing tfjob is: what reads manifests is imported by the methods
that need it, and what talks to a cluster comes with the job that is bound to one.
"""

from collections.abc import Iterator, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tfjob.sdk.errors import TFJobError
from tfjob.sdk.loop_thread import loop_thread

if TYPE_CHECKING:
    from tfjob.sdk.async_job import AsyncTFJob
    from tfjob.sdk.bound_job import BoundJob
    from tfjob.sdk.job_logs import LogLine
    from tfjob.sdk.job_state import Reason, Status
    from tfjob.sdk.waiting import State


class TFJob:
    """One job, and the objects that are created with it, such as ConfigMaps.

    It can be used in a `with` statement: the job is deleted at the end of the block.
    """

    def __init__(self, objects: Sequence[dict[str, Any]]) -> None:
        """Make a job from manifests, one of them the job; `from_yaml` and `run` do this."""
        from tfjob.sdk import job_objects  # noqa: PLC0415 - slow to import

        self.objects = job_objects.checked(objects)
        self._bound: BoundJob | None = None

    @classmethod
    def from_yaml(cls, source: str | PathLike[str]) -> Self:
        """Read a YAML text, or a file if `source` is a path or has no line break."""
        from tfjob.sdk import documents, job_objects  # noqa: PLC0415 - slow to import

        if isinstance(source, str) and "\n" in source:
            objects = job_objects.parsed(source, "the YAML text")
        else:
            path = Path(source)
            try:
                objects = job_objects.parsed(path.read_text("utf-8-sig"), str(path))
            except OSError as error:
                raise TFJobError(
                    f"{path}: cannot be read: {error.strerror}",
                    remedy="pass the path of a file, or a YAML text of several lines",
                ) from error
            except UnicodeDecodeError as error:
                raise TFJobError(f"{path}{documents.not_utf8(error)}") from error
        return cls(objects)

    @classmethod
    def of(cls, bound: "BoundJob") -> Self:
        """A job that exists on a cluster."""
        from tfjob.sdk import job_objects  # noqa: PLC0415 - slow to import

        found = cls.__new__(cls)
        found.objects = job_objects.exported(bound.found.manifest)
        found.bind(bound)
        return found

    @property
    def manifest(self) -> dict[str, Any]:
        from tfjob.sdk import job_objects  # noqa: PLC0415 - slow to import

        return job_objects.job_among(self.objects)

    @property
    def name(self) -> str:
        if self._bound is not None:
            return self._bound.found.name
        return str(self.manifest["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        """The namespace; empty if the job is not submitted and does not set one."""
        if self._bound is not None:
            return self._bound.found.namespace
        return str(self.manifest["metadata"].get("namespace") or "")

    def to_yaml(self) -> str:
        """All objects of the job as YAML, for `tfjob submit` or `kubectl apply`."""
        from tfjob.sdk import job_objects  # noqa: PLC0415 - slow to import

        return job_objects.rendered(self.objects)

    @property
    def status(self) -> "Status":
        """The current state, read from the cluster."""
        return loop_thread().call(self.bound.status())

    def logs(
        self, *, follow: bool = True, replica: str | None = None, tail: int | None = None
    ) -> "Iterator[LogLine]":
        """The log lines of all replicas, or of one such as `worker-0`.

        With `follow` it waits for pods that do not exist yet, and ends when the job has finished.
        """
        bound = self.bound
        return loop_thread().iterate(lambda: bound.logs(follow=follow, replica=replica, tail=tail))

    def wait(self, timeout: float | None = None, *, state: "State" = "finished") -> "Status":
        """Wait until the job has finished or, with `state="running"`, until it runs.

        Raises JobFailedError with the reason if it has failed, and JobTimeoutError after `timeout`
        seconds.
        """
        return loop_thread().call(self.bound.wait(state, timeout))

    def explain(self) -> "Reason":
        """Why the job does not run or has failed, and what to do about it."""
        return loop_thread().call(self.bound.explain())

    def suspend(self) -> None:
        """Delete the pods until the job is resumed."""
        loop_thread().call(self.bound.set_suspended(is_suspended=True))

    def resume(self) -> None:
        loop_thread().call(self.bound.set_suspended(is_suspended=False))

    def scale(self, workers: int) -> None:
        """Change the number of workers."""
        loop_thread().call(self.bound.scale(workers))

    def restart(self, replica: str | None = None) -> None:
        """Restart all replicas, or one such as `worker-1`."""
        loop_thread().call(self.bound.restart(replica))

    def delete(self) -> None:
        """Delete the job with its pods and services."""
        loop_thread().call(self.bound.delete())

    @property
    def aio(self) -> "AsyncTFJob":
        """The same job for code that runs in an event loop."""
        from tfjob.sdk.async_job import AsyncTFJob  # noqa: PLC0415 - slow to import

        return AsyncTFJob(self)

    @property
    def bound(self) -> "BoundJob":
        if self._bound is None:
            raise TFJobError(
                f"job {self.name} is not on a cluster", remedy="submit it: connect().submit(job)"
            )
        return self._bound

    def bind(self, bound: "BoundJob") -> None:
        """Connect this object to the job that was created from it."""
        self._bound = bound

    @property
    def is_submitted(self) -> bool:
        return self._bound is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bound is not None:
            loop_thread().call(self._bound.delete_if_there())

    def __repr__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"<TFJob {place}{self.name}: {self._state()}>"

    def _repr_html_(self) -> str:
        """A table for notebooks. Names and messages are escaped, because they are not trusted."""
        rows = [("job", self.name), ("namespace", self.namespace), ("state", self._state())]
        if self._bound is not None:
            status = self._bound.known_status
            rows += [
                (kind, f"{each.active} of {each.wanted} active, {each.failed} failed")
                for kind, each in status.replicas.items()
            ]
            rows.append(("message", status.message))
        cells = "".join(
            f"<tr><th>{escape(label)}</th><td>{escape(value)}</td></tr>" for label, value in rows
        )
        return f"<table>{cells}</table>"

    def _state(self) -> str:
        """The state as last read, because `repr` must neither fail nor wait."""
        return "not submitted" if self._bound is None else self._bound.known_status.state
