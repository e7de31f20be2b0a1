"""Slow start: creates go out in growing batches, and a refused create stops the rest.

Quota, admission and missing rights refuse all children of one kind and type alike, so the first
refusal tells what thousands more would. After one, creates of that sort wait with exponential
back-off, whatever other news brings the job to a pass meanwhile.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from tfjob.client.backoff import exponential
from tfjob.core.job import Job
from tfjob.core.plan import Create

T = TypeVar("T")

FIRST_BACKOFF: Final = 0.1
LONGEST_BACKOFF: Final = 60.0
_PROBE: Final = 1
_FIRST_BATCH: Final = 8
"""The batch after a first create that went well: most jobs are made in two round trips."""
_MOST_JOBS: Final = 50_000
"""Jobs whose refusals are kept; the oldest is forgotten and merely tried again sooner."""


class ChildGroup(NamedTuple):
    """Children that one rule admits or refuses: of one kind, and made from one template."""

    kind: str
    type: str


def group_of(create: Create) -> ChildGroup:
    return ChildGroup(create.kind, create.type)


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """One item, then 8, then twice as many each time."""
    start, size = 0, _PROBE
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, max(_FIRST_BATCH, 2 * size)


class CreateRefusal(msgspec.Struct, frozen=True):
    """Why creates of one sort were refused, how often in a row, and when to try again."""

    message: str
    failures: int
    until: float
    templates: int


class CreateBackoff:
    """The refusals of all jobs. It is a courtesy: forgetting one costs a request."""

    def __init__(self, clock: Callable[[], float], *, most: int = _MOST_JOBS) -> None:
        self._clock = clock
        self._most = most
        self._jobs: OrderedDict[str, dict[ChildGroup, CreateRefusal]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._jobs)

    def begin(self, job: Job, sorts: set[ChildGroup]) -> None:
        """Forget refusals of what is no longer to be made, or is now made from another template."""
        known = self._jobs.get(job.owner.uid)
        if known is None:
            return
        templates = _templates(job)
        for sort, refusal in list(known.items()):
            if sort not in sorts or refusal.templates != templates:
                self.forget(job, sort)

    def pending(self, job: Job, sort: ChildGroup) -> CreateRefusal | None:
        """The refusal for which creates of this sort still wait."""
        found = self._jobs.get(job.owner.uid, {}).get(sort)
        return found if found is not None and self._clock() < found.until else None

    def left(self, refusal: CreateRefusal) -> float:
        """Seconds until the creates may be tried again."""
        return max(0.0, refusal.until - self._clock())

    def refused(self, job: Job, sort: ChildGroup, message: str) -> CreateRefusal:
        known = self._jobs.setdefault(job.owner.uid, {})
        failures = known[sort].failures if sort in known else 0
        delay = exponential(failures, first=FIRST_BACKOFF, longest=LONGEST_BACKOFF)
        made = CreateRefusal(message, failures + 1, self._clock() + delay, _templates(job))
        known[sort] = made
        self._jobs.move_to_end(job.owner.uid)
        if len(self._jobs) > self._most:
            self._jobs.popitem(last=False)
        return made

    def forget(self, job: Job, sort: ChildGroup) -> None:
        """A create went well, or none is wanted: the next refusal is the first."""
        known = self._jobs.get(job.owner.uid)
        if known is None:
            return
        known.pop(sort, None)
        if not known:
            del self._jobs[job.owner.uid]

    def forget_job(self, uid: str) -> None:
        """The job is gone."""
        self._jobs.pop(uid, None)


def _templates(job: Job) -> int:
    return hash(msgspec.json.encode([each.template for each in job.replicas]))
