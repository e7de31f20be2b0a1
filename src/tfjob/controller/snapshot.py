"""From a key to the core's input: the job as its dialect reads it, and its children.

Reads caches only, but for the facts that are asked for by name. Changes nothing.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

import msgspec

from tfjob.client.store import Store
from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.job_object import JobObject, Unreadable
from tfjob.controller.tokens import random_token
from tfjob.core import stuck_pods
from tfjob.core.claim import Claim, claim_of
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job, Owner, Workload
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import Dialect, Manifest, Settings
from tfjob.k8s import field
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.companion import CompanionObject
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod
from tfjob.k8s.podgroup import PodGroup
from tfjob.k8s.service import Service

T = TypeVar("T", bound=HasMetadata)
_log: Final = logging.getLogger(__name__)
_MOST_UNPARSED: Final = 1000
_UNPARSED: Final = (
    "the job is not worked on and what runs of it is left as it is; store it without that, or "
    "delete it"
)
PendingClaim = tuple[str, ObjectMeta, Claim]
"""Kind, metadata, and what to do with it."""


class Stores(msgspec.Struct):
    """What is known of one dialect's jobs and their children."""

    jobs: Store[JobObject]
    pods: Store[Pod]
    services: Store[Service]
    batch_jobs: Store[BatchJob] | None = None
    pod_groups: Store[PodGroup] | None = None
    companions: Mapping[str, Store[CompanionObject]] = {}


class Snapshot(msgspec.Struct):
    """One job, ready to be decided about. `strays` are children to adopt or to release."""

    stored: JobObject
    manifest: Manifest
    job: Job | InvalidJob
    children: Children = Children()
    to_claim: Sequence[PendingClaim] = ()


class Clock(Protocol):
    def __call__(self) -> datetime: ...


