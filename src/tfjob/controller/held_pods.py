"""Pods held by a finalizer: which job each of them names, and how the finalizer is removed.

A job releases its own pods. A held pod that no job keeps is stray: its job was deleted, or it never
belonged to one. Stray pods are released too. Otherwise they would wait for a result that nobody
stores, or stay in a queue for a deleted job.
"""

import asyncio
from collections.abc import Collection, Sequence
from functools import partial

from tfjob.client.errors import ApiError, Conflict, Invalid, NotFound, NotLeadingError
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.http import STRATEGIC_PATCH, Api, PartialObjectMetadata
from tfjob.client.resource import PODS
from tfjob.client.watch_codec import Key
from tfjob.controller import controller_refs
from tfjob.core import queue_group, result_finalizer
from tfjob.core.job import FINALIZER
from tfjob.core.plan import FinalizerRemoval
from tfjob.core.scheduling_spec import QUEUE_FINALIZER
from tfjob.k8s.meta import ObjectMeta


class HeldPods:
    """The keys of held pods by the keys of the jobs that they name."""

    def __init__(self) -> None:
        self._jobs: dict[Key, frozenset[Key]] = {}
        self._pods: dict[Key, set[Key]] = {}

    @property
    def jobs(self) -> list[Key]:
        return list(self._pods)

    def of(self, job: Key) -> list[Key]:
        return list(self._pods.get(job, ()))

    def put(self, pod: Key, jobs: Collection[Key]) -> None:
        """Set the jobs that a held pod names; none if it is no longer held."""
        for job in self._jobs.pop(pod, ()):
            self._pods[job].discard(pod)
            if not self._pods[job]:
                del self._pods[job]
        if jobs:
            self._jobs[pod] = frozenset(jobs)
        for job in jobs:
            self._pods.setdefault(job, set()).add(pod)


def is_held(meta: ObjectMeta) -> bool:
    return result_finalizer.is_held(meta) or queue_group.is_queued(meta)


def removable_finalizers(meta: ObjectMeta) -> list[FinalizerRemoval]:
    """The finalizers to remove from a stray pod: that of a queue only if the pod is terminating."""
    found = [FINALIZER] if result_finalizer.is_held(meta) else []
    if queue_group.is_queued(meta) and meta.is_terminating:
        found.append(QUEUE_FINALIZER)
    return [FinalizerRemoval(name=meta.name, uid=meta.uid, finalizer=each) for each in found]


def is_stray(meta: ObjectMeta, *, job: str | None) -> bool:
    """Whether a held pod is not a child of the job with this UID.

    An orphan is not stray as long as the job may adopt it.
    """
    if meta.controller_uid is None:
        return job is None or meta.is_terminating
    return meta.controller_uid != job


async def free_stray(
    api: Api, pods: Sequence[ObjectMeta], *, pool: FairSemaphore, job_path: str
) -> list[ApiError]:
    """Remove the finalizers of pods that are stray according to the server; returns the errors."""
    errors: list[ApiError] = []

    async def remove_all(meta: ObjectMeta) -> None:
        try:
            for each in removable_finalizers(meta):
                await remove_finalizer(api, meta.namespace, each)
        except ApiError as error:
            errors.append(error)
        except NotLeadingError:
            return

    job = await controller_refs.live_uid(api, job_path)
    async with asyncio.TaskGroup() as group:
        for each in pods:
            if is_stray(each, job=job):
                work = pool.run(job_path, partial(remove_all, each), tenant=each.namespace)
                group.create_task(work)
    return errors


async def remove_finalizer(
    api: Api, namespace: str, removal: FinalizerRemoval
) -> PartialObjectMetadata | None:
    """Remove a finalizer from a pod; None if there is no such pod."""
    removed = {"$deleteFromPrimitiveList/finalizers": [removal.finalizer]}
    body = {"metadata": {"uid": removal.uid, **removed}}
    path, kind = PODS.item(removal.name, namespace), PartialObjectMetadata
    try:
        return await api.patch(path, body, decode=kind, content_type=STRATEGIC_PATCH)
    except (NotFound, Conflict):
        return None
    except Invalid as error:
        if not controller_refs.is_uid_mismatch(error):
            raise
        return None
