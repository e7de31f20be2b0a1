"""Reads the events of a pod, which help to explain why it does not run.

They are only a hint, so they never delay anything else: the requests have their own slots, with a
limit per namespace, and no caller waits for a slot. A pod's events are read once per period. Little
is kept of each event, because tenants can write events.
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
"""Events of one pod. A kubelet counts repeated events in one object."""
_MAX_KEPT: Final = 8
_MAX_MESSAGE: Final = 256
"""Characters; a diagnosis shows fewer."""
_MAX_CONCURRENT: Final = 8
_MAX_PER_NAMESPACE: Final = 2


class BriefLister(Protocol):
    async def list_briefly(
        self, path: str, *, decode: type[Any], params: Mapping[str, str] | None = None
    ) -> Any: ...


class _Known(NamedTuple):
    period: str
    events: Sequence[PodEvent]


class PodEventLookup:
    """Keeps the last events read of each pod, by UID. The oldest entries are dropped first."""

    def __init__(self, api: BriefLister) -> None:
        self._api = api
        self._known: dict[str, _Known] = {}
        self._running = Counter[str]()

    async def read(self, namespace: str, *, uid: str, period: str) -> Sequence[PodEvent] | None:
        """The relevant events of a pod; None if too many requests are in flight.

        A failed request counts as no events, and is not retried in the same period.
        """
        known = self._known.get(uid)
        if known is not None and known.period == period:
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
        self._keep(uid, _Known(period, events))
        return events

    def forget(self, uid: str) -> None:
        """Drop the events of a deleted pod."""
        self._known.pop(uid, None)

    async def _list(self, namespace: str, uid: str) -> Sequence[PodEvent]:
        params = {"fieldSelector": f"involvedObject.uid={uid}", "limit": str(_MAX_READ)}
        try:
            found = await self._api.list_briefly(
                EVENTS.collection(namespace), decode=PodEventList, params=params
            )
        except ApiError:
            return ()
        relevant = pod_events.relevant(found.items or ())
        return tuple(map(_compact, relevant[:_MAX_KEPT]))

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
        event_time=event.event_time,
        series=event.series,
    )
