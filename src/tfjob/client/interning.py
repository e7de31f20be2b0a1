"""Keeps equal parts of many objects once: the children of one job, or of one second, are alike.

What an object says is not changed by it, only how much memory that takes; lists become tuples on
the way. Which parts are known may be forgotten at any time.
"""

from typing import Any, Final, TypeVar

import msgspec

from tfjob.k8s.meta import ObjectMeta

P = TypeVar("P")

_MOST_KNOWN: Final = 20_000
_LEAST_KNOWN: Final = 1000
_KNOWN_PER_OBJECT: Final = 8
"""Parts that are kept for each live object: parts of deleted objects must not pile up."""


class Interner:
    """Looks at objects as they are stored, and replaces the parts that it knows."""

    def __init__(self, *, most: int = _MOST_KNOWN) -> None:
        self._most = most
        self._known: dict[Any, Any] = {}

    def compact(self, item: object, live: int = 0) -> None:
        """Let an object share its equal parts with those that came before it.

        `live` is the number of objects that exist: more parts than those can have are forgotten.
        """
        if len(self._known) >= _LEAST_KNOWN + _KNOWN_PER_OBJECT * live:
            self._known.clear()
        for name in getattr(item, "__struct_fields__", ()):
            part = getattr(item, name)
            if isinstance(part, ObjectMeta):
                self._compact_metadata(part)
            elif isinstance(part, msgspec.Struct):
                self._compact_lists(part)

    def _compact_metadata(self, meta: ObjectMeta) -> None:
        put = msgspec.structs.force_setattr
        put(meta, "namespace", self._once(meta.namespace))
        put(meta, "creation_timestamp", self._once(meta.creation_timestamp))
        put(meta, "owner_references", self._once_each(meta.owner_references))
        if isinstance(meta.labels, dict):
            for name, value in meta.labels.items():
                meta.labels[name] = self._once(value)

    def _compact_lists(self, part: msgspec.Struct) -> None:
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if isinstance(value, list):
                msgspec.structs.force_setattr(part, name, self._once_each(value))

    def _once_each(self, parts: Any) -> Any:
        return self._once(tuple([self._once(part) for part in parts]))

    def _once(self, part: P) -> P:
        if len(self._known) >= self._most:
            self._known.clear()
        try:
            found: P = self._known.setdefault(part, part)
        except TypeError:  # It holds something that can change, and stays by itself.
            return part
        return found
