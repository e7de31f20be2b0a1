"""Caches which jobs are valid, and passes a decoded job on to its next reconcile.

A job is reconciled several times, but its spec rarely changes, so the hash of a valid job is kept.
The second reconcile of a job follows soon after the first, which leaves the decoded job for it.
Dropping an entry costs time, but never changes a result.
"""

from typing import Final, NamedTuple

from tfjob.controller.job_object import JobObject
from tfjob.core.job import Job
from tfjob.dialects.base import Settings

_MAX_CHECKED: Final = 10_000
_MAX_BYTES: Final = 512 * 1024
"""The total size of the specs whose decoded jobs are kept. A decoded job takes up to 17 times the
memory of its spec; the factor is largest for small specs."""


class _Decoded(NamedTuple):
    """A decoded job, the settings used to decode it, and the size of its spec."""

    job: Job
    settings: Settings
    size: int


class DecodedJobs:
    """The hashes of valid jobs, and some decoded jobs, by UID. The oldest are dropped first."""

    def __init__(self, *, max_checked: int = _MAX_CHECKED, max_bytes: int = _MAX_BYTES) -> None:
        self._max_checked = max_checked
        self._max_bytes = max_bytes
        self._hashes: dict[str, int] = {}
        self._decoded: dict[str, _Decoded] = {}
        self._bytes = 0

    def is_checked(self, stored: JobObject) -> bool:
        """Whether the job was checked and has not changed since."""
        return self._hashes.get(stored.metadata.uid) == _hash(stored)

    def mark_checked(self, stored: JobObject) -> None:
        """Remember that the job is valid."""
        uid = stored.metadata.uid
        if uid not in self._hashes and len(self._hashes) >= self._max_checked:
            del self._hashes[next(iter(self._hashes))]
        self._hashes[uid] = _hash(stored)
        self.drop(uid)

    def keep(self, stored: JobObject, job: Job, settings: Settings) -> None:
        """Keep a checked job in its decoded form."""
        uid, size = stored.metadata.uid, len(bytes(stored.spec))
        self.drop(uid)
        if size > self._max_bytes or not self.is_checked(stored):
            return
        self._decoded[uid] = _Decoded(job, settings, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self.drop(next(iter(self._decoded)))

    def take(self, stored: JobObject, settings: Settings) -> Job | None:
        """Remove and return the decoded form of a checked job. Its status may be outdated."""
        found = self.drop(stored.metadata.uid)
        return None if found is None or found.settings is not settings else found.job

    def forget(self, uid: str) -> None:
        """Drop the state of a deleted job."""
        self._hashes.pop(uid, None)
        self.drop(uid)

    def drop(self, uid: str) -> _Decoded | None:
        """Drop a decoded job, but not the fact that it was checked."""
        found = self._decoded.pop(uid, None)
        if found is not None:
            self._bytes -= found.size
        return found


def _hash(stored: JobObject) -> int:
    """A hash of everything that decoding reads, except the status. Annotations can hold parts of a
    spec, and a label names the queue of the job."""
    meta = stored.metadata
    marks = (frozenset(meta.annotations.items()), frozenset(meta.labels.items()))
    return hash((meta.name, bytes(stored.spec), marks, meta.deletion_timestamp))
