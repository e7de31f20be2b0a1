"""The incidents of a job: failures grouped into causes and what followed from them.

The earliest failure wins. The result depends on the set of failures, not on their order, and a
failure that is observed again changes nothing. An earlier failure that becomes known late takes
over the incident that it explains.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from tfjob.core.diagnosis.causes import DISRUPTIONS, Cause
from tfjob.core.diagnosis.consequences import has_own_evidence, is_alike, is_consequence
from tfjob.core.diagnosis.diagnosis import Incident, union
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
    for failure in failures:
        seen = failure.incident
        starts[seen.key] = failure.started
        if seen.key in known:
            known[seen.key] = _better(known[seen.key], seen)
        elif forgotten_until is None or seen.at > forgotten_until:
            known[seen.key] = seen
    found: list[Incident] = []
    followed: dict[str, Incident] = {}
    for each in sorted(known.values(), key=_order):
        started = starts.get(each.key)
        for place, earlier in enumerate(found):
            if is_consequence(job, each, of=earlier, started=started):
                found[place] = _followed(earlier, each)
                followed[each.key] = earlier
                break
            if is_alike(each, to=earlier, started=started):
                found[place] = _alike(earlier, each)
                break
        else:
            found.append(each)
    return tuple(found), followed


def _order(each: Incident) -> tuple[datetime, bool, str, int, str]:
    """Times are whole seconds: among equals, one with evidence of its own is the cause."""
    return each.at, not has_own_evidence(each), each.kind, each.index, each.key


def _followed(earlier: Incident, later: Incident) -> Incident:
    own = union(later.consequences, later.alike)
    added = union(own, {later.kind: frozenset({later.index})})
    changed = msgspec.structs.replace(
        earlier,
        consequences=union(earlier.consequences, added),
        until=max(earlier.last_loss, later.last_loss),
    )
    return _without_itself(changed)


def _alike(earlier: Incident, later: Incident) -> Incident:
    added = union(later.alike, {later.kind: frozenset({later.index})})
    return _without_itself(
        msgspec.structs.replace(
            earlier,
            alike=union(earlier.alike, added),
            consequences=union(earlier.consequences, later.consequences),
        )
    )


def _without_itself(each: Incident) -> Incident:
    """A replica that took part in an incident twice is named once, as the cause if it is that."""
    own = {each.kind: frozenset({each.index})}
    alike = _minus(each.alike, own)
    return msgspec.structs.replace(
        each, alike=alike, consequences=_minus(_minus(each.consequences, own), alike)
    )


def _minus(
    replicas: Mapping[str, frozenset[int]], taken: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int]]:
    left = {kind: each - taken.get(kind, frozenset()) for kind, each in replicas.items()}
    return {kind: each for kind, each in left.items() if each}


def _better(stored: Incident, seen: Incident) -> Incident:
    """The stored one, unless only now it shows what kind of disruption a deletion was."""
    if stored.cause is Cause.POD_DELETED and seen.cause in DISRUPTIONS - {Cause.POD_DELETED}:
        return msgspec.structs.replace(
            stored, cause=seen.cause, reason=seen.reason, detail=seen.detail
        )
    return stored
