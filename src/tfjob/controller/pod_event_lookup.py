"""Reads the events of a pod, which only help to explain why it does not run.

A pod's events are read once in a turn. They never hold up anything else: requests have slots of
their own, a namespace gets a part of them, and nobody waits for one. Little is kept of an event,
because tenants can write them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from tfjob.client.errors import ApiError
from tfjob.client.resource import EVENTS
from tfjob.core.diagnosis import pod_events
from tfjob.k8s.event import InvolvedObject, PodEvent, PodEventList
from tfjob.k8s.meta import ObjectMeta

MAX_PODS: Final = 3000
_MAX_READ: Final = 50
"""Events of one pod. A kubelet combines events that repeat."""
_MAX_KEPT: Final = 8
_MAX_MESSAGE: Final = 256
"""Characters. A diagnosis shows fewer."""
_MAX_CONCURRENT: Final = 8
_MAX_PER_NAMESPACE: Final = 2


class BriefLister(Protocol):
    async def list_briefly(
        self, path: str, *, decode: type[Any], params: Mapping[str, str] | None = None
    ) -> Any: ...


class _Known(NamedTuple):
    turn: str
    events: Sequence[PodEvent]


class PodEventLookup:
    """Keeps the events of each pod that were read in its last turn, by UID. The oldest are
    forgotten first."""

    def __init__(self, api: BriefLister) -> None:
        self._api = api
        self._known: dict[str, _Known] = {}
        self._running = Counter[str]()

    async def read(self, namespace: str, *, uid: str, turn: str) -> Sequence[PodEvent] | None:
        """The events that tell something; None if too many requests are under way.

        A request that fails counts as no events, and is not repeated before the next turn.
        """
        known = self._known.get(uid)
        if known is not None and known.turn == turn:
            return known.events
        if (
            self._running.total() >= _MAX_CONCURRENT
            or self._running[namespace] >= _MAX_PER_NAMESPACE
        ):
            return None
        self._running[namespace] += 1
        try:
            events = await self._list(namespace, uid)
        finally:
            self._running[namespace] -= 1
            if not self._running[namespace]:
                del self._running[namespace]
        self._keep(uid, _Known(turn, events))
        return events

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._known.pop(uid, None)

    async def _list(self, namespace: str, uid: str) -> Sequence[PodEvent]:
        params = {"fieldSelector": f"involvedObject.uid={uid}", "limit": str(_MAX_READ)}
        try:
            found = await self._api.list_briefly(
                EVENTS.collection(namespace), decode=PodEventList, params=params
            )
        except ApiError:
            return ()
        told = pod_events.telling(found.items or ())
        return tuple(map(_compact, told[:_MAX_KEPT]))

    def _keep(self, uid: str, known: _Known) -> None:
        self._known.pop(uid, None)
        if len(self._known) >= MAX_PODS:
            del self._known[next(iter(self._known))]
        self._known[uid] = known


def _compact(event: PodEvent) -> PodEvent:
    """The event with the fields that the diagnosis reads, and without long text."""
    return PodEvent(
        metadata=ObjectMeta(resource_version=event.metadata.resource_version),
        involved_object=InvolvedObject(uid=event.involved_object.uid),
        reason=event.reason,
        message=event.message[:_MAX_MESSAGE],
        count=event.count,
        last_timestamp=event.last_timestamp,
    )
