"""Remembers which jobs follow the rules of their CRD, so that each spec is checked once.

A job is reconciled many times, but its spec rarely changes. Forgetting a job costs one evaluation
of the rules; it never changes a result.
"""

from typing import Final

from tfjob.controller.job_object import JobObject

_MAX_JOBS: Final = 10_000


class CheckedSpecs:
    """The content of each checked spec as a hash, by UID. The oldest are forgotten first."""

    def __init__(self, limit: int = _MAX_JOBS) -> None:
        self._limit = limit
        self._hashes: dict[str, int] = {}

    def holds(self, stored: JobObject) -> bool:
        """Whether the job was added with the content that it has now."""
        return self._hashes.get(stored.metadata.uid) == _hash(stored)

    def add(self, stored: JobObject) -> None:
        uid = stored.metadata.uid
        if uid not in self._hashes and len(self._hashes) >= self._limit:
            del self._hashes[next(iter(self._hashes))]
        self._hashes[uid] = _hash(stored)


def _hash(stored: JobObject) -> int:
    """Everything that rules can see. Annotations count: they can hold parts of a spec."""
    annotations = frozenset(stored.metadata.annotations.items())
    return hash((stored.metadata.name, bytes(stored.spec), annotations))
