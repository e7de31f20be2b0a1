"""Interns equal parts of cached objects to save memory: children of one job are much alike.

The content of an object does not change, but its lists become tuples. The known parts may be
dropped at any time.
"""

from typing import Any, Final, TypeVar

import msgspec

from tfjob.k8s.meta import ObjectMeta

P = TypeVar("P")

_MAX_KNOWN: Final = 20_000
_MIN_KNOWN: Final = 1000
_KNOWN_PER_OBJECT: Final = 8
"""Parts that are kept for each live object, so that parts of deleted objects do not accumulate."""


class Interner:
    """Replaces equal parts of objects by one shared instance."""

    def __init__(self, *, max_known: int = _MAX_KNOWN) -> None:
        self._max_known = max_known
        self._known: dict[Any, Any] = {}

    def compact(self, item: object, live: int = 0) -> None:
        """Share the object's parts with equal parts of earlier objects.

        `live` is the number of objects that exist. All parts are dropped when there are more than
        those objects can have.
        """
        if len(self._known) >= _MIN_KNOWN + _KNOWN_PER_OBJECT * live:
            self._known.clear()
        for name in getattr(item, "__struct_fields__", ()):
            part = getattr(item, name)
            if isinstance(part, ObjectMeta):
                self._compact_metadata(part)
            elif isinstance(part, msgspec.Struct):
                self._compact_lists(part)

    def _compact_metadata(self, meta: ObjectMeta) -> None:
        put = msgspec.structs.force_setattr
        put(meta, "namespace", self._intern(meta.namespace))
        put(meta, "creation_timestamp", self._intern(meta.creation_timestamp))
        put(meta, "owner_references", self._intern_all(meta.owner_references))
        if isinstance(meta.labels, dict):
            for name, value in meta.labels.items():
                meta.labels[name] = self._intern(value)

    def _compact_lists(self, part: msgspec.Struct) -> None:
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if isinstance(value, list):
                msgspec.structs.force_setattr(part, name, self._intern_all(value))

    def _intern_all(self, parts: Any) -> Any:
        return self._intern(tuple([self._intern(part) for part in parts]))

    def _intern(self, part: P) -> P:
        if len(self._known) >= self._max_known:
            self._known.clear()
        try:
            found: P = self._known.setdefault(part, part)
        except TypeError:  # Not hashable, so it cannot be shared.
            return part
        return found
