"""The incidents of a job: failures, each grouped with its consequences and with similar failures.

The earliest failure is the cause. The result depends on the set of failures, not on the order in
which they are observed, and observing a failure again changes nothing. An earlier failure that is
observed late takes over the incident that it explains.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from tfjob.core.diagnosis.causes import DISRUPTIONS, Cause
from tfjob.core.diagnosis.consequences import (
    WINDOW,
    has_own_evidence,
    is_alike,
    is_consequence,
    is_coupled,
    signature,
)
from tfjob.core.diagnosis.diagnosis import Incident, Replicas, union
from tfjob.core.diagnosis.failures import Failure
from tfjob.core.job import Job


def merged(
    job: Job,
    stored: Sequence[Incident],
    failures: Iterable[Failure],
    *,
    forgotten_until: datetime | None = None,
) -> tuple[Incident, ...]:
    """The incidents after these failures were observed.

    Unknown failures up to `forgotten_until` are ignored: they may belong to incidents that are no
    longer stored.
    """
    return _grouped(job, stored, failures, forgotten_until=forgotten_until)[0]


def followers(
    job: Job, stored: Sequence[Incident], failures: Iterable[Failure]
) -> Mapping[str, Incident]:
    """The failures, by key, that are only consequences, each with the incident it belongs to."""
    return _grouped(job, stored, failures, forgotten_until=None)[1]


def _grouped(
    job: Job,
    stored: Sequence[Incident],
    failures: Iterable[Failure],
    *,
    forgotten_until: datetime | None,
) -> tuple[tuple[Incident, ...], Mapping[str, Incident]]:
    known = {each.key: each for each in stored}
    starts: dict[str, datetime | None] = {}
    superseded: list[Failure] = []
    for failure in failures:
        seen = failure.incident
        if failure.follows:
            superseded.append(failure)
            continue
        starts[seen.key] = failure.started
        if seen.key in known:
            known[seen.key] = _better(known[seen.key], seen)
        elif forgotten_until is None or seen.at > forgotten_until:
            known[seen.key] = seen
    groups = _Groups(job, stored={each.key for each in stored}, seen=starts.keys())
    for each in sorted(known.values(), key=_order):
        groups.add(each, started=starts.get(each.key))
    for failure in superseded:
        groups.supersede(failure.incident, because_of=failure.follows)
    return groups.incidents(), groups.followed


def _order(each: Incident) -> tuple[datetime, bool, str, int, str]:
    """Times are whole seconds: among equals, one with evidence of its own is the cause."""
    return each.at, not has_own_evidence(each), each.kind, each.index, each.key


class _Group:
    """An incident, and the replicas that belong to it."""

    def __init__(self, first: Incident, place: int) -> None:
        self.first = first
        """The first failure, with the times of those added so far."""
        self.place = place
        self._followers: list[Incident] = []
        self._alike: list[Incident] = []

    def follow(self, later: Incident) -> None:
        self._followers.append(later)
        self._set(until=_latest(self.first.until, later.last_loss))

    def join(self, later: Incident) -> None:
        self._alike.append(later)
        self._set(
            until=_latest(self.first.until, later.until),
            alike_until=_latest(self.first.alike_until, later.lost_until),
        )

    def _set(self, **times: datetime | None) -> None:
        self.first = msgspec.structs.replace(self.first, **times)

    def incident(self) -> Incident:
        """The incident. A replica with several failures is listed once: as the cause, then as
        alike, then as a consequence."""
        first = self.first
        if not (self._followers or self._alike):
            return first
        own = {first.kind: frozenset({first.index})}
        later = [*self._followers, *self._alike]
        alike = union(first.alike, *_named(self._alike), *(each.alike for each in self._alike))
        followed = union(
            first.consequences,
            *_named(self._followers),
            *(each.alike for each in self._followers),
            *(each.consequences for each in later),
        )
        alike = _minus(alike, own)
        return msgspec.structs.replace(
            first,
            alike=alike,
            consequences=_minus(_minus(followed, own), alike),
        )


class _Groups:
    """The incidents so far. Failures are added in order of time.

    If a large job fails as a whole, every failure may be an incident. A failure is only compared
    with incidents that it can belong to, so that the cost does not grow with the square of their
    number.
    """

    def __init__(self, job: Job, *, stored: AbstractSet[str], seen: AbstractSet[str]) -> None:
        self._job = job
        self._stored = stored
        self._seen = seen
        self._groups: list[_Group] = []
        self._by_kind: dict[str, deque[_Group]] = {}
        self._by_signature: dict[tuple[str, ...], deque[_Group]] = {}
        self._couplings: dict[tuple[str, str], bool] = {}
        self._group_of: dict[str, _Group] = {}
        self.followed: dict[str, Incident] = {}

    def add(self, each: Incident, *, started: datetime | None) -> None:
        """Add a failure to the first incident that it belongs to, or as a new one."""
        cause = self._cause_of(each, started=started)
        similar = self._similar_to(each, started=started)
        if cause is not None and (similar is None or cause.place <= similar.place):
            cause.follow(each)
            self._group_of[each.key] = cause
            self.followed[each.key] = cause.first
        elif similar is not None:
            similar.join(each)
            self._group_of[each.key] = similar
        else:
            self._start(each)

    def supersede(self, each: Incident, *, because_of: str) -> None:
        """Add a replica that the operator restarts because of a failure, if that is known."""
        group = self._group_of.get(because_of)
        if group is not None:
            group.follow(each)

    def incidents(self) -> tuple[Incident, ...]:
        return tuple(each.incident() for each in self._groups)

    def _start(self, each: Incident) -> None:
        group = _Group(each, len(self._groups))
        self._groups.append(group)
        self._group_of[each.key] = group
        self._by_kind.setdefault(each.kind, deque()).append(group)
        found = signature(each)
        if found is not None:
            self._by_signature.setdefault(found, deque()).append(group)

    def _cause_of(self, each: Incident, *, started: datetime | None) -> _Group | None:
        """The first incident of which this failure is a consequence."""
        if has_own_evidence(each):
            return None

        def follows(group: _Group) -> bool:
            return is_consequence(each, of=group.first, started=started)

        found = [
            self._first(groups, each, follows)
            for groups in self._by_kind.values()
            if groups and self._is_coupled(groups[0].first, each)
        ]
        return min(filter(None, found), key=lambda group: group.place, default=None)

    def _similar_to(self, each: Incident, *, started: datetime | None) -> _Group | None:
        """The first incident with the same cause as this failure."""

        def is_similar(group: _Group) -> bool:
            return is_alike(each, to=group.first, started=started)

        wanted = signature(each)
        groups = None if wanted is None else self._by_signature.get(wanted)
        return None if groups is None else self._first(groups, each, is_similar)

    def _first(
        self, groups: deque[_Group], each: Incident, belongs: Callable[[_Group], bool]
    ) -> _Group | None:
        """The first group within the window that the failure belongs to."""
        while groups and each.at - groups[0].first.lost_until > WINDOW:
            groups.popleft()
        own = (group for group in groups if belongs(group) and not self._is_apart(each, group))
        return next(own, None)

    def _is_apart(self, each: Incident, group: _Group) -> bool:
        """Whether both are stored as separate incidents. The start of the run that separated them
        can no longer be observed."""
        if each.key in self._seen:
            return False
        return each.key in self._stored and group.first.key in self._stored

    def _is_coupled(self, lost: Incident, survivor: Incident) -> bool:
        pair = lost.kind, survivor.kind
        if pair not in self._couplings:
            self._couplings[pair] = is_coupled(self._job, lost=lost, survivor=survivor)
        return self._couplings[pair]


def _named(failures: Iterable[Incident]) -> list[Replicas]:
    """The replicas that failed, by type."""
    found: dict[str, set[int]] = {}
    for each in failures:
        found.setdefault(each.kind, set()).add(each.index)
    return [{kind: frozenset(each)} for kind, each in found.items()]


def _latest(*moments: datetime | None) -> datetime | None:
    return max((each for each in moments if each is not None), default=None)


def _minus(replicas: Replicas, taken: Replicas) -> Replicas:
    left = {kind: each - taken.get(kind, frozenset()) for kind, each in replicas.items()}
    return {kind: each for kind, each in left.items() if each}


def _better(stored: Incident, seen: Incident) -> Incident:
    """The stored incident. A deletion is updated once the kind of disruption is known."""
    if stored.cause is Cause.POD_DELETED and seen.cause in DISRUPTIONS - {Cause.POD_DELETED}:
        return msgspec.structs.replace(
            stored, cause=seen.cause, reason=seen.reason, detail=seen.detail
        )
    return stored
