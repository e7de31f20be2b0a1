"""Remembers decoded jobs, so that an unchanged spec is checked once and decoded once or twice.

A job is reconciled several times while it starts, and again when it ends, but its spec rarely
changes. That it follows the rules of its CRD is remembered as a hash; the job itself only until it
is settled, because it takes much more memory. Forgetting costs work, and never changes a result.
"""

from typing import Final, NamedTuple

from tfjob.controller.job_object import JobObject
from tfjob.core.job import Job
from tfjob.dialects.base import Settings

_MAX_CHECKED: Final = 10_000
_MAX_BYTES: Final = 512 * 1024
"""The size of all specs whose decoded jobs are kept. Decoded, a small spec takes 17 times as much
memory, and a large one less."""


class _Decoded(NamedTuple):
    """A decoded job, the settings that it was decoded with, and the size of its spec."""

    job: Job
    settings: Settings
    size: int


class DecodedJobs:
    """The content of each checked job as a hash, and decoded jobs, by UID. The oldest are
    forgotten first."""

    def __init__(self, *, max_checked: int = _MAX_CHECKED, max_bytes: int = _MAX_BYTES) -> None:
        self._max_checked = max_checked
        self._max_bytes = max_bytes
        self._hashes: dict[str, int] = {}
        self._decoded: dict[str, _Decoded] = {}
        self._bytes = 0

    def is_checked(self, stored: JobObject) -> bool:
        """Whether the job was added with the content that it has now."""
        return self._hashes.get(stored.metadata.uid) == _hash(stored)

    def of_checked(self, stored: JobObject, settings: Settings) -> Job | None:
        """The decoded job of one that `is_checked`, with the status that it had then."""
        found = self._decoded.get(stored.metadata.uid)
        return None if found is None or found.settings is not settings else found.job

    def add(self, stored: JobObject, job: Job, settings: Settings) -> None:
        """Keep a job that follows the rules."""
        uid, size = stored.metadata.uid, len(bytes(stored.spec))
        if uid not in self._hashes and len(self._hashes) >= self._max_checked:
            del self._hashes[next(iter(self._hashes))]
        self._hashes[uid] = _hash(stored)
        self.drop(uid)
        if size > self._max_bytes:
            return
        self._decoded[uid] = _Decoded(job, settings, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self.drop(next(iter(self._decoded)))

    def drop(self, uid: str) -> None:
        """Forget a decoded job, which is settled or deleted, but not that it was checked."""
        found = self._decoded.pop(uid, None)
        if found is not None:
            self._bytes -= found.size


def _hash(stored: JobObject) -> int:
    """Everything but the status that decoding reads. Annotations can hold parts of a spec."""
    meta = stored.metadata
    annotations = frozenset(meta.annotations.items())
    return hash((meta.name, bytes(stored.spec), annotations, meta.deletion_timestamp))
