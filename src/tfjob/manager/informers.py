"""The informers of one dialect: its jobs and all kinds of their children."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from tfjob.client.http import Api
from tfjob.client.informer import Informer
from tfjob.client.pager import Scope
from tfjob.client.resource import PODS, SERVICES, Resource
from tfjob.client.store import Store
from tfjob.client.timing import REAL, Timing
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.controller.child_kinds import BATCH_JOBS, resource_of
from tfjob.controller.job_object import JobObject
from tfjob.controller.reconciler import JOBS
from tfjob.controller.snapshot import Stores, pod_store
from tfjob.core.job import Workload
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import ChildApi, Dialect, Settings
from tfjob.k8s.child_types import BatchJob, CompanionObject, PodGroup, Service
from tfjob.k8s.pod import Pod

T = TypeVar("T", bound=HasMetadata)


class InformerLike(Protocol):
    """An informer of any type of object."""

    has_synced: asyncio.Event

    async def run(self) -> None: ...
    def is_caught_up(self, key: Key, version: str) -> bool: ...


class Source(msgspec.Struct, frozen=True):
    """The API server to watch, and the namespace, or None for all."""

    api: Api
    namespace: str | None = None
    timing: Timing = REAL


class Listeners(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks that get the object before and after a change."""

    on_job: Callable[[JobObject | None, JobObject | None], None]
    on_child: Callable[[HasMetadata | None, HasMetadata | None], None]


def extra_child_apis(dialect: Dialect, settings: Settings) -> list[ChildApi]:
    """The APIs of children other than pods, services and batch Jobs."""
    groups = dialect.pod_groups(settings)
    return [*dialect.companions, *([groups] if groups is not None else [])]


class Informers:
    """All informers of one dialect. Those of optional APIs can be added later."""

    def __init__(
        self,
        source: Source,
        dialect: Dialect,
        settings: Settings,
        *,
        listeners: Listeners,
    ) -> None:
        self._source = source
        self._dialect = dialect
        self._listeners = listeners
        self.idle_seconds: dict[str, Callable[[], float]] = {}
        """By resource, the seconds since its watch last made progress."""
        own = Resource(dialect.group, dialect.version, dialect.plural)
        self.jobs = Informer(
            self._watch(own, JobObject, labels=""),
            store=Store[JobObject](),
            on_change=listeners.on_job,
        )
        self.batch_jobs: Informer[BatchJob] | None = None
        if dialect.workload is Workload.JOB:
            self.batch_jobs = self._child(BATCH_JOBS, BatchJob, labels=dialect.child_selector)
        pods = Informer(
            self._watch(PODS, Pod, labels=dialect.child_selector),
            store=pod_store(dialect.job_label),
            on_change=listeners.on_child,
        )
        services = self._child(SERVICES, Service, labels=dialect.child_selector)
        self.all: dict[str, InformerLike] = {
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
        for each in extra_child_apis(dialect, settings):
            if not each.is_optional or each.name in settings.served:
                self.watch(each)

    def watch(self, api: ChildApi) -> InformerLike:
        """Add the informer of one more kind of child."""
        informer: Informer[PodGroup] | Informer[CompanionObject]
        if api.kind == ChildKind.POD_GROUP:
            informer = self._child(resource_of(api), PodGroup, labels="")
            self.stores.pod_groups = informer.store
        else:
            labels = self._dialect.child_selector
            informer = self._child(resource_of(api), CompanionObject, labels=labels)
            self.stores.companions = {**self.stores.companions, api.kind: informer.store}
        self.all[api.kind] = informer
        return informer

    async def wait_until_synced(self) -> None:
        for each in list(self.all.values()):
            await each.has_synced.wait()

    @property
    def has_synced(self) -> bool:
        return all(each.has_synced.is_set() for each in self.all.values())

    def _child(self, resource: Resource, kind: type[T], *, labels: str) -> Informer[T]:
        return Informer(
            self._watch(resource, kind, labels=labels),
            store=Store(label=self._dialect.job_label),
            on_change=self._listeners.on_child,
        )

    def _watch(self, resource: Resource, kind: type[T], *, labels: str) -> Watch[T]:
        source = self._source
        scope = Scope(resource=resource, namespace=source.namespace, labels=labels)
        watch = Watch(source.api, scope, decode=kind, timing=source.timing)
        self.idle_seconds[resource.plural] = lambda: watch.idle_seconds
        return watch
