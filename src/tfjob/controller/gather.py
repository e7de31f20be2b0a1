"""From a key to the core's input: the job as its dialect reads it, and its children.

Reads caches only, but for the facts that are asked for by name. Changes nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

import msgspec

from tfjob.client.store import Store
from tfjob.client.wire import HasMetadata, Key
from tfjob.controller.facts import Facts
from tfjob.controller.objects import JobObject
from tfjob.core import stuck
from tfjob.core.claim import Claim, claim_of
from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import Dialect, Settings
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod
from tfjob.k8s.podgroup import PodGroup
from tfjob.k8s.service import Service
from tfjob.k8s.standing import Standing

T = TypeVar("T", bound=HasMetadata)
Stray = tuple[str, ObjectMeta, Claim]
"""Kind, metadata, and what to do with it."""


class Stores(msgspec.Struct):
    """What is known of one dialect's jobs and their children."""

    jobs: Store[JobObject]
    pods: Store[Pod]
    services: Store[Service]
    batch_jobs: Store[BatchJob] | None = None
    pod_groups: Store[PodGroup] | None = None
    companions: Sequence[tuple[str, Store[Standing]]] = ()


class Gathered(msgspec.Struct):
    """One job, ready to be decided about. `strays` are children to adopt or to release."""

    stored: JobObject
    job: Job | InvalidJob
    children: Children = Children()
    strays: Sequence[Stray] = ()


class Clock(Protocol):
    def __call__(self) -> datetime: ...


class Gatherer:
    def __init__(
        self, dialect: Dialect, settings: Settings, *, stores: Stores, facts: Facts, now: Clock
    ) -> None:
        self._dialect = dialect
        self._settings = settings
        self._stores = stores
        self._facts = facts
        self._now = now

    async def gather(self, key: Key) -> Gathered | None:
        """Everything about one job, or None when there is no such job."""
        stored = self._stores.jobs.get(key)
        if stored is None:
            return None
        job = self.decode(stored)
        if isinstance(job, InvalidJob):
            return Gathered(stored=stored, job=job, children=self._owned(job.owner.uid))
        pods, stray_pods = self._claimed(job, self._stores.pods)
        services, stray_services = self._claimed(job, self._stores.services)
        return Gathered(
            stored=stored,
            job=job,
            children=await self._children(job, pods, services),
            strays=[
                *((ChildKind.POD, meta, claim) for meta, claim in stray_pods),
                *((ChildKind.SERVICE, meta, claim) for meta, claim in stray_services),
            ],
        )

    def decode(self, stored: JobObject) -> Job | InvalidJob:
        return self._dialect.decode(stored.manifest(), self._settings)

    def _owned(self, uid: str) -> Children:
        """What still runs of a job that cannot be read: its owner is all there is to go by."""
        pods, services = self._stores.pods, self._stores.services
        return Children(pods=pods.owned_by(uid), services=services.owned_by(uid))

    async def _children(
        self, job: Job, pods: Sequence[Pod], services: Sequence[Service]
    ) -> Children:
        uid, stores = job.owner.uid, self._stores
        groups = stores.pod_groups.owned_by(uid) if stores.pod_groups else []
        now = self._now()
        stuck_on = {pod.spec.node_name for pod in pods if stuck.is_stuck(pod, now=now)}
        return Children(
            pods=pods,
            services=services,
            jobs=stores.batch_jobs.owned_by(uid) if stores.batch_jobs else (),
            pod_group=groups[0] if groups else None,
            companions={
                (kind, each.metadata.name): each
                for kind, store in stores.companions
                for each in store.owned_by(uid)
            },
            lost_nodes=await self._facts.lost_nodes(stuck_on) if stuck_on else frozenset(),
            priorities=await self._facts.priorities(_priority_classes(job)) if job.gang else {},
        )

    def _claimed(self, job: Job, store: Store[T]) -> tuple[list[T], list[tuple[ObjectMeta, Claim]]]:
        """The job's children of one kind, and those to adopt or release first."""
        kept: list[T] = []
        strays: list[tuple[ObjectMeta, Claim]] = []
        own = store.owned_by(job.owner.uid)
        named = store.labelled(job.namespace, job.claim.get(self._dialect.job_label, ""))
        orphans = [each for each in named if each.metadata.controller_uid is None]
        for each in (*own, *orphans):
            verdict = claim_of(job, each.metadata)
            if verdict is Claim.KEEP:
                kept.append(each)
            elif verdict is not Claim.IGNORE:
                strays.append((each.metadata, verdict))
        return kept, strays


def _priority_classes(job: Job) -> set[str]:
    names = ((each.template.get("spec") or {}).get("priorityClassName") for each in job.replicas)
    return {name for name in names if isinstance(name, str) and name}
