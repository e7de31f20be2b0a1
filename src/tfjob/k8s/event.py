"""core/v1 Events, as they are written and as they are read.

The name of an Event is derived from the involved object and a key, so that recording the same
occurrence twice yields one Event. Rate limiting and aggregation are not done here.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from tfjob.k8s import time
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.names import MAX_SUBDOMAIN_LENGTH
from tfjob.k8s.resource_version import number

MAX_MESSAGE_BYTES = 1024
MAX_MESSAGE = 1024
"""The most characters of a message that is read."""
CHILD_ANNOTATION = "tfjob.dev/child"
RULE_ANNOTATION = "tfjob.dev/rule"
_HASH_BYTES = 8
_ELLIPSIS = "…"


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An event to write about one object. The type is `Normal` or `Warning`."""

    type: str
    reason: str
    message: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    component: str = ""
    """The source component, if it is not the recorder's own."""
    rank: int = 0
    """From 1 to 15: events of one object in one second are listed in this order. 0: in any."""
    child: str = ""
    rule: str = ""
    """The child that the event is about and the rule applied to it; stored as annotations."""


def event_name(event: Event, key: str) -> str:
    """`{object name}.{16 hex digits}`; the digits are a hash of the object's UID and the key.

    The first digit is the event's rank, if it has one: kubectl sorts events by their second, and
    those of one second by name.
    """
    source = f"{event.uid}\0{key}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(source, digest_size=_HASH_BYTES).hexdigest()
    if event.rank:
        digest = f"{event.rank:x}{digest[1:]}"
    space = MAX_SUBDOMAIN_LENGTH - len(digest) - 1
    # After truncation the name may end in a character that is not allowed before a dot.
    return f"{event.name[:space].rstrip('-.')}.{digest}"


def manifest(
    event: Event, *, component: str, name: str, first: datetime, last: datetime, count: int
) -> dict[str, Any]:
    """The Event object for `count` occurrences between `first` and `last`."""
    source = event.component or component
    return {
        "apiVersion": "v1",
        "kind": "Event",
        # Events about cluster-scoped objects are in the default namespace.
        "metadata": {
            "name": name,
            "namespace": event.namespace or "default",
            **_annotations(event),
        },
        "involvedObject": _reference(event),
        "type": str(event.type),
        "reason": event.reason,
        "message": truncated(event.message),
        "source": {"component": source},
        "reportingComponent": source,
        "firstTimestamp": time.render(first),
        "lastTimestamp": time.render(last),
        "count": count,
    }


def _annotations(event: Event) -> dict[str, dict[str, str]]:
    if not event.rule:
        return {}
    return {"annotations": {CHILD_ANNOTATION: event.child, RULE_ANNOTATION: event.rule}}


def _reference(event: Event) -> dict[str, str]:
    reference = {
        "apiVersion": event.api_version,
        "kind": event.kind,
        "namespace": event.namespace,
        "name": event.name,
        "uid": event.uid,
        "resourceVersion": event.resource_version,
    }
    return {key: value for key, value in reference.items() if value}


def truncated(message: str) -> str:
    """The message truncated to 1024 bytes of UTF-8, with an ellipsis."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= MAX_MESSAGE_BYTES:
        return encoded.decode()
    space = MAX_MESSAGE_BYTES - len(_ELLIPSIS.encode())
    return encoded[:space].decode("utf-8", "ignore") + _ELLIPSIS


class InvolvedObject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(msgspec.Struct, frozen=True, rename="camel"):
    count: int | None = None
    last_observed_time: str | None = None


class ObjectEvent(msgspec.Struct, frozen=True, rename="camel"):
    metadata: ObjectMeta
    involved_object: InvolvedObject = InvolvedObject()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None

    @property
    def last_seen(self) -> datetime | None:
        """When it last occurred. Writers of events.k8s.io, such as kube-scheduler, set only
        `eventTime`, and `series` if it occurs again."""
        times = (self._series.last_observed_time, self.last_timestamp, self.event_time)
        return next((found for each in times if (found := time.parse(each))), None)

    @property
    def occurrences(self) -> int:
        return self._series.count or self.count or 1

    @property
    def order(self) -> tuple[int, int]:
        """Sorts by time; events of the same second sort in the order in which they were stored.

        Fractions of a second do not count, because most writers leave them out.
        """
        second = 0 if self.last_seen is None else int(self.last_seen.timestamp())
        return second, number(self.metadata.resource_version) or 0

    @property
    def _series(self) -> EventSeries:
        return self.series or EventSeries()


class PodEvent(ObjectEvent, frozen=True, rename="camel"):
    """An event that the operator reads. Users write events too, so its message is cut."""

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE:
            msgspec.structs.force_setattr(self, "message", self.message[:MAX_MESSAGE])


class PodEventList(msgspec.Struct):
    items: Sequence[PodEvent] | None = None
