"""A client of one cluster: lists, finds and submits jobs."""

import atexit
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tfjob.client.config import Config, load
from tfjob.client.credentials import ConfigError
from tfjob.client.http import Api
from tfjob.sdk import job_lookup, submission
from tfjob.sdk.apply import ensure_namespace
from tfjob.sdk.bound_job import BoundJob
from tfjob.sdk.connection import Cluster, kubeconfig_of_local_cluster, readable
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job import TFJob
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.local_process import local_process
from tfjob.sdk.loop_thread import loop_thread

LOCAL: Final = "local"
"""The name of the local cluster that ends with this process."""


class Client:
    """A connection to one cluster. Use it in a `with` statement, or close it after use."""

    def __init__(self, config: Config, *, namespace: str | None, is_local: bool = False) -> None:
        self.is_local = is_local
        self.namespace = namespace or config.namespace
        self._cluster = loop_thread().call(_connected(config, self.namespace))
        self._owner = os.getpid()
        atexit.register(self.close)

    def jobs(self, *, labels: str = "", all_namespaces: bool = False) -> list[TFJob]:
        """The jobs of the namespace, in all APIs, sorted by name."""
        namespace = None if all_namespaces else self.namespace
        inside = Cluster(api=self._cluster.api, namespace=namespace)
        listing = loop_thread().call(job_lookup.find_all(inside, labels=labels))
        return [TFJob.of(self._bound(each)) for each in listing.found]

    def get(self, name: str) -> TFJob:
        """The job of this name; TFJobError if there is none."""
        found = loop_thread().call(job_lookup.find(self._cluster, name))
        return TFJob.of(self._bound(found))

    def submit(self, job: TFJob) -> TFJob:
        """Create the job and its other objects, after a dry run; returns the same job."""
        if job.is_submitted:
            raise TFJobError(
                f"job {job.name} is on a cluster already",
                remedy="TFJob.from_yaml(job.to_yaml()) makes another one of it",
            )
        if self.is_local:
            wanted = job.namespace or self.namespace
            loop_thread().call(ensure_namespace(self._cluster, wanted))
        found = loop_thread().call(submission.submit(self._cluster, job.objects))
        job.bind(self._bound(found))
        return job

    def _bound(self, found: ClusterJob) -> BoundJob:
        return BoundJob(self._cluster, found, is_local=self.is_local)

    def close(self) -> None:
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return  # a forked child; the connections are not its own
        loop_thread().call(self._cluster.api.close())

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

    Without a name, the cluster is chosen as by `tfjob get`: that of $KUBECONFIG, else a running
    `tfjob local up`, else that of ~/.kube/config. `local` is a cluster on this machine that starts
    when it is first needed and ends with this process.
    """
    is_local = cluster == LOCAL
    try:
        config = load(local_process().kubeconfig) if is_local else _config(cluster)
    except ConfigError as error:
        raise readable(error) from error
    return Client(config, namespace=namespace, is_local=is_local)


def _config(cluster: str | os.PathLike[str] | None) -> Config:
    if cluster is None:
        return load(kubeconfig_of_local_cluster())
    path = Path(cluster).expanduser()
    if not isinstance(cluster, str) or path.is_file():
        return load(path)
    return load(context=cluster)


async def _connected(config: Config, namespace: str) -> Cluster:
    return Cluster(api=Api(config), namespace=namespace)