class SnapshotReader:
    """`settings` may change while it works: optional APIs come and are then served."""

    def __init__(
        self,
        dialect: Dialect,
        settings: Settings,
        *,
        stores: Stores,
        facts: ClusterLookups,
        now: Clock,
        token: Callable[[], str] = random_token,
    ) -> None:
        self._dialect = dialect
        self.settings = settings
        self.stores = stores
        self._facts = facts
        self.now = now
        self._token = token
        self._unparsed: set[str] = set()

    async def read(self, key: Key) -> Snapshot | None:
        """Everything about one job, or None when there is no such job."""
        stored = self.stores.jobs.get(key)
        if stored is None:
            return None
        manifest = stored.manifest()
        job = self._read(manifest)
        found = Snapshot(stored=stored, manifest=manifest, job=job)
        if isinstance(job, InvalidJob):
            found.children = self._owned(job.owner)
            return found
        batch_jobs = self._batch_jobs(job.owner)
        pods, stray_pods = self._pods(job, batch_jobs)
        services, stray_services = self._claimed(job, self.stores.services)
        found.to_claim = [
            *((ChildKind.POD, meta, claim) for meta, claim in stray_pods),
            *((ChildKind.SERVICE, meta, claim) for meta, claim in stray_services),
        ]
        found.children = await self._children(
            job, Children(pods=pods, jobs=batch_jobs, services=services)
        )
        return found

    def fingerprint(self, stored: JobObject) -> int:
        """Another number as soon as one of a job's children changes, or one that names the job."""
        meta = stored.metadata
        found = [
            child.metadata.resource_version
            for store in (self.stores.pods, self.stores.services)
            for child in (
                *store.owned_by(meta.namespace, meta.uid),
                *store.labelled(meta.namespace, meta.name),
            )
        ]
        return hash(tuple(found))

    def is_plain(self, found: Snapshot) -> bool:
        """Whether the job was decided on by what `fingerprint` covers, and by nothing else."""
        job, dialect = found.job, self._dialect
        if isinstance(job, InvalidJob) or dialect.shows_children or found.to_claim:
            return False
        if job.workload is not Workload.POD or job.gang or job.companions:
            return False
        is_named = job.child_labels.get(dialect.job_label) == job.owner.name
        return is_named and not any(pod.metadata.is_terminating for pod in found.children.pods)

    def decode(self, stored: JobObject) -> Job | InvalidJob:
        return self._read(stored.manifest())

    def _read(self, manifest: Manifest) -> Job | InvalidJob:
        """What the job means. One that cannot even be parsed is left as it is."""
        job = self._dialect.decode(manifest, self.settings)
        spec = manifest["spec"]
        if not isinstance(spec, Unreadable) or not isinstance(job, InvalidJob):
            return job
        self._log_unparsed(job, spec.reason)
        fault = field.forbidden("spec", f"{spec.reason}; {_UNPARSED}")
        return msgspec.structs.replace(job, faults=[fault], is_unparsed=True)

    def _log_unparsed(self, job: InvalidJob, reason: str) -> None:
        """Once for each job, as long as there are not very many of them."""
        owner = job.owner
        if owner.uid in self._unparsed:
            return
        if len(self._unparsed) >= _MOST_UNPARSED:
            self._unparsed.clear()
        self._unparsed.add(owner.uid)
        facts = {"kind": owner.kind, "namespace": owner.namespace, "job": owner.name}
        _log.warning("job not read, and left as it is", extra={**facts, "fault": reason})

    def completed(self, manifest: Manifest) -> dict[str, Any] | None:
        """The spec that must be stored before children are made, if it is not yet."""
        services, namespace = self.stores.services, manifest["metadata"]["namespace"]
        return self._dialect.defaulted_spec(
            manifest,
            self.settings,
            tokens=iter(self._token, ""),
            is_taken=lambda name: services.get((namespace, name)) is not None,
        )

    def _owned(self, owner: Owner) -> Children:
        """What still runs of a job that cannot be read: its owner is all there is to go by."""
        batch_jobs = self._batch_jobs(owner)
        pods = [*_owned_by(owner, self.stores.pods), *self._made_by(batch_jobs)]
        services = _owned_by(owner, self.stores.services)
        return Children(pods=pods, jobs=batch_jobs, services=services)

    def _batch_jobs(self, owner: Owner) -> Sequence[BatchJob]:
        return _owned_by(owner, self.stores.batch_jobs) if self.stores.batch_jobs else ()

    def _made_by(self, batch_jobs: Sequence[BatchJob]) -> list[Pod]:
        pods, makers = self.stores.pods, (each.metadata for each in batch_jobs)
        return [pod for maker in makers for pod in pods.owned_by(maker.namespace, maker.uid)]

    def _pods(
        self, job: Job, batch_jobs: Sequence[BatchJob]
    ) -> tuple[list[Pod], list[tuple[ObjectMeta, Claim]]]:
        """Pods that a batch Job made are that Job's: nothing of them is to be claimed."""
        if job.workload is Workload.JOB:
            return self._made_by(batch_jobs), []
        return self._claimed(job, self.stores.pods)

    async def _children(self, job: Job, found: Children) -> Children:
        """With what stands beside the replicas, and the facts of the cluster."""
        pod_groups = self.stores.pod_groups
        groups = _owned_by(job.owner, pod_groups) if pod_groups else []
        now = self.now()
        stuck_on = {pod.spec.node_name for pod in found.pods if stuck_pods.is_stuck(pod, now=now)}
        return msgspec.structs.replace(
            found,
            pod_group=groups[0] if groups else None,
            companions=self._companions(job) if job.companions else {},
            lost_nodes=await self._facts.lost_nodes(stuck_on) if stuck_on else frozenset(),
            priorities=await self._facts.priorities(_priority_classes(job)) if job.gang else {},
        )

    def _companions(self, job: Job) -> dict[tuple[str, str], CompanionObject]:
        found = {
            (kind, each.metadata.name): each
            for kind, store in self.stores.companions.items()
            for each in _owned_by(job.owner, store)
        }
        beside = _services_beside(job)
        for service in _owned_by(job.owner, self.stores.services):
            if service.metadata.name in beside:
                name = service.metadata.name
                found[ChildKind.SERVICE, name] = CompanionObject(metadata=service.metadata)
        return found

    def _claimed(self, job: Job, store: Store[T]) -> tuple[list[T], list[tuple[ObjectMeta, Claim]]]:
        """The job's children of one kind, and those to adopt or release first."""
        kept: list[T] = []
        to_claim: list[tuple[ObjectMeta, Claim]] = []
        own = _owned_by(job.owner, store)
        named = store.labelled(job.namespace, job.child_labels.get(self._dialect.job_label, ""))
        orphans = [each for each in named if each.metadata.controller_uid is None]
        beside = _services_beside(job) if job.companions else frozenset()
        for each in (*own, *orphans):
            is_beside = each.metadata.name in beside and each.metadata.controller_uid is not None
            verdict = Claim.KEEP if is_beside else claim_of(job, each.metadata)
            if verdict is Claim.KEEP:
                kept.append(each)
            elif verdict is not Claim.IGNORE:
                to_claim.append((each.metadata, verdict))
        return kept, to_claim


def _owned_by(owner: Owner, store: Store[T]) -> list[T]:
    return store.owned_by(owner.namespace, owner.uid)


def _services_beside(job: Job) -> frozenset[str]:
    return frozenset(each.name for each in job.companions if each.kind == ChildKind.SERVICE)


def _priority_classes(job: Job) -> set[str]:
    names = ((each.template.get("spec") or {}).get("priorityClassName") for each in job.replicas)
    return {name for name in names if isinstance(name, str) and name}
