"""Reads the snapshot that a reconcile decides on: the decoded job and its children.

Everything comes from the informers' stores, except nodes, priority classes, and the events of a pod
that does not start or was killed, which are read from the API server. Nothing is written.
"""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, Protocol, TypeVar

import msgspec

from tfjob.client.store import Store
from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.decoded_jobs import DecodedJobs
from tfjob.controller.ended_pods import EndedPods
from tfjob.controller.held_pods import HeldPods, is_stray, removable_finalizers
from tfjob.controller.job_object import JobObject, Unreadable
from tfjob.core import stuck_pods
from tfjob.core.claim import Claim, claim_of
from tfjob.core.companion_problem import pods_of_companions
from tfjob.core.diagnosis import deadlock, pod_events
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job, Owner, Workload
from tfjob.core.observe import Children, HalfPlaced
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import Dialect, Manifest, Settings
from tfjob.k8s import field
from tfjob.k8s.child_types import BatchJob, CompanionObject, PodGroup, Service
from tfjob.k8s.event import PodEvent
from tfjob.k8s.field import FaultKind
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod

T = TypeVar("T", bound=HasMetadata)
_log: Final = logging.getLogger(__name__)
_TOKEN_LENGTH: Final = 4
_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_MAX_UNPARSED: Final = 1000
_UNPARSED: Final = (
    "the operator ignores the job and leaves its children as they are; correct the job or delete it"
)
PendingClaim = tuple[str, ObjectMeta, Claim]
"""Kind and metadata of a child to adopt or to release."""


def pod_store(label: str) -> Store[Pod]:
    """A store of pods with two indexes: the label that names their job, and unschedulable pods."""
    return Store(label=label, picks=deadlock.lacks_node)


