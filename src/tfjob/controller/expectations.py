"""Expectations: writes of this process that its informers have not delivered yet.

A job is not reconciled until its informers have seen the operator's own writes. So a slow watch
costs time, but never creates a child twice. Losing an expectation is safe: fixed child names and
preconditions prevent duplicates.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from tfjob.client.watch_codec import Key

MAX_WAIT: Final = 10.0
"""Seconds after which a job is reconciled even if an expectation is unmet."""


class VersionTracker(Protocol):
    """An informer that knows which resource version it has reached."""

    def is_caught_up(self, key: Key, version: str) -> bool: ...


class _Expected(msgspec.Struct, frozen=True):
    versions: Mapping[str, str]
    until: float
    poll_interval: float


class Expectations:
    """The versions that this process has written, by job and kind."""

    def __init__(self, caches: Mapping[str, VersionTracker], *, clock: Callable[[], float]) -> None:
        self._caches = caches
        self._clock = clock
        self._expected: dict[Key, _Expected] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def __contains__(self, key: Key) -> bool:
        return key in self._expected

    def expect(self, key: Key, versions: Mapping[str, str], *, poll_interval: float) -> None:
        """Expect the informers to deliver these versions; check every `poll_interval` seconds."""
        if versions:
            until = self._clock() + MAX_WAIT
            self._expected[key] = _Expected(versions, until, poll_interval)

    def unmet(self, key: Key) -> float | None:
        """Seconds until the next check if an expectation of the job is unmet; None if none is."""
        expected = self._expected.get(key)
        if expected is None:
            return None
        is_met = all(
            self._caches[kind].is_caught_up(key, version)
            for kind, version in expected.versions.items()
            if kind in self._caches
        )
        if is_met or self._clock() >= expected.until:
            del self._expected[key]
            return None
        return expected.poll_interval

    def forget(self, key: Key) -> None:
        self._expected.pop(key, None)


class CreatedHere:
    """Jobs that were created while this process was the synced leader, and of which it has seen
    no pods. No other process should have worked on them."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    def add(self, uid: str) -> None:
        self._uids.add(uid)

    def take(self, uid: str) -> bool:
        """Whether the job is one of them. True only the first time: after
        that, a missing child may have existed and been deleted."""
        is_known = uid in self._uids
        self._uids.discard(uid)
        return is_known

    def discard(self, uid: str) -> None:
        self._uids.discard(uid)

    def clear(self) -> None:
        self._uids.clear()
