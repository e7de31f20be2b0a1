"""A cluster with its jobs: what can be done there, as coroutines.

They run on the loop of the API client. What callers see is built on them.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfjob.client.config import Config, load
from tfjob.client.http import Api
from tfjob.sdk import job_lookup, submission
from tfjob.sdk.apply import ensure_namespace
from tfjob.sdk.bound_job import BoundJob
from tfjob.sdk.connection import Cluster, kubeconfig_of_local_cluster
from tfjob.sdk.jobs import ClusterJob


async def connected(
    place: str | os.PathLike[str] | None, *, namespace: str | None = None, is_local: bool = False
) -> "BoundCluster":
    """The cluster of a context or kubeconfig; without any, that of `tfjob get`."""
    config = _config(place)
    cluster = Cluster(api=Api(config), namespace=namespace or config.namespace)
    return BoundCluster(cluster, is_local=is_local)


def _config(place: str | os.PathLike[str] | None) -> Config:
    if place is None:
        return load(kubeconfig_of_local_cluster())
    path = Path(place).expanduser()
    if not isinstance(place, str) or path.is_file():
        return load(path)
    return load(context=place)


class BoundCluster:
    def __init__(self, cluster: Cluster, *, is_local: bool = False) -> None:
        self._cluster = cluster
        self.namespace = cluster.one_namespace
        self.is_local = is_local

    async def jobs(self, *, labels: str, all_namespaces: bool) -> list[BoundJob]:
        namespace = None if all_namespaces else self.namespace
        inside = Cluster(api=self._cluster.api, namespace=namespace)
        listing = await job_lookup.find_all(inside, labels=labels)
        return [self._bound(each) for each in listing.found]

    async def get(self, name: str) -> BoundJob:
        return self._bound(await job_lookup.find(self._cluster, name))

    async def submit(self, objects: Sequence[Mapping[str, Any]], *, namespace: str) -> BoundJob:
        """Create one job and the objects beside it, and on a local cluster their namespace."""
        if self.is_local:
            await ensure_namespace(self._cluster, namespace)
        return self._bound(await submission.submit(self._cluster, objects))

    async def close(self) -> None:
        await self._cluster.api.close()

    def _bound(self, found: ClusterJob) -> BoundJob:
        return BoundJob(self._cluster, found, is_local=self.is_local)