def random_token() -> str:
    """A random part of the names of children."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_TOKEN_LENGTH))


class Stores(msgspec.Struct):
    """The informers' stores of one dialect's jobs and their children."""

    jobs: Store[JobObject]
    pods: Store[Pod]
    services: Store[Service]
    batch_jobs: Store[BatchJob] | None = None
    pod_groups: Store[PodGroup] | None = None
    companions: Mapping[str, Store[CompanionObject]] = {}
    held_pods: HeldPods = msgspec.field(default_factory=HeldPods)
    ended_pods: EndedPods = msgspec.field(default_factory=EndedPods)
    node_freed_at: datetime | None = None
    """When a pod was last seen to free its node."""


class Snapshot(msgspec.Struct):
    """One job and its children. Those in `to_claim` must be adopted or released first."""

    stored: JobObject
    manifest: Manifest
    job: Job | InvalidJob
    children: Children = Children()
    to_claim: Sequence[PendingClaim] = ()
    pods_version: str = ""
    """The resource version up to which the pods have every change."""
    has_fresh_pods: bool = False
    """The pods were listed from the server, not read from the cache."""
    ended_pods: Mapping[str, Pod] = {}
    """By UID, the pods shown as they ended, although they have been deleted or disrupted since."""


class Clock(Protocol):
    def __call__(self) -> datetime: ...


class SnapshotReader:
    """Reads snapshots. `settings` is replaced when an optional API becomes available."""

    def __init__(
        self,
        dialect: Dialect,
        settings: Settings,
        *,
        stores: Stores,
        lookups: ClusterLookups,
        now: Clock,
        token: Callable[[], str] = random_token,
    ) -> None:
        self._dialect = dialect
        self.settings = settings
        self.stores = stores
        self._lookups = lookups
        self.now = now
        self._token = token
        self._unparsed: set[str] = set()
        self._decoded = DecodedJobs()

    async def read(self, key: Key) -> Snapshot | None:
        """The snapshot of a job; None if there is no such job."""
        stored = self.stores.jobs.get(key)
        if stored is None:
            return None
        manifest = stored.manifest()
        job = self._decode(stored, manifest)
        snapshot = Snapshot(stored=stored, manifest=manifest, job=job)
        if isinstance(job, InvalidJob):
            snapshot.children = self._children_of_invalid(job.owner)
            return snapshot
        batch_jobs = self._batch_jobs(job.owner)
        snapshot.pods_version = self.stores.pods.version
        pods, claimable_pods = self._pods(job, batch_jobs)
        services, claimable_services = self._claimed(job, self.stores.services)
        snapshot.to_claim = [
            *((ChildKind.POD, meta, claim) for meta, claim in claimable_pods),
            *((ChildKind.SERVICE, meta, claim) for meta, claim in claimable_services),
        ]
        snapshot.children = await self._children(
            job, Children(pods=pods, jobs=batch_jobs, services=services)
        )
        return snapshot

    def show_ended_pods(self, snapshot: Snapshot, *, since: str) -> None:
        """Show pods as they ended that have been deleted or disrupted since, until they are decided
        on. Those of the list with the version `since`, and older ones, are."""
        if isinstance(snapshot.job, InvalidJob):
            return
        ended = self.stores.ended_pods.undecided(snapshot.job, self.stores.pods, since=since)
        if ended:
            others = [pod for pod in snapshot.children.pods if pod.metadata.uid not in ended]
            pods = [*ended.values(), *others]
            snapshot.children = msgspec.structs.replace(snapshot.children, pods=pods)
            snapshot.ended_pods = ended

    def drop_ended_pods(self, snapshot: Snapshot) -> bool:
        """Drop the ends that were decided on. If there were any, the job must be reconciled again
        with the pods as they are."""
        self.stores.ended_pods.drop(snapshot.ended_pods.values())
        return bool(snapshot.ended_pods)

    def stray_pods(self, key: Key) -> list[ObjectMeta]:
        """Held pods that name the job of this key, but are not its children."""
        job = self.stores.jobs.get(key)
        uid = None if job is None else job.metadata.uid
        pods = map(self.stores.pods.get, self.stores.held_pods.of(key))
        metas = [pod.metadata for pod in pods if pod is not None]
        return [meta for meta in metas if is_stray(meta, job=uid) and removable_finalizers(meta)]

    def fingerprint(self, stored: JobObject) -> int:
        """A hash of the versions of all pods and services that belong to or name the job."""
        meta = stored.metadata
        versions = [
            child.metadata.resource_version
            for store in (self.stores.pods, self.stores.services)
            for child in (
                *store.owned_by(meta.namespace, meta.uid),
                *store.labelled(meta.namespace, meta.name),
            )
        ]
        return hash(tuple(versions))

    def is_covered_by_fingerprint(self, snapshot: Snapshot) -> bool:
        """Whether `fingerprint` changes whenever an input of the decision changes."""
        job, dialect = snapshot.job, self._dialect
        if isinstance(job, InvalidJob) or dialect.shows_children or snapshot.to_claim:
            return False
        if snapshot.has_fresh_pods or snapshot.ended_pods:
            return False
        if job.workload is not Workload.POD or job.gang or job.companions:
            return False
        is_named = job.child_labels.get(dialect.job_label) == job.owner.name
        return is_named and not any(pod.metadata.is_terminating for pod in snapshot.children.pods)

    def decode(self, stored: JobObject) -> Job | InvalidJob:
        return self._decode(stored, stored.manifest())

    def keep_decoded(self, snapshot: Snapshot) -> None:
        """Keep the decoded job for the next reconcile, which follows soon."""
        if isinstance(snapshot.job, Job):
            self._decoded.keep(snapshot.stored, snapshot.job, self.settings)

    def forget_job(self, uid: str) -> None:
        self._decoded.forget(uid)
        self._unparsed.discard(uid)

    def forget_child(self, uid: str) -> None:
        self._lookups.forget_pod(uid)

    def _decode(self, stored: JobObject, manifest: Manifest) -> Job | InvalidJob:
        """Decode a job. A job that cannot be parsed is marked as unparsed, and then ignored."""
        spec = manifest["spec"]
        is_checked = not isinstance(spec, Unreadable) and self._decoded.is_checked(stored)
        known = self._decoded.take(stored, self.settings) if is_checked else None
        job = None if known is None else self._dialect.with_status(known, manifest)
        if job is not None:
            return job
        found = self._dialect.decode(manifest, self.settings, is_checked=is_checked)
        if isinstance(found, InvalidJob):
            return self._unparsed_or_invalid(found, spec)
        if not is_checked:
            self._decoded.mark_checked(stored)
        return found

    def _unparsed_or_invalid(self, job: InvalidJob, spec: object) -> InvalidJob:
        if not isinstance(spec, Unreadable):
            return self._unparsed_if_internal(job)
        self._log_unparsed(job, spec.reason)
        fault = field.forbidden("spec", f"{spec.reason}; {_UNPARSED}")
        return msgspec.structs.replace(job, faults=[fault], is_unparsed=True)

    def _unparsed_if_internal(self, job: InvalidJob) -> InvalidJob:
        """Treat the job as unparsed if the check itself failed: that must not fail the job."""
        ours = [fault.text for fault in job.faults if fault.kind is FaultKind.INTERNAL]
        if not ours:
            return job
        self._log_unparsed(job, ours[0])
        return msgspec.structs.replace(job, is_unparsed=True)

    def _log_unparsed(self, job: InvalidJob, reason: str) -> None:
        """Log each unparsable job once."""
        owner = job.owner
        if owner.uid in self._unparsed:
            return
        if len(self._unparsed) >= _MAX_UNPARSED:
            self._unparsed.clear()
        self._unparsed.add(owner.uid)
        fields = {"kind": owner.kind, "namespace": owner.namespace, "job": owner.name}
        _log.warning("job cannot be parsed and is ignored", extra={**fields, "fault": reason})

    def defaulted_spec(self, manifest: Manifest) -> dict[str, Any] | None:
        """The spec to store before children are created; None if it is complete."""
        services, namespace = self.stores.services, manifest["metadata"]["namespace"]
        return self._dialect.defaulted_spec(
            manifest,
            self.settings,
            tokens=iter(self._token, ""),
            is_taken=lambda name: services.get((namespace, name)) is not None,
        )

    def _children_of_invalid(self, owner: Owner) -> Children:
        """The children of an invalid job, found by owner reference alone."""
        batch_jobs = self._batch_jobs(owner)
        pods = [*_owned_by(owner, self.stores.pods), *self._pods_of(batch_jobs)]
        services = _owned_by(owner, self.stores.services)
        group = self._pod_group(owner)
        return Children(pods=pods, jobs=batch_jobs, services=services, pod_group=group)

    def _batch_jobs(self, owner: Owner) -> Sequence[BatchJob]:
        return _owned_by(owner, self.stores.batch_jobs) if self.stores.batch_jobs else ()

    def _pods_of(self, batch_jobs: Sequence[BatchJob]) -> list[Pod]:
        pods, owners = self.stores.pods, (each.metadata for each in batch_jobs)
        return [pod for owner in owners for pod in pods.owned_by(owner.namespace, owner.uid)]

    def _pods(
        self, job: Job, batch_jobs: Sequence[BatchJob]
    ) -> tuple[list[Pod], list[tuple[ObjectMeta, Claim]]]:
        """The job's pods, and those to claim. Pods of batch Jobs are never claimed."""
        if job.workload is Workload.JOB:
            return self._pods_of(batch_jobs), []
        return self._claimed(job, self.stores.pods)

    async def _children(self, job: Job, found: Children) -> Children:
        """Add the pod group, companions, lost nodes and priorities."""
        now = self.now()
        events = await self._events(job, found.pods, now=now)
        stuck_on = {pod.spec.node_name for pod in found.pods if stuck_pods.is_stuck(pod, now=now)}
        return msgspec.structs.replace(
            found,
            pod_group=self._pod_group(job.owner),
            companions=self._companions(job) if job.companions else {},
            companion_pods=self._companion_pods(job) if job.companions else (),
            lost_nodes=await self._lookups.lost_nodes(stuck_on) if stuck_on else frozenset(),
            priorities=await self._priorities(job),
            rivals=self._rivals(job, found.pods, now=now),
            node_freed_at=self.stores.node_freed_at,
            events=events or (),
            has_unread_events=events is None,
        )

    def _pod_group(self, owner: Owner) -> PodGroup | None:
        """The PodGroup of the gang, which has the name of the job. Schedulers make others for pods
        that are in none, and name the job as their owner too."""
        groups = self.stores.pod_groups
        found = None if groups is None else groups.get((owner.namespace, owner.name))
        return found if found and found.metadata.controller_uid == owner.uid else None

    async def _priorities(self, job: Job) -> Mapping[str, int]:
        if job.gang is None or not job.gang.computes_resources:
            return {}
        return await self._lookups.priorities(_priority_classes(job))

    def _rivals(self, job: Job, pods: Sequence[Pod], *, now: datetime) -> list[HalfPlaced]:
        """Other jobs of the namespace that are half placed, if this one has been for a while."""
        own = deadlock.half_placed(job.name, pods)
        if own is None or not deadlock.is_due(own, now=now):
            return []
        store, uids = self.stores.pods, {pod.metadata.uid for pod in pods}
        waiting = [pod.metadata for pod in store.picked(job.namespace)]
        label = self._dialect.job_label
        names = {meta.labels.get(label, "") for meta in waiting if meta.uid not in uids}
        others = (
            (
                name,
                [
                    pod
                    for pod in store.labelled(job.namespace, name)
                    if pod.metadata.uid not in uids
                ],
            )
            for name in sorted(names - {""})
        )
        found = (deadlock.half_placed(name, each) for name, each in others)
        due = (each for each in found if each is not None and deadlock.is_due(each, now=now))
        return list(islice(due, deadlock.MAX_RIVALS))

    async def _events(
        self, job: Job, pods: Sequence[Pod], *, now: datetime
    ) -> Sequence[PodEvent] | None:
        """The events of a pod whose status does not explain why it does not run; None if they have
        to be read later."""
        if job.status.is_finished or job.is_external:
            return ()
        due = pod_events.due_lookup(job, pods, now=now)
        if due is None:
            return ()
        return await self._lookups.pod_events(job.namespace, uid=due.uid, period=due.period)

    def _companions(self, job: Job) -> dict[tuple[str, str], CompanionObject]:
        found = {
            (kind, each.metadata.name): each
            for kind, store in self.stores.companions.items()
            for each in _owned_by(job.owner, store)
        }
        companion_services = _companion_services(job)
        for service in _owned_by(job.owner, self.stores.services):
            if service.metadata.name in companion_services:
                name = service.metadata.name
                found[ChildKind.SERVICE, name] = CompanionObject(metadata=service.metadata)
        return found

    def _companion_pods(self, job: Job) -> list[Pod]:
        label = job.child_labels.get(self._dialect.job_label, "")
        return pods_of_companions(job, self.stores.pods.labelled(job.namespace, label))

    def _claimed(self, job: Job, store: Store[T]) -> tuple[list[T], list[tuple[ObjectMeta, Claim]]]:
        """The job's children of one kind, and those to adopt or release first."""
        children: list[T] = []
        to_claim: list[tuple[ObjectMeta, Claim]] = []
        own = _owned_by(job.owner, store)
        named = store.labelled(job.namespace, job.child_labels.get(self._dialect.job_label, ""))
        orphans = [each for each in named if each.metadata.controller_uid is None]
        companion_services = _companion_services(job) if job.companions else frozenset()
        for each in (*own, *orphans):
            is_companion = (
                each.metadata.name in companion_services
                and each.metadata.controller_uid is not None
            )
            verdict = Claim.KEEP if is_companion else claim_of(job, each.metadata)
            if verdict is Claim.KEEP:
                children.append(each)
            elif verdict is not Claim.IGNORE:
                to_claim.append((each.metadata, verdict))
        return children, to_claim


def _owned_by(owner: Owner, store: Store[T]) -> list[T]:
    return store.owned_by(owner.namespace, owner.uid)


def _companion_services(job: Job) -> frozenset[str]:
    return frozenset(each.name for each in job.companions if each.kind == ChildKind.SERVICE)


def _priority_classes(job: Job) -> set[str]:
    names = ((each.template.get("spec") or {}).get("priorityClassName") for each in job.replicas)
    return {name for name in names if isinstance(name, str) and name}
