"""From a changed object to the jobs that are to be reconciled, and when.

Finds the jobs by owner and by label. When each has its turn is asked of the pacer.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.client.workqueue import Priority
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import Change, Pacer
from tfjob.controller.snapshot import Stores
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import Dialect


class Request(NamedTuple):
    """A job to reconcile after so many seconds."""

    key: Key
    delay: float
    priority: Priority


class EventHandler:
    def __init__(self, dialect: Dialect, *, stores: Stores, pacer: Pacer) -> None:
        self._dialect = dialect
        self._stores = stores
        self._pacer = pacer

    def job_changed(self, old: JobObject | None, new: JobObject | None) -> Iterator[Request]:
        job = old or new
        if job is not None:
            key = (job.metadata.namespace, job.metadata.name)
            yield from self._requests(Change(key, old, new))

    def child_changed(self, old: HasMetadata | None, new: HasMetadata | None) -> Iterator[Request]:
        """For the job that owns a child and the one it names: a child may change its owner.

        A job that is not there is not asked for: should it come, that is a change of its own.
        """
        child = new or old
        if child is None:
            return
        meta = child.metadata
        siblings = partial(self._stores.pods.owned_by, meta.namespace, meta.controller_uid or "")
        for key in {key for item in (old, new) if item for key in self._jobs_of(item)}:
            if self._stores.jobs.get(key) is not None:
                yield from self._requests(Change(key, old, new, siblings))

    def _requests(self, change: Change) -> Iterator[Request]:
        turn = self._pacer.delay_for(change)
        if turn is not None:
            yield Request(change.key, turn.delay, turn.priority)

    def _jobs_of(self, item: HasMetadata) -> set[Key]:
        owners = _owners(item, self._dialect.kind) or self._owners_of_maker(item)
        label = item.metadata.labels.get(self._dialect.job_label)
        return owners or ({(item.metadata.namespace, label)} if label else set())

    def _owners_of_maker(self, item: HasMetadata) -> set[Key]:
        """The jobs whose batch Job made a pod: a label may be too short for the name of a job."""
        if self._stores.batch_jobs is None:
            return set()
        makers = map(self._stores.batch_jobs.get, _owners(item, ChildKind.JOB))
        return {
            key
            for maker in makers
            if maker is not None and maker.metadata.uid == item.metadata.controller_uid
            for key in _owners(maker, self._dialect.kind)
        }


def _owners(item: HasMetadata, kind: str) -> set[Key]:
    meta = item.metadata
    return {
        (meta.namespace, owner.name)
        for owner in meta.owner_references
        if owner.controller and owner.kind == kind
    }
