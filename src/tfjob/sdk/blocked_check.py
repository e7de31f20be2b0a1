"""Raises an error if a job can never run on this machine, so that nobody waits for it in vain.

A suspended job does not count: it may be resumed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tfjob.client.resource import Resource
from tfjob.core.status import ConditionType
from tfjob.k8s.meta import ObjectMeta
from tfjob.local.node.overcommit import of_annotations
from tfjob.sdk import jobs
from tfjob.sdk.blocked_job import blocked_reason, is_refusal, is_unschedulable
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job_events import list_events
from tfjob.sdk.jobs import ClusterJob

Check = Callable[[ClusterJob], Awaitable[None]]
"""Called with every new state of a job that is waited for; may raise."""
_SETTLED_AFTER: Final = 2.0
"""Seconds that the reason must stay the same: other pods may still appear."""
_SIZE_REMEDY: Final = "lower the request, or pass fit=True to the first run() of the program"
_NODES: Final = Resource("", "v1", "nodes", namespaced=False)


class _NodeStatus(msgspec.Struct):
    allocatable: dict[str, str] | None = None


class _Node(msgspec.Struct):
    metadata: ObjectMeta
    status: _NodeStatus


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


async def allocatable_of(cluster: Cluster) -> dict[str, str] | None:
    """The resources of the only node of a local cluster; None if it ignores requests."""
    nodes = await cluster.api.get(_NODES.collection(), decode=_NodeList)
    if not nodes.items:
        return None
    overcommit = of_annotations(nodes.items[0].metadata.annotations)
    ignores_requests = overcommit is not None and overcommit.requests
    return None if ignores_requests else nodes.items[0].status.allocatable


class BlockedCheck:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._reason = ""
        self._since = 0.0

    async def __call__(self, found: ClusterJob) -> None:
        reason = await self._blocked(found)
        now = asyncio.get_running_loop().time()
        if reason != self._reason:
            self._reason, self._since = reason, now
        if reason and now - self._since >= _SETTLED_AFTER:
            raise TFJobError(
                f"{found.title} cannot run here: {reason}",
                remedy="delete the job, and run a changed one",
            )

    async def _blocked(self, found: ClusterJob) -> str:
        if found.status.is_true(ConditionType.RUNNING) or found.status.is_true(
            ConditionType.SUSPENDED
        ):
            return ""
        pods = await jobs.pods_of(self._cluster, found)
        refusals = [] if pods else await self._refusals(found)
        is_large = any(is_unschedulable(pod) for pod in pods)
        return blocked_reason(
            found,
            {jobs.replica_name(found, pod): pod for pod in pods},
            refusals=refusals,
            allocatable=await allocatable_of(self._cluster) if is_large else None,
            size_remedy=_SIZE_REMEDY,
        )

    async def _refusals(self, found: ClusterJob) -> list[str]:
        fields = f"involvedObject.uid={found.job.owner.uid}"
        events = await list_events(self._cluster.api, found.namespace, fields=fields)
        return [each.message for each in events if is_refusal(each.reason, each.message)]


async def ignore(found: ClusterJob) -> None:
    """The check for a real cluster, where whatever blocks a job may pass."""
