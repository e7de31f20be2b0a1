"""The API calls that the node needs, and the errors they raise.

Pods are plain JSON. A call succeeds, fails in a way that is worth retrying, or finds the pod gone.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

Json = Mapping[str, Any]


class PodsReplaced(msgspec.Struct, frozen=True):
    """The complete list of pods; any other pod is gone."""

    pods: tuple[Json, ...]


class PodChanged(msgspec.Struct, frozen=True):
    """A pod was added or modified."""

    pod: Json


class PodDeleted(msgspec.Struct, frozen=True):
    """A pod was deleted."""

    namespace: str
    name: str


PodEvent = PodsReplaced | PodChanged | PodDeleted


class UnavailableError(Exception):
    """The API server could not serve the call now; retry later."""


class PodGoneError(Exception):
    """The pod does not exist any more, or is another one of the same name."""


class ApiPort(Protocol):
    """The API server as the node uses it."""

    def watch_pods(self) -> AsyncGenerator[PodEvent, None]:
        """The current pods, then every change; never ends."""

    async def bind(self, pod: Json, node: str) -> None:
        """Bind the pod to a node."""

    async def patch_status(self, pod: Json, status: Json) -> None:
        """Patch fields of the status; None removes a field."""

    async def annotate(self, pod: Json, annotations: Mapping[str, str | None]) -> None:
        """Patch annotations; None removes one."""

    async def delete_pod(self, pod: Json) -> None:
        """Delete the pod without a grace period: nothing of it runs any more."""

    async def config_map(self, namespace: str, name: str) -> Json | None:
        """The ConfigMap, or None."""

    async def secret(self, namespace: str, name: str) -> Json | None:
        """The Secret, or None."""

    async def claim(self, namespace: str, name: str) -> Json | None:
        """The PersistentVolumeClaim, or None."""

    async def bind_claim(self, claim: Json) -> None:
        """Mark the PersistentVolumeClaim as bound to its folder; a claim that is gone is left."""

    async def services(self, namespace: str) -> Sequence[Json]:
        """All Services of the namespace."""

    async def register(self, node: Json) -> None:
        """Create the Node, or update its status."""

    def post_event(
        self, pod: Json, *, kind: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Record an event about the pod; never blocks and never fails."""
