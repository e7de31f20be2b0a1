"""A job object as it is cached: metadata read, spec and status still the bytes they came as.

Most jobs are looked at far more often than they are decided about, and a template can be large.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.nesting import CUT, TOO_DEEP, UNREADABLE, is_deep

_NOTHING: Final = msgspec.Raw(b"null")
_EMPTY: Final = frozenset({b"", b"null", b"{}"})


class Unreadable(msgspec.Struct, frozen=True):
    """Stands for a part of a job that cannot be read, and says why."""

    reason: str


class JobObject(msgspec.Struct, gc=False):
    metadata: ObjectMeta
    spec: msgspec.Raw = _NOTHING
    status: msgspec.Raw = _NOTHING

    def __post_init__(self) -> None:
        # Detached from the line they came in, which holds the rest of the object too.
        self.spec = self.spec.copy()
        self.status = self.status.copy()

    @property
    def has_status(self) -> bool:
        """Whether anybody has written a status yet."""
        return bytes(self.status) not in _EMPTY

    def stored_status(self) -> Mapping[str, Any]:
        found = _plain(self.status)
        return found if isinstance(found, Mapping) else {}

    def manifest(self) -> dict[str, Any]:
        """The object as plain JSON, metadata cut down to what is read of it.

        A job of which a part cannot be read has Unreadable for its spec, and no status.
        """
        meta = self.metadata
        spec, status = _plain(self.spec), _plain(self.status)
        if isinstance(status, Unreadable):
            spec, status = status, None
        return {
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "annotations": meta.annotations,
                "creationTimestamp": meta.creation_timestamp,
                "deletionTimestamp": meta.deletion_timestamp,
            },
            "spec": spec,
            "status": status,
        }


def _plain(raw: msgspec.Raw) -> Any:
    """The JSON as it is, or why it cannot be read."""
    text = bytes(raw)
    if text == CUT or is_deep(text):
        return Unreadable(TOO_DEEP)
    try:
        return msgspec.json.decode(text)
    except UNREADABLE as fault:
        return Unreadable(str(fault))
