"""What one process remembers of its jobs, as a courtesy to the server: fewer requests for the same.

Everything here may be forgotten at any time. News that is kept back follows from the children and
is found again by whoever looks next, with a later start at most; a job that is not known to be new
is looked at afresh.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from tfjob.client.wire import Key
from tfjob.controller.objects import JobObject
from tfjob.core.status import JobStatus

AT_LEISURE: Final = 0.2
"""Seconds that news which nobody waits for is kept back, so that one write can tell it all."""
IN_A_RUSH: Final = 120.0
"""The same while others wait for their children."""
BEGINNING: Final = 2.0
"""The same for a job of which some replicas run, in a rush: the others will not be long."""


class _Held(msgspec.Struct, frozen=True):
    """A status that follows on the stored one of a job and is not stored itself yet."""

    until: float
    """However busy it is, it is stored then."""
    since: float
    uid: str
    stored: msgspec.Raw
    status: JobStatus


class Rest(msgspec.Struct, frozen=True):
    """There is nothing to do for one version of a job, as long as its children look the same."""

    version: str
    sight: int
    since: datetime
    until: datetime | None
    """When time alone makes a difference."""

    def covers(self, moment: datetime) -> bool:
        """A clock that was set back makes a difference, too."""
        return self.since <= moment and (self.until is None or moment < self.until)


class Memory:
    def __init__(self, *, is_busy: Callable[[], bool], clock: Callable[[], float]) -> None:
        self._is_busy = is_busy
        self._clock = clock
        self._held: dict[Key, _Held] = {}
        self._newborns: set[str] = set()
        self._resting: dict[Key, Rest] = {}

    def held(self, job: JobObject) -> JobStatus | None:
        """The status that is kept back for a job; it is newer than the one it has.

        A new spec or label makes no difference to that. A status that somebody else wrote does.
        """
        found = self._held.get(_key(job))
        if found is None or (found.uid, found.stored) != (job.metadata.uid, job.status):
            return None
        return found.status

    def hold(self, job: JobObject, status: JobStatus, *, begins: bool = False) -> float:
        """Keep a status back. Returns for how many seconds; for none when it was long enough.

        `begins`: it tells that the job runs, which is not stored yet.
        """
        now = self._clock()
        earlier = self._held.get(_key(job))
        # Counted from the first: somebody else who writes all the time must not hold up our news.
        since = now if earlier is None else earlier.since
        until = min(
            now + (BEGINNING if begins else IN_A_RUSH),
            since + IN_A_RUSH if earlier is None else earlier.until,
        )
        left = (until if self._is_busy() else since + AT_LEISURE) - now
        if left > 0:
            self._held[_key(job)] = _Held(until, since, job.metadata.uid, job.status, status)
        return left

    def relieve(self) -> list[Key]:
        """Once the rush is over: jobs whose news was kept back and is due at their next pass.

        However many they are: that they all wait for a worker now is no new rush.
        """
        if self._is_busy():
            return []
        now = self._clock()
        due = {key: msgspec.structs.replace(each, until=now) for key, each in self._held.items()}
        self._held = due
        return list(due)

    def is_holding(self, key: Key) -> bool:
        """Whether news of a job is kept back, so that it is looked at again in any case."""
        return key in self._held

    def told(self, job: JobObject) -> None:
        """No news is kept back any more."""
        self._held.pop(_key(job), None)

    def lay_to_rest(self, job: JobObject, rest: Rest) -> None:
        self._resting[_key(job)] = rest

    def rest_of(self, job: JobObject) -> Rest | None:
        """What was found out about a job as it is stored."""
        found = self._resting.get(_key(job))
        if found is None or found.version != _version(job) or _key(job) in self._held:
            return None
        return found

    def wake_all(self) -> None:
        """Every job is decided on again at its next pass."""
        self._resting.clear()

    def note_birth(self, job: JobObject) -> None:
        """A job has appeared while this process alone works: no other has worked on it."""
        self._newborns.add(job.metadata.uid)

    def note_end(self, job: JobObject) -> None:
        self._newborns.discard(job.metadata.uid)
        self._held.pop(_key(job), None)
        self._resting.pop(_key(job), None)

    def was_newborn(self, uid: str) -> bool:
        """Once: who has made children may have lost some of them since."""
        if uid not in self._newborns:
            return False
        self._newborns.remove(uid)
        return True

    def forget(self) -> None:
        """Another process may have worked on any job by now, or other rules may hold."""
        self._newborns.clear()
        self._held.clear()
        self._resting.clear()


def _key(job: JobObject) -> Key:
    return job.metadata.namespace, job.metadata.name


def _version(job: JobObject) -> str:
    return job.metadata.resource_version
