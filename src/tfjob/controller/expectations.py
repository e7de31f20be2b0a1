"""What this process knows of writes: own ones that its caches have not seen, and jobs that no
other process can have written about.

A job is not reconciled before its own writes have come back, so that a slow watch costs time and
never a second child. All of it may be forgotten: names and preconditions keep things right then.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from tfjob.client.watch_codec import Key

LONGEST_WAIT: Final = 10.0
"""Seconds after which a job is reconciled although its writes have not come back."""


class Progressing(Protocol):
    """A cache that knows how far it has come."""

    def is_caught_up(self, key: Key, version: str) -> bool: ...


class _Expected(msgspec.Struct, frozen=True):
    versions: Mapping[str, str]
    until: float
    look_again: float


class Expectations:
    """Versions of own writes, by job and by the kind of what was written."""

    def __init__(self, caches: Mapping[str, Progressing], *, clock: Callable[[], float]) -> None:
        self._caches = caches
        self._clock = clock
        self._expected: dict[Key, _Expected] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def __contains__(self, key: Key) -> bool:
        return key in self._expected

    def expect(self, key: Key, versions: Mapping[str, str], *, look_again: float) -> None:
        """These versions come back; until then it is looked again after so many seconds."""
        if versions:
            until = self._clock() + LONGEST_WAIT
            self._expected[key] = _Expected(versions, until, look_again)

    def unmet(self, key: Key) -> float | None:
        """Seconds after which to look again for own writes; None where none is missing."""
        expected = self._expected.get(key)
        if expected is None:
            return None
        seen = all(
            self._caches[kind].is_caught_up(key, version)
            for kind, version in expected.versions.items()
            if kind in self._caches
        )
        if seen or self._clock() >= expected.until:
            del self._expected[key]
            return None
        return expected.look_again

    def forget(self, key: Key) -> None:
        self._expected.pop(key, None)


class CreatedHere:
    """Jobs that appeared while this process led and had seen everything: what the caches hold of
    them is all there ever was."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    def add(self, uid: str) -> None:
        self._uids.add(uid)

    def take(self, uid: str) -> bool:
        """Whether it is one; true once, for children that were made may have been lost since."""
        is_known = uid in self._uids
        self._uids.discard(uid)
        return is_known

    def discard(self, uid: str) -> None:
        self._uids.discard(uid)

    def clear(self) -> None:
        self._uids.clear()
