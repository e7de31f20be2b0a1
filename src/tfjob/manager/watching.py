"""The watches of one dialect: its jobs and their children, each change turned into a key."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import msgspec

from tfjob.client.cache import Informer
from tfjob.client.http import Api
from tfjob.client.listing import Scope
from tfjob.client.resource import PODS, SERVICES, Resource
from tfjob.client.store import Store
from tfjob.client.timing import REAL, Timing
from tfjob.client.watch import Watch
from tfjob.client.wire import HasMetadata, Key
from tfjob.controller.gather import Stores
from tfjob.controller.kinds import BATCH_JOBS, resource_of
from tfjob.controller.memory import IN_A_RUSH
from tfjob.controller.objects import JobObject
from tfjob.controller.passes import JOBS
from tfjob.core.job import Workload
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import ChildApi, Dialect, Settings
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.pod import Phase, Pod
from tfjob.k8s.podgroup import PodGroup
from tfjob.k8s.service import Service
from tfjob.k8s.standing import Standing

T = TypeVar("T", bound=HasMetadata)
GATHERING: Final = 0.1
"""News that others of its kind will follow may wait this long, so that one pass serves them all."""
SOME_RUN: Final = 1.0
"""The same in a rush, for a job of which some pods run and others do not yet."""
CAME_UP: Final = IN_A_RUSH + 5.0
"""The same in a rush, for a pod or service that came up while its job is under way: what is kept
back of the job is told before, and a child that only came up changes no decision."""
_ON_THEIR_WAY: Final = frozenset({Phase.PENDING, Phase.RUNNING})


class Following(Protocol):
    """A cache that is kept up to date."""

    has_synced: asyncio.Event

    async def run(self) -> None: ...
    def is_caught_up(self, key: Key, version: str) -> bool: ...


class Source(msgspec.Struct, frozen=True):
    """Where the objects come from: a server, and one namespace of it or all."""

    api: Api
    namespace: str | None = None
    timing: Timing = REAL


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told the news."""

    enqueue: Callable[[Key, float], None]
    """Takes a job and the seconds its pass may wait."""
    hurry: Callable[[Key], None]
    """Takes a job that has lost a child, which overtakes those that only begin."""
    on_job: Callable[[JobObject | None, JobObject | None], None] = lambda _old, _new: None
    """Is told of each change of a job, before its pass is asked for."""
    is_busy: Callable[[], bool] = lambda: False
    """Tells of a rush, in which routine news is gathered for longer."""
    is_under_way: Callable[[Key], bool] = lambda _key: False
    """Tells of a job that is worked on now, or whose news is kept back to be told later."""


def apis_beside(dialect: Dialect, settings: Settings) -> list[ChildApi]:
    """The kinds of children besides those that every job has."""
    groups = dialect.pod_groups(settings)
    return [*dialect.companions, *([groups] if groups is not None else [])]


