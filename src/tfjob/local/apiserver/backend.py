"""What every verb works on: the objects, the kinds, the open watches and the clock."""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from tfjob.local.apiserver.addresses import Addresses
from tfjob.local.apiserver.crd import Definitions
from tfjob.local.apiserver.kinds import Registry
from tfjob.local.apiserver.store import Key, Store
from tfjob.local.apiserver.watchers import Hub

Json = dict[str, Any]
Clock = Callable[[], datetime]


def system_clock() -> datetime:
    return datetime.now(UTC)


class PodLogs(Protocol):
    """Where the lines of a pod's containers come from; a node provides it."""

    def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        """`options` are the query of the request: container, follow, tailLines, …

        A LookupError says in its text what cannot be read and why.
        """
        ...


class Backend:
    def __init__(
        self, store: Store, *, clock: Clock = system_clock, logs: PodLogs | None = None
    ) -> None:
        self.store = store
        self.registry = Registry()
        Definitions(store, self.registry)
        self.addresses = Addresses(store)
        self.hub = Hub(store)
        self.clock = clock
        self.logs = logs
        self.is_closing = False

    def namespace(self, name: str) -> Json | None:
        found = self.store.get(Key("namespaces", "", name))
        return found.object() if found else None
