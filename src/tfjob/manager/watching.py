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
from tfjob.controller.objects import JobObject
from tfjob.controller.passes import JOBS
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import Dialect
from tfjob.k8s.pod import Phase, Pod
from tfjob.k8s.podgroup import PodGroup
from tfjob.k8s.service import Service

T = TypeVar("T", bound=HasMetadata)
Enqueue = Callable[[Key, float], None]
"""Takes a job and the seconds its pass may wait."""
GATHERING: Final = 0.1
"""News that others of its kind will follow may wait this long, so that one pass serves them all."""
VOLCANO: Final = Resource("scheduling.volcano.sh", "v1beta1", "podgroups")
SCHEDULER_PLUGINS: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups")
_ON_THEIR_WAY: Final = frozenset({Phase.PENDING, Phase.RUNNING})


class Following(Protocol):
    """A cache that is kept up to date."""

    has_synced: asyncio.Event

    async def run(self) -> None: ...
    def is_caught_up(self, key: Key, version: str) -> bool: ...


class Watches(msgspec.Struct):
    """All that is followed for one dialect."""

    jobs: Informer[JobObject]
    pods: Informer[Pod]
    services: Informer[Service]
    pod_groups: Informer[PodGroup] | None

    @property
    def all(self) -> dict[str, Following]:
        found: dict[str, Following] = {
            JOBS: self.jobs,
            ChildKind.POD: self.pods,
            ChildKind.SERVICE: self.services,
        }
        if self.pod_groups is not None:
            found[ChildKind.POD_GROUP] = self.pod_groups
        return found

    def stores(self) -> Stores:
        return Stores(
            jobs=self.jobs.store,
            pods=self.pods.store,
            services=self.services.store,
            pod_groups=self.pod_groups.store if self.pod_groups else None,
        )

    @property
    def has_synced(self) -> bool:
        return all(each.has_synced.is_set() for each in self.all.values())


def group_resource(scheduler: str) -> Resource | None:
    """The PodGroups of a gang scheduler by its flag; None where gang scheduling is off."""
    if scheduler.lower() in {"", "none"}:
        return None
    return VOLCANO if scheduler.lower() == "volcano" else SCHEDULER_PLUGINS


def watches(
    api: Api,
    dialect: Dialect,
    *,
    namespace: str | None,
    groups: Resource | None,
    enqueue: Enqueue,
    timing: Timing = REAL,
) -> Watches:
    def child(resource: Resource, kind: type[T], *, labels: str) -> Informer[T]:
        scope = Scope(resource=resource, namespace=namespace, labels=labels)
        return Informer(
            Watch(api, scope, decode=kind, timing=timing),
            store=Store(label=dialect.job_label),
            on_change=lambda old, new: _for_owner(old, new, dialect=dialect, enqueue=enqueue),
        )

    own = Resource(dialect.group, dialect.version, dialect.plural)
    return Watches(
        jobs=Informer(
            Watch(api, Scope(resource=own, namespace=namespace), decode=JobObject, timing=timing),
            store=Store(),
            on_change=lambda old, new: _for_itself(old or new, enqueue),
        ),
        pods=child(PODS, Pod, labels=dialect.child_selector),
        services=child(SERVICES, Service, labels=dialect.child_selector),
        pod_groups=child(groups, PodGroup, labels="") if groups else None,
    )


def _for_itself(item: HasMetadata | None, enqueue: Enqueue) -> None:
    if item is not None:
        enqueue((item.metadata.namespace, item.metadata.name), 0.0)


def _for_owner(
    old: HasMetadata | None, new: HasMetadata | None, *, dialect: Dialect, enqueue: Enqueue
) -> None:
    """The job that owns a child, and the one it names: it may have changed hands."""
    delay = GATHERING if _is_routine(new) else 0.0
    for key in {key for item in (old, new) if item for key in _jobs_of(item, dialect)}:
        enqueue(key, delay)


def _is_routine(new: HasMetadata | None) -> bool:
    """A child that came up or goes on; one that ends, or is taken away, is urgent."""
    if new is None or new.metadata.is_terminating:
        return False
    return not isinstance(new, Pod) or new.phase in _ON_THEIR_WAY


def _jobs_of(item: HasMetadata, dialect: Dialect) -> set[Key]:
    meta = item.metadata
    owners = {
        (meta.namespace, owner.name)
        for owner in meta.owner_references
        if owner.controller and owner.kind == dialect.kind
    }
    label = meta.labels.get(dialect.job_label)
    return owners or ({(meta.namespace, label)} if label else set())
