"""A job as the informer stores it: metadata decoded, spec and status kept as raw JSON.

Templates can be large, and most lookups of a job need its metadata only.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.nesting import CUT, TOO_DEEP, UNREADABLE, is_deep

_NOTHING: Final = msgspec.Raw(b"null")
_EMPTY: Final = frozenset({b"", b"null", b"{}"})


class Unreadable(msgspec.Struct, frozen=True):
    """Replaces a part of a job that cannot be parsed."""

    reason: str


class JobObject(msgspec.Struct, gc=False):
    metadata: ObjectMeta
    spec: msgspec.Raw = _NOTHING
    status: msgspec.Raw = _NOTHING

    def __post_init__(self) -> None:
        # Copies, because the originals keep the whole watch line in memory.
        self.spec = self.spec.copy()
        self.status = self.status.copy()

    @property
    def has_status(self) -> bool:
        """Whether a status was written."""
        return bytes(self.status) not in _EMPTY

    def stored_status(self) -> Mapping[str, Any]:
        found = _plain(self.status)
        return found if isinstance(found, Mapping) else {}

    def stored_spec(self) -> Mapping[str, Any]:
        found = _plain(self.spec)
        return found if isinstance(found, Mapping) else {}

    def manifest(self) -> dict[str, Any]:
        """The object as plain JSON, with the metadata that dialects read.

        If spec or status cannot be parsed, the spec is Unreadable and the status None.
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
                "labels": meta.labels,
                "annotations": meta.annotations,
                "creationTimestamp": meta.creation_timestamp,
                "deletionTimestamp": meta.deletion_timestamp,
            },
            "spec": spec,
            "status": status,
        }


def _plain(raw: msgspec.Raw) -> Any:
    """The decoded JSON, or Unreadable."""
    text = bytes(raw)
    if text == CUT or is_deep(text):
        return Unreadable(TOO_DEEP)
    try:
        return msgspec.json.decode(text)
    except UNREADABLE as fault:
        return Unreadable(str(fault))
