"""Slow start: children are created in growing batches, and a refused create stops the rest.

Quotas, admission and missing permissions refuse all children of one kind and type alike. After a
refusal, creates of that group wait with exponential backoff, even if the job is reconciled for
other reasons meanwhile.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from tfjob.client.errors import ApiError, NamespaceTerminating, TooManyRequests, Unauthorized
from tfjob.client.flowcontrol import exponential_delay
from tfjob.core.job import Job
from tfjob.core.plan import Create

T = TypeVar("T")

INITIAL_BACKOFF: Final = 0.1
MAX_BACKOFF: Final = 60.0
_PROBE: Final = 1
_FIRST_BATCH: Final = 8
"""The size of the second batch: most jobs get all their children in two round trips."""
_MAX_JOBS: Final = 50_000
"""Jobs whose refusals are kept. Beyond that the oldest is dropped, and retried sooner."""


class ChildGroup(NamedTuple):
    """Children of one kind and one template: the server admits or refuses them alike."""

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
    """Why creates of one group were refused, how often in a row, and when to retry."""

    message: str
    failures: int
    until: float
    templates: int


class CreateBackoff:
    """The refused creates of all jobs. Losing a refusal costs one request."""

    def __init__(self, clock: Callable[[], float], *, max_jobs: int = _MAX_JOBS) -> None:
        self._clock = clock
        self._max_jobs = max_jobs
        self._jobs: OrderedDict[str, dict[ChildGroup, CreateRefusal]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._jobs)

    def forget_outdated(self, job: Job, groups: set[ChildGroup]) -> None:
        """Forget refusals of groups that are no longer wanted or have a new template."""
        known = self._jobs.get(job.owner.uid)
        if known is None:
            return
        templates = _templates(job)
        for group, refusal in list(known.items()):
            if group not in groups or refusal.templates != templates:
                self.forget(job, group)

    def pending(self, job: Job, group: ChildGroup) -> CreateRefusal | None:
        """The refusal that this group is backing off for, if any."""
        found = self._jobs.get(job.owner.uid, {}).get(group)
        return found if found is not None and self._clock() < found.until else None

    def seconds_left(self, refusal: CreateRefusal) -> float:
        """Seconds until the creates may be retried."""
        return max(0.0, refusal.until - self._clock())

    def record_refusal(self, job: Job, group: ChildGroup, message: str) -> CreateRefusal:
        known = self._jobs.setdefault(job.owner.uid, {})
        failures = known[group].failures if group in known else 0
        delay = exponential_delay(failures, initial=INITIAL_BACKOFF, maximum=MAX_BACKOFF)
        refusal = CreateRefusal(message, failures + 1, self._clock() + delay, _templates(job))
        known[group] = refusal
        self._jobs.move_to_end(job.owner.uid)
        if len(self._jobs) > self._max_jobs:
            self._jobs.popitem(last=False)
        return refusal

    def forget(self, job: Job, group: ChildGroup) -> None:
        """Reset the backoff of a group, because a create succeeded or is no longer wanted."""
        known = self._jobs.get(job.owner.uid)
        if known is None:
            return
        known.pop(group, None)
        if not known:
            del self._jobs[job.owner.uid]

    def forget_job(self, uid: str) -> None:
        """Drop the state of a deleted job."""
        self._jobs.pop(uid, None)


def _templates(job: Job) -> int:
    return hash(msgspec.json.encode([each.template for each in job.replicas]))


def is_refusal(error: ApiError) -> bool:
    """Whether the server would refuse other creates of the group too, as a quota does.

    Outages are not refusals: the job itself is retried then.
    """
    if isinstance(error, NamespaceTerminating | Unauthorized):
        return False
    return isinstance(error, TooManyRequests) or not error.is_retryable
