"""What the node needs of an API server, and the words for what can go wrong.

Its law: pods are JSON as the API shows them; a call either succeeds, fails for now, or finds the
pod gone. It must not know how an API server is reached.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

Json = Mapping[str, Any]


class PodsReplaced(msgspec.Struct, frozen=True):
    """All pods there are; what is not among them is gone."""

    pods: tuple[Json, ...]


class PodChanged(msgspec.Struct, frozen=True):
    """A pod is new or different."""

    pod: Json


class PodDeleted(msgspec.Struct, frozen=True):
    """A pod is gone."""

    namespace: str
    name: str


PodEvent = PodsReplaced | PodChanged | PodDeleted


class UnavailableError(Exception):
    """The API server did not do it now; it is worth trying again."""


class PodGoneError(Exception):
    """The pod that was meant is no longer there."""


class ApiPort(Protocol):
    """The API server as the node sees it."""

    def watch_pods(self) -> AsyncGenerator[PodEvent, None]:
        """The state first, then every change, for ever."""

    async def bind(self, pod: Json, node: str) -> None:
        """Gives the pod to a node."""

    async def patch_status(self, pod: Json, status: Json) -> None:
        """Stores fields of the status; None removes one."""

    async def annotate(self, pod: Json, annotations: Mapping[str, str | None]) -> None:
        """Stores annotations of the pod; None removes one."""

    async def delete_pod(self, pod: Json) -> None:
        """Removes the pod at once: nothing of it runs any more."""

    async def config_map(self, namespace: str, name: str) -> Json | None:
        """The ConfigMap, if there is one."""

    async def secret(self, namespace: str, name: str) -> Json | None:
        """The Secret, if there is one."""

    async def claim(self, namespace: str, name: str) -> Json | None:
        """The PersistentVolumeClaim, if there is one."""

    async def services(self, namespace: str) -> Sequence[Json]:
        """All services of the namespace."""

    async def register(self, node: Json) -> None:
        """Makes the node known, or refreshes what is known of it."""

    def post_event(
        self, pod: Json, *, kind: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Tells news about the pod; never waits and never fails."""
