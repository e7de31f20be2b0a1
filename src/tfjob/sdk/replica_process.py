"""Finds the process of a replica on this machine, to run a command beside it.

A replica is given as `worker-0`, with its job as `mnist/worker-0`, or by the name of its pod. Only
a local cluster of this user has such processes; its Node object names the folder of their files.
"""

from pathlib import Path
from typing import Final

import msgspec

from tfjob.client.errors import ApiError
from tfjob.client.resource import Resource
from tfjob.k8s.pod import Phase, Pod
from tfjob.local import data_folder
from tfjob.local.data_folder import DataFolderError
from tfjob.local.node import surroundings
from tfjob.local.node.machine import DATA_FOLDER
from tfjob.local.node.surroundings import RunningContainer
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError

_NODE: Final = Resource("", "v1", "nodes", namespaced=False).item("local")


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Node(msgspec.Struct):
    metadata: _Metadata


class Replica(msgspec.Struct, frozen=True):
    job: str
    name: str
    pod: Pod

    @property
    def title(self) -> str:
        return f"{self.job}/{self.name}"


class ReplicaProcess(msgspec.Struct, frozen=True):
    replica: Replica
    container: RunningContainer


async def find_process(
    cluster: Cluster, wanted: str | None, *, container: str, api: str | None = None
) -> ReplicaProcess:
    """The running process of a replica; without a name, that of the only job's first replica."""
    found = await _all_replicas(cluster, api=api)
    replica = _chosen(found, wanted)
    folder = await _folder_of_node(cluster, replica, container=container)
    running = surroundings.load(folder / "pods", replica.pod.metadata.uid, container)
    if running is None:
        raise TFJobError(
            _why_not(replica, container), remedy=f"`tfjob explain {replica.job}` says why"
        )
    return ReplicaProcess(replica, running)


def _why_not(replica: Replica, container: str) -> str:
    ended = replica.pod.terminated(container)
    what = f"container {container!r} of {replica.title}"
    if ended is not None:
        return f"{what} has ended with exit code {ended.exit_code}"
    return f"{what} does not run (the pod is {replica.pod.phase})"


async def _all_replicas(cluster: Cluster, *, api: str | None) -> list[Replica]:
    listing = await job_lookup.find_all(cluster, api=api)
    return [
        Replica(each.name, jobs.replica_name(each, pod), pod)
        for each in listing.found
        for pod in await jobs.pods_of(cluster, each)
    ]


def _chosen(found: list[Replica], wanted: str | None) -> Replica:
    matching = [each for each in found if _is_meant(each, wanted)]
    running = [each for each in matching if each.pod.phase is Phase.RUNNING]
    candidates = running or matching
    names = [each.title for each in candidates]
    if wanted is None and len({each.job for each in candidates}) == 1:
        return candidates[0]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise TFJobError(
            f"{wanted or 'the replica'} is ambiguous", remedy=f"name one of {', '.join(names)}"
        )
    known = ", ".join(each.title for each in found if each.pod.phase is Phase.RUNNING)
    raise TFJobError(
        f"there is no replica {wanted}" if wanted else "there is no replica",
        remedy=f"these run: {known}" if known else "no replica runs now; `tfjob get` lists jobs",
    )


def _is_meant(replica: Replica, wanted: str | None) -> bool:
    return wanted in {None, replica.name, replica.title, replica.pod.metadata.name}


async def _folder_of_node(cluster: Cluster, replica: Replica, *, container: str) -> Path:
    """The folder of the node's files, which only a local cluster of this user has."""
    try:
        node = await cluster.api.get(_NODE, decode=_Node)
        folder = Path((node.metadata.annotations or {})[DATA_FOLDER])
        data_folder.check(folder)
    except (ApiError, KeyError, OSError, DataFolderError) as error:
        meta = replica.pod.metadata
        raise TFJobError(
            f"{replica.title} does not run on a local cluster of this machine and user",
            remedy=f"`kubectl exec -it {meta.name} -n {meta.namespace} -c {container} -- COMMAND`",
        ) from error
    return folder
