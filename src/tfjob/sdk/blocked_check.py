"""Raises when a job on this machine is known never to run, so that nobody waits for it for ever.

A suspended job is not meant: whoever suspended it may resume it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tfjob.client.resource import Resource
from tfjob.core.status import ConditionType
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
_NODES: Final = Resource("", "v1", "nodes", namespaced=False)


class _NodeStatus(msgspec.Struct):
    allocatable: dict[str, str] | None = None


class _Node(msgspec.Struct):
    status: _NodeStatus


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


async def allocatable_of(cluster: Cluster) -> dict[str, str] | None:
    """The resources of the only node of a local cluster."""
    nodes = await cluster.api.get(_NODES.collection(), decode=_NodeList)
    return nodes.items[0].status.allocatable if nodes.items else None


class BlockedCheck:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._reason = ""
        self._since = 0.0
        self._is_large = False

    async def __call__(self, found: ClusterJob) -> None:
        reason = await self._blocked(found)
        now = asyncio.get_running_loop().time()
        if reason != self._reason:
            self._reason, self._since = reason, now
        if reason and now - self._since >= _SETTLED_AFTER:
            fit = ", or pass fit=True to the first run() of the program" if self._is_large else ""
            raise TFJobError(
                f"{found.title} cannot run here: {reason}",
                remedy=f"delete the job, and run a changed one{fit}",
            )

    async def _blocked(self, found: ClusterJob) -> str:
        if found.status.is_true(ConditionType.RUNNING) or found.status.is_true(
            ConditionType.SUSPENDED
        ):
            return ""
        pods = await jobs.pods_of(self._cluster, found)
        refusals = [] if pods else await self._refusals(found)
        self._is_large = any(is_unschedulable(pod) for pod in pods)
        return blocked_reason(
            found,
            {jobs.replica_name(found, pod): pod for pod in pods},
            refusals=refusals,
            allocatable=await allocatable_of(self._cluster) if self._is_large else None,
        )

    async def _refusals(self, found: ClusterJob) -> list[str]:
        fields = f"involvedObject.uid={found.job.owner.uid}"
        events = await list_events(self._cluster.api, found.namespace, fields=fields)
        return [each.message for each in events if is_refusal(each.reason, each.message)]


async def ignore(found: ClusterJob) -> None:
    """The check for a real cluster, where what keeps a job from running may pass."""
