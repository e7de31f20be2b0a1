"""A job object as it is cached: metadata read, spec and status still the bytes they came as.

Most jobs are looked at far more often than they are decided about, and a template can be large.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tfjob.k8s.meta import ObjectMeta

_NOTHING = msgspec.Raw(b"null")
_EMPTY = frozenset({b"", b"null", b"{}"})


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
        """The object as plain JSON, metadata cut down to what is read of it."""
        meta = self.metadata
        return {
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "annotations": meta.annotations,
                "creationTimestamp": meta.creation_timestamp,
                "deletionTimestamp": meta.deletion_timestamp,
            },
            "spec": _plain(self.spec),
            "status": _plain(self.status),
        }


def _plain(raw: msgspec.Raw) -> Any:
    """The JSON as it is; one nested beyond reason is told as text, which no rule accepts."""
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        return "nested too deeply to be read"
