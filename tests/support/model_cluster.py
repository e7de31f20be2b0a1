"""A model of a cluster for the pure decision: what an API server stores, and what caches see.

Deterministic and without IO: nothing happens unless a test does it. What really happened is
recorded apart from what the status says about it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from tests.support.builders import DIALECT, NOW, decoded
from tfjob.core import stuck_pods
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind, Create, Delete, Plan, Update
from tfjob.core.reconcile import reconcile
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Settings, StatusContext
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup, PodGroupStatus, Service
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import Phase, Pod, PodStatus
from tfjob.local.apiserver.json_patch import merge

GRACE = 30
_ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


class Truth(msgspec.Struct):
    """What really happened, seen by the operator or not: UIDs of pods, and counts.

    Pods in `own_successes` and `own_failures` ended by themselves, those in `taken` were ended by
    others than the operator. `restarted` are own failures that the operator deleted while the job
    continued.
    """

    own_successes: set[str] = msgspec.field(default_factory=set)
    own_failures: set[str] = msgspec.field(default_factory=set)
    taken: set[str] = msgspec.field(default_factory=set)
    restarted: set[str] = msgspec.field(default_factory=set)
    in_place: int = 0


class Snapshot(msgspec.Struct, frozen=True):
    """Everything that is stored at one time."""

    manifest: Mapping[str, Any]
    version: int
    pods: Mapping[str, Pod]
    services: Mapping[str, Service]
    group: PodGroup | None


class Lag(msgspec.Struct, frozen=True):
    """How many changes a watch is behind, per kind of object."""

    job: int = 0
    pods: int = 0
    services: int = 0
    group: int = 0


class Pass(msgspec.Struct, frozen=True):
    """One reconcile: what it saw, what it decided, and whether it was completed."""

    job: Job
    children: Children
    now: datetime
    plan: Plan
    is_crashed: bool = False


class ModelCluster:
    def __init__(
        self,
        manifest: Mapping[str, Any],
        *,
        settings: Settings | None = None,
        now: datetime = NOW,
    ) -> None:
        self.manifest: Mapping[str, Any] = manifest
        self.settings = settings or Settings()
        self.now = now
        self.pods: Mapping[str, Pod] = {}
        self.services: Mapping[str, Service] = {}
        self.group: PodGroup | None = None
        self.lost_nodes: set[str] = set()
        self.held: set[str] = set()
        self.policies: dict[str, str] = {}
        self.truth = Truth()
        self.is_gone = False
        self._known: tuple[Mapping[str, Any], Job] | None = None
        self._uids = 0
        self._version = 0
        self._past: list[Snapshot] = []
        self._floor: dict[str, int] = {}
        self._remember()

    @property
    def job(self) -> Job:
        return self._read(self.manifest)

    @property
    def status(self) -> JobStatus:
        return self.job.status

    # The operator

    def look(self, lag: Lag) -> tuple[Snapshot, Children]:
        """What the operator's caches hold: late by `lag`, but never before its own last writes."""
        seen = {
            kind: self._past[self._reached(kind, getattr(lag, kind))]
            for kind in Lag.__struct_fields__
        }
        pods = list(seen["pods"].pods.values())
        stuck_on = {pod.spec.node_name for pod in pods if stuck_pods.is_stuck(pod, now=self.now)}
        children = Children(
            pods=pods,
            services=list(seen["services"].services.values()),
            pod_group=seen["group"].group,
            lost_nodes=frozenset(stuck_on & self.lost_nodes),
        )
        return seen["job"], children

    def run_pass(self, *, lag: Lag | None = None, crash_after: int | None = None) -> Pass:
        """Reconcile once; the operator crashes after `crash_after` effects and is replaced.

        The job is read again before a pod is created. If the job was changed before its status is
        stored, it is read and decided again.
        """
        seen, children = self.look(lag or Lag())
        made = self._decided(seen.manifest, children)
        if any(each.kind == ChildKind.POD for each in made.plan.creates):
            seen, made = self._past[-1], self._decided(self.manifest, children)
        if made.plan.writes_status_first and seen.version != self._version:
            seen, made = self._past[-1], self._decided(self.manifest, children)
        effects = self._effects(made)
        store: Callable[[], None] = partial(self._store, made, version=seen.version)
        ordered = [store, *effects] if made.plan.writes_status_first else [*effects, store]
        done = ordered[: len(ordered) if crash_after is None else crash_after]
        for effect in done:
            effect()
        is_crashed = len(done) < len(ordered)
        if is_crashed:
            self._floor = dict.fromkeys(Lag.__struct_fields__, len(self._past) - 1)
        return msgspec.structs.replace(made, is_crashed=is_crashed)

    def settle(self, *, most: int) -> list[Pass]:
        """Passes until one has nothing to write, or `most` of them; the last is quiet."""
        made: list[Pass] = []
        while len(made) < most and not (made and made[-1].plan.is_empty) and not self.is_gone:
            made.append(self.run_pass())
        return made

    def _decided(self, manifest: Mapping[str, Any], children: Children) -> Pass:
        job = self._read(manifest)
        plan = reconcile(job=job, children=children, now=self.now)
        return Pass(job=job, children=children, now=self.now, plan=plan)

    def _effects(self, made: Pass) -> list[Callable[[], None]]:
        builder, plan = ManifestBuilder(made.job), made.plan
        ends = plan.status is not None and plan.status.is_finished
        effects: list[Callable[[], None]] = []
        effects += [partial(self._update, each) for each in plan.updates]
        delete = partial(self._delete, is_going_on=not ends and not made.job.status.is_finished)
        effects += [partial(delete, each) for each in plan.deletes]
        effects += [partial(self._create, each, builder) for each in plan.creates]
        return effects

    def _store(self, made: Pass, *, version: int) -> None:
        """The status, decided anew if somebody else wrote in between."""
        self.is_gone = self.is_gone or made.plan.deletes_job
        if version != self._version:
            made = self._decided(self.manifest, made.children)
        if made.plan.status is None or self.is_gone:
            return
        shown = DIALECT.encode_status(
            made.job, made.plan.status, StatusContext(children=made.children)
        )
        self._write({**self.manifest, "status": msgspec.json.decode(msgspec.json.encode(shown))})
        self._floor["job"] = len(self._past) - 1

    # The API server

    def _create(self, create: Create, builder: ManifestBuilder) -> None:
        """Create an object unless its name is taken."""
        manifest = builder.manifest(create)
        if create.kind == ChildKind.POD and create.name not in self.pods:
            pod = _new_pod(manifest, uid=self._uid(), now=self.now)
            self.policies[pod.metadata.uid] = manifest["spec"]["restartPolicy"]
            self.put_pod(pod)
            self._floor["pods"] = len(self._past) - 1
        elif create.kind == ChildKind.SERVICE and create.name not in self.services:
            self.put_service(
                Service(_new_meta(manifest["metadata"], uid=self._uid(), now=self.now))
            )
            self._floor["services"] = len(self._past) - 1
        elif create.kind == ChildKind.POD_GROUP and self.group is None:
            meta = ObjectMeta(name=create.name, uid=self._uid())
            self._change(group=PodGroup(metadata=meta, spec=manifest["spec"]))
            self._floor["group"] = len(self._past) - 1

    def _update(self, update: Update) -> None:
        if self.group is not None and self.group.metadata.uid == update.uid:
            spec = merge(self.group.spec, update.body["spec"])
            self._change(group=msgspec.structs.replace(self.group, spec=spec))
            self._floor["group"] = len(self._past) - 1

    def _delete(self, delete: Delete, *, is_going_on: bool) -> None:
        """Delete only the object with this UID; a running pod gets its grace period."""
        if delete.kind == ChildKind.POD:
            pod, uid = self.pods.get(delete.name), delete.uid
            if pod is None or pod.metadata.uid != uid:
                return
            if is_going_on and uid in self.truth.own_failures:
                self.truth.restarted.add(uid)
            self.take(delete.name, is_forced=delete.is_forced)
        elif delete.kind == ChildKind.SERVICE:
            service = self.services.get(delete.name)
            if service is not None and service.metadata.uid == delete.uid:
                self.drop_service(delete.name)
        elif self.group is not None and self.group.metadata.uid == delete.uid:
            self._change(group=None)

    def take(self, name: str, *, is_forced: bool = False) -> None:
        """Request a deletion. A pod that has ended or was never bound is removed at once, unless a
        finalizer holds it."""
        pod = self.pods[name]
        is_over = is_forced or is_ended(pod) or not pod.spec.node_name
        if is_over and pod.metadata.uid not in self.held:
            self.drop_pod(name)
        elif not pod.metadata.is_terminating or is_forced:
            grace = 0 if is_over else GRACE
            gone_by = time.render(self.now + timedelta(seconds=grace))
            self.put_pod(
                _with_meta(pod, deletion_timestamp=gone_by, deletion_grace_period_seconds=grace)
            )

    def end_grace(self, name: str) -> None:
        """The last delete of a pod, without grace, is stored before the pod is removed."""
        gone_by = time.render(self.now)
        self.put_pod(
            _with_meta(self.pods[name], deletion_timestamp=gone_by, deletion_grace_period_seconds=0)
        )

    def put_pod(self, pod: Pod) -> None:
        self._change(pods={**self.pods, pod.metadata.name: pod})

    def drop_pod(self, name: str) -> None:
        self._change(pods={key: pod for key, pod in self.pods.items() if key != name})

    def put_service(self, service: Service) -> None:
        self._change(services={**self.services, service.metadata.name: service})

    def drop_service(self, name: str) -> None:
        kept = {key: each for key, each in self.services.items() if key != name}
        self._change(services=kept)

    # The user and the gang's scheduler

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the spec as a user does: the whole object, with a new version."""
        manifest: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.manifest))
        change(manifest["spec"])
        self._write(manifest)

    def suspend(self, *, is_suspended: bool) -> None:
        self.limit(suspend=is_suspended)

    def limit(self, **policy: Any) -> None:
        """Set fields of the run policy; None removes one."""
        self.edit(lambda spec: spec.setdefault("runPolicy", {}).update(policy))

    def scale(self, kind: str, count: int) -> None:
        self.edit(lambda spec: spec["tfReplicaSpecs"][kind].update(replicas=count))

    def admit(self, phase: str = "Inqueue") -> None:
        if self.group is not None:
            status = PodGroupStatus(phase=phase)
            self._change(group=msgspec.structs.replace(self.group, status=status))

    def drop_group(self) -> None:
        self._change(group=None)

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # What is stored

    def _read(self, manifest: Mapping[str, Any]) -> Job:
        """A stored manifest is never changed, so each is read once."""
        if self._known is None or self._known[0] is not manifest:
            self._known = (manifest, decoded(manifest, self.settings))
        return self._known[1]

    def _write(self, manifest: Mapping[str, Any]) -> None:
        self._version += 1
        self._change(manifest=manifest)

    def _change(self, **fields: Any) -> None:
        for key, value in fields.items():
            setattr(self, key, value)
        self._remember()

    def _remember(self) -> None:
        self._past.append(
            Snapshot(
                manifest=self.manifest,
                version=self._version,
                pods=self.pods,
                services=self.services,
                group=self.group,
            )
        )

    def _reached(self, kind: str, lag: int) -> int:
        """How far a watch has come; it never goes back."""
        place = max(self._floor.get(kind, 0), len(self._past) - 1 - lag)
        self._floor[kind] = place
        return place

    def _uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"


def _new_pod(manifest: Mapping[str, Any], *, uid: str, now: datetime) -> Pod:
    meta = _new_meta(manifest["metadata"], uid=uid, now=now)
    return Pod(metadata=meta, status=PodStatus(phase=Phase.PENDING.value))


def _new_meta(given: Mapping[str, Any], *, uid: str, now: datetime) -> ObjectMeta:
    return ObjectMeta(
        name=given["name"],
        namespace="n",
        uid=uid,
        creation_timestamp=time.render(now),
        labels=given["labels"],
        owner_references=msgspec.convert(given["ownerReferences"], list[OwnerReference]),
    )


def is_ended(pod: Pod) -> bool:
    return pod.phase in _ENDED


def _with_meta(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **fields))


def pods_by_place(pods: Sequence[Pod]) -> dict[tuple[str, int], list[Pod]]:
    """Pods by the (type label, index) that their labels name."""
    found: dict[tuple[str, int], list[Pod]] = {}
    for pod in pods:
        labels = pod.metadata.labels
        index = int(labels["training.kubeflow.org/replica-index"])
        found.setdefault((labels["training.kubeflow.org/replica-type"], index), []).append(pod)
    return found
