"""An Event of the core API as a value, its name, and the object that is sent.

The name follows from the regarded object and a key, so that the same news told twice is one Event.
When an event is due, and how often it is told, is unknown here.
"""

import hashlib
from datetime import datetime
from typing import Any

import msgspec

from tfjob.k8s import time
from tfjob.k8s.names import LONGEST_SUBDOMAIN

LONGEST_MESSAGE = 1024
CHILD_ANNOTATION = "tfjob.dev/child"
RULE_ANNOTATION = "tfjob.dev/rule"
_HASH_BYTES = 8
_ELLIPSIS = "…"


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """News about one object: what happened, in a word for machines and a sentence for people.

    The type is `Normal` or `Warning`; the API knows no other.
    """

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
    """Who tells it, where that is another than the one who sends it."""
    child: str = ""
    rule: str = ""
    """The child that it is about and the rule that was applied to it, for machines."""


def event_name(event: Event, key: str) -> str:
    """`{object name}.{16 hex digits}`, the digits following from the object's UID and the key."""
    source = f"{event.uid}\0{key}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(source, digest_size=_HASH_BYTES).hexdigest()
    room = LONGEST_SUBDOMAIN - len(digest) - 1
    # A cut may end in a character that no name may have before a dot.
    return f"{event.name[:room].rstrip('-.')}.{digest}"


def manifest(
    event: Event, *, component: str, name: str, first: datetime, last: datetime, count: int
) -> dict[str, Any]:
    """The Event object that says it: told `count` times between `first` and `last`."""
    teller = event.component or component
    return {
        "apiVersion": "v1",
        "kind": "Event",
        # An object outside every namespace has its events in the default one.
        "metadata": {"name": name, "namespace": event.namespace or "default", **_why(event)},
        "involvedObject": _reference(event),
        "type": str(event.type),
        "reason": event.reason,
        "message": _shortened(event.message),
        "source": {"component": teller},
        "reportingComponent": teller,
        "firstTimestamp": time.render(first),
        "lastTimestamp": time.render(last),
        "count": count,
    }


def _why(event: Event) -> dict[str, dict[str, str]]:
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


def _shortened(message: str) -> str:
    """The message in at most 1024 bytes of UTF-8, a cut marked by an ellipsis."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= LONGEST_MESSAGE:
        return encoded.decode()
    room = LONGEST_MESSAGE - len(_ELLIPSIS.encode())
    return encoded[:room].decode("utf-8", "ignore") + _ELLIPSIS
