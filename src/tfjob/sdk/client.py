"""A client of one cluster: lists, finds and submits jobs.

Importing it is fast, so that importing tfjob is; what talks to a cluster is imported by `connect`.
"""

import atexit
import os
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job import TFJob
from tfjob.sdk.local_process import LocalProcess, local_process
from tfjob.sdk.loop_thread import loop_thread

if TYPE_CHECKING:
    from tfjob.sdk.bound_cluster import BoundCluster

LOCAL: Final = "local"
"""The name of the local cluster that ends with this process."""


class Client:
    """A connection to one cluster. Use it in a `with` statement, or close it after use."""

    def __init__(self, bound: "BoundCluster", process: LocalProcess | None = None) -> None:
        self._bound = bound
        self._process = process
        self.is_local = bound.is_local
        self.namespace = bound.namespace
        self._owner = os.getpid()
        atexit.register(self.close)

    def jobs(self, *, labels: str = "", all_namespaces: bool = False) -> list[TFJob]:
        """The jobs of the namespace, in all APIs, sorted by name."""
        self.check_cluster()
        found = self._bound.jobs(labels=labels, all_namespaces=all_namespaces)
        return [TFJob.of(each) for each in loop_thread().call(found)]

    def get(self, name: str) -> TFJob:
        """The job of this name; TFJobError if there is none."""
        self.check_cluster()
        return TFJob.of(loop_thread().call(self._bound.get(name)))

    def submit(self, job: TFJob) -> TFJob:
        """Create the job and its other objects, after a dry run; returns the same job."""
        if job.is_submitted:
            raise TFJobError(
                f"job {job.name} is on a cluster already",
                remedy="TFJob.from_yaml(job.to_yaml()) makes another one of it",
            )
        self.check_cluster()
        namespace = job.namespace or self.namespace
        job.bind(loop_thread().call(self._bound.submit(job.objects, namespace=namespace)))
        return job

    def check_cluster(self, options: frozenset[str] = frozenset()) -> None:
        """Raise an error if this program's local cluster has ended, or lacks one of the options."""
        if self._process is not None:
            self._process.check(options)

    def close(self) -> None:
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return  # a forked child; the connections are not its own
        loop_thread().call(self._bound.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    cluster: str | os.PathLike[str] | None = None, *, namespace: str | None = None
) -> Client:
    """Connect to a cluster: a context, the path of a kubeconfig, or `local`.

    Without a name, the cluster is chosen as by `tfjob submit`: that of $KUBECONFIG, else a running
    `tfjob local up`, else that of ~/.kube/config. `local` is a cluster on this machine that starts
    when it is first needed and ends with this process.
    """
    from tfjob.sdk.bound_cluster import connected  # noqa: PLC0415 - slow to import

    process = local_process() if cluster == LOCAL else None
    place = cluster if process is None else process.kubeconfig
    bound = connected(place, namespace=namespace, is_local=process is not None)
    return Client(loop_thread().call(bound), process)
