"""Shared state of all handlers: store, kinds, watches, clock."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from tfjob.local.apiserver import status
from tfjob.local.apiserver.crd import CrdRegistrar
from tfjob.local.apiserver.ip_allocator import ClusterIPAllocator
from tfjob.local.apiserver.kinds import POD_METRICS, Registry
from tfjob.local.apiserver.request import Request
from tfjob.local.apiserver.store import Key, Store, StoredObject
from tfjob.local.apiserver.watchers import WatchBroadcaster

Json = dict[str, Any]
Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)


class PodLogs(Protocol):
    """Source of container logs; a node provides it."""

    def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Stream the log; `options` is the query of the request: container, follow, tailLines, …

        A LookupError says what cannot be read and why.
        """
        ...


class PodMetrics(Protocol):
    """Source of the CPU and memory usage of pods; a node provides it."""

    async def measure(self, pods: Sequence[Json]) -> list[Json]:
        """The usage of those of the pods that run: `uid`, `window` and `containers`."""
        ...


class Backend:
    def __init__(
        self,
        store: Store,
        *,
        clock: Clock = system_clock,
        logs: PodLogs | None = None,
        metrics: PodMetrics | None = None,
    ) -> None:
        self.store = store
        self.registry = Registry()
        CrdRegistrar(store, self.registry)
        self.cluster_ips = ClusterIPAllocator(store)
        self.watches = WatchBroadcaster(store)
        self.clock = clock
        self.logs = logs
        self.metrics = metrics
        if metrics is not None:
            self.registry.add(POD_METRICS)
        self.is_closing = False
        self.provisions_namespaces = False
        self.mounts_tokens = False

    def get(self, request: Request) -> StoredObject:
        """The stored object that a request names; 404 if there is none."""
        stored = self.store.get(request.key)
        if stored is None:
            raise status.not_found(request.kind.qualified, request.name)
        return stored

    def namespace(self, name: str) -> Json | None:
        found = self.store.get(Key("namespaces", "", name))
        return found.object() if found else None