class Watches:
    """All that is followed for one dialect. Optional APIs can be followed from later on."""

    def __init__(
        self,
        source: Source,
        dialect: Dialect,
        settings: Settings,
        *,
        reader: Reader,
    ) -> None:
        self._source = source
        self._dialect = dialect
        self._reader = reader
        self.idle_seconds: dict[str, Callable[[], float]] = {}
        """By resource, how long ago its watch last progressed."""
        own = Resource(dialect.group, dialect.version, dialect.plural)
        self.jobs = Informer(
            self._watch(own, JobObject, labels=""),
            store=Store[JobObject](),
            on_change=self._tell_of_job,
        )
        self.batch_jobs: Informer[BatchJob] | None = None
        if dialect.workload is Workload.JOB:
            self.batch_jobs = self._child(BATCH_JOBS, BatchJob, labels=dialect.child_selector)
        pods = self._child(PODS, Pod, labels=dialect.child_selector)
        services = self._child(SERVICES, Service, labels=dialect.child_selector)
        self.all: dict[str, Following] = {
            JOBS: self.jobs,
            ChildKind.POD: pods,
            ChildKind.SERVICE: services,
        }
        if self.batch_jobs is not None:
            self.all[ChildKind.JOB] = self.batch_jobs
        self.stores = Stores(
            jobs=self.jobs.store,
            pods=pods.store,
            services=services.store,
            batch_jobs=self.batch_jobs.store if self.batch_jobs is not None else None,
        )
        for each in apis_beside(dialect, settings):
            if not each.is_optional or each.name in settings.served:
                self.follow(each)

    def follow(self, api: ChildApi) -> Following:
        """One more kind of children."""
        found: Informer[PodGroup] | Informer[Standing]
        if api.kind == ChildKind.POD_GROUP:
            found = self._child(resource_of(api), PodGroup, labels="")
            self.stores.pod_groups = found.store
        else:
            labels = self._dialect.child_selector
            found = self._child(resource_of(api), Standing, labels=labels)
            self.stores.companions = {**self.stores.companions, api.kind: found.store}
        self.all[api.kind] = found
        return found

    async def synced(self) -> None:
        for each in list(self.all.values()):
            await each.has_synced.wait()

    @property
    def has_synced(self) -> bool:
        return all(each.has_synced.is_set() for each in self.all.values())

    def _child(self, resource: Resource, kind: type[T], *, labels: str) -> Informer[T]:
        return Informer(
            self._watch(resource, kind, labels=labels),
            store=Store(label=self._dialect.job_label),
            on_change=self._tell,
        )

    def _watch(self, resource: Resource, kind: type[T], *, labels: str) -> Watch[T]:
        source = self._source
        scope = Scope(resource=resource, namespace=source.namespace, labels=labels)
        watch = Watch(source.api, scope, decode=kind, timing=source.timing)
        self.idle_seconds[resource.plural] = lambda: watch.idle_seconds
        return watch

    def _tell_of_job(self, old: JobObject | None, new: JobObject | None) -> None:
        self._reader.on_job(old, new)
        job = old or new
        if job is not None:
            self._reader.enqueue((job.metadata.namespace, job.metadata.name), 0.0)

    def _tell(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        """The job that owns a child, and the one it names: it may have changed hands.

        One that is not there has no pass: should it come, that is news of its own.
        """
        if not self._dialect.shows_children and _was_only_bound(old, new):
            return
        for key in {key for item in (old, new) if item for key in self._jobs_of(item)}:
            if self.jobs.store.get(key) is None:
                continue
            patience = self._patience(key, old, new)
            if patience:
                self._reader.enqueue(key, patience)
            else:
                self._reader.hurry(key)

    def _patience(self, key: Key, old: HasMetadata | None, new: HasMetadata | None) -> float:
        """Seconds that the pass for a piece of news may wait, or none where it is urgent."""
        if new is None or not _is_routine(new):
            return 0.0
        if not self._reader.is_busy() or self._dialect.shows_children:
            return GATHERING
        if old is None and _came_up(new) and self._reader.is_under_way(key):
            return CAME_UP
        begins = _is_pending(old) and isinstance(new, Pod) and new.phase is Phase.RUNNING
        return SOME_RUN if begins and self._waits_for_others(new) else GATHERING

    def _waits_for_others(self, pod: HasMetadata) -> bool:
        """Whether pods of the same owner do not run yet."""
        meta = pod.metadata
        others = self.stores.pods.owned_by(meta.namespace, meta.controller_uid or "")
        return any(map(_is_pending, others))

    def _jobs_of(self, item: HasMetadata) -> set[Key]:
        owners = _owners(item, self._dialect.kind) or self._owners_of_maker(item)
        label = item.metadata.labels.get(self._dialect.job_label)
        return owners or ({(item.metadata.namespace, label)} if label else set())

    def _owners_of_maker(self, item: HasMetadata) -> set[Key]:
        """The jobs whose batch Job made a pod: a label may be too short for the name of a job."""
        if self.batch_jobs is None:
            return set()
        makers = map(self.batch_jobs.store.get, _owners(item, ChildKind.JOB))
        return {
            key
            for maker in makers
            if maker is not None and maker.metadata.uid == item.metadata.controller_uid
            for key in _owners(maker, self._dialect.kind)
        }


def _is_routine(new: HasMetadata) -> bool:
    """A child that came up or goes on; one that ends, or is on its way out, is urgent."""
    if new.metadata.is_terminating:
        return False
    return not isinstance(new, Pod) or new.phase in _ON_THEIR_WAY


def _came_up(new: HasMetadata) -> bool:
    """A new pod or service of a job's own, of which there is nothing to tell yet."""
    if new.metadata.controller_uid is None:
        return False
    if isinstance(new, Pod):
        return _is_pending(new) and not (new.status.conditions or new.spec.node_name)
    return isinstance(new, Service)


def _is_pending(child: HasMetadata | None) -> bool:
    return isinstance(child, Pod) and child.phase is Phase.PENDING


def _was_only_bound(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """A pod has got its node at once, and nothing else is new: no decision depends on that."""
    if not isinstance(old, Pod) or not isinstance(new, Pod) or old.status.conditions:
        return False
    if old.spec.node_name or not new.spec.node_name:
        return False
    if any(each.status != "True" for each in new.status.conditions):
        return False
    replace = msgspec.structs.replace
    meta = replace(new.metadata, resource_version=old.metadata.resource_version)
    status = replace(new.status, conditions=old.status.conditions)
    return replace(new, metadata=meta, spec=old.spec, status=status) == old


def _owners(item: HasMetadata, kind: str) -> set[Key]:
    meta = item.metadata
    return {
        (meta.namespace, owner.name)
        for owner in meta.owner_references
        if owner.controller and owner.kind == kind
    }
