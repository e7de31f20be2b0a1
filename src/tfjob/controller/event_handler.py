"""Maps a changed object to reconcile requests for its jobs.

Jobs are found by controller reference and by label. The pacer decides on delay and priority.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tfjob.client.watch_codec import HasMetadata, Key, key_of
from tfjob.client.workqueue import Priority
from tfjob.controller import predicates
from tfjob.controller.held_pods import is_held
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import Change, Pacer
from tfjob.controller.snapshot import Stores
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import Dialect
from tfjob.k8s.pod import Pod


class Request(NamedTuple):
    """A job to reconcile, after a delay in seconds."""

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
            if new is None:
                self._stores.ended_pods.forget_job(job.metadata)
            yield from self._requests(Change(key, old, new))

    def child_changed(self, old: HasMetadata | None, new: HasMetadata | None) -> Iterator[Request]:
        """Requests for the job that owns the child and the one that its label names, before and
        after the change. Unknown jobs are skipped, because their creation is a change of its own,
        unless they have held pods: nothing else would release those."""
        child = new or old
        if child is None:
            return
        meta = child.metadata
        self._track_held(old, new)
        if predicates.was_disturbed_after_end(old, new) and self._is_owner_known(old):
            self._stores.ended_pods.keep(old)
        siblings = partial(self._stores.pods.owned_by, meta.namespace, meta.controller_uid or "")
        for key in {key for item in (old, new) if item for key in self._jobs_of(item)}:
            if self._stores.jobs.get(key) is not None or self._stores.held_pods.of(key):
                yield from self._requests(Change(key, old, new, siblings))

    def _track_held(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        child, held = new or old, self._stores.held_pods
        if isinstance(child, Pod) and any(each and is_held(each.metadata) for each in (old, new)):
            is_kept = new is not None and is_held(new.metadata)
            held.put(key_of(child.metadata), self._jobs_of(child) if is_kept else ())

    def _is_owner_known(self, item: HasMetadata) -> bool:
        """Whether the controller of the child is a job that exists."""
        jobs = map(self._stores.jobs.get, _owners(item, self._dialect.kind))
        return any(job and job.metadata.uid == item.metadata.controller_uid for job in jobs)

    def _requests(self, change: Change) -> Iterator[Request]:
        schedule = self._pacer.schedule_for(change)
        if schedule is not None:
            yield Request(change.key, schedule.delay, schedule.priority)

    def _jobs_of(self, item: HasMetadata) -> set[Key]:
        owners = _owners(item, self._dialect.kind) or self._owners_of_batch_job(item)
        label = item.metadata.labels.get(self._dialect.job_label)
        return owners or ({(item.metadata.namespace, label)} if label else set())

    def _owners_of_batch_job(self, item: HasMetadata) -> set[Key]:
        """The owners of the batch Job that created a pod. A label cannot hold every job name."""
        if self._stores.batch_jobs is None:
            return set()
        batch_jobs = map(self._stores.batch_jobs.get, _owners(item, ChildKind.JOB))
        return {
            key
            for batch_job in batch_jobs
            if batch_job is not None and batch_job.metadata.uid == item.metadata.controller_uid
            for key in _owners(batch_job, self._dialect.kind)
        }


def _owners(item: HasMetadata, kind: str) -> set[Key]:
    meta = item.metadata
    return {
        (meta.namespace, owner.name)
        for owner in meta.owner_references
        if owner.controller and owner.kind == kind
    }
