"""The controller of one dialect: its informers, workqueue, reconciler and workers.

If the cluster does not serve the dialect's API, the controller checks for it from time to time and
starts once it is served. The same holds for the optional APIs of its children.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec

from tfjob.client.events import EventRecorder
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.http import Api
from tfjob.client.resource import Resource
from tfjob.client.timing import Timing
from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.client.workqueue import Priority, WorkQueue
from tfjob.controller import predicates
from tfjob.controller.child_kinds import Kinds, resource_of
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.event_handler import EventHandler, Request
from tfjob.controller.expectations import Expectations
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import LoadSignals, Pacer, PacingConfig
from tfjob.controller.reconciler import JOBS, Reconciler
from tfjob.controller.snapshot import SnapshotReader
from tfjob.controller.status_writer import StatusWriter
from tfjob.controller.worker import Clocks, Worker
from tfjob.dialects.base import ChildApi, Dialect
from tfjob.manager.background import supervised
from tfjob.manager.discovery import Discovery
from tfjob.manager.informers import Informers, Listeners, Source, extra_child_apis
from tfjob.manager.metrics import Metrics
from tfjob.manager.settings import Settings

_log: Final = logging.getLogger(__name__)
_MIN_RESERVED: Final = 2
"""The minimum number of high-priority workers."""


class SharedServices(msgspec.Struct, frozen=True, kw_only=True):
    """What all controllers of one operator share."""

    api: Api
    pool: FairSemaphore
    recorder: EventRecorder
    metrics: Metrics
    settings: Settings
    may_write: Callable[[], bool]
    timing: Timing
    now: Callable[[], datetime]
    token: Callable[[], str]
    max_discovery_interval: float
    """The longest interval in seconds between checks for an API that is not served yet."""
    pacing: PacingConfig = PacingConfig()


class _Components(msgspec.Struct, frozen=True):
    """The parts that are built once the dialect's API is served."""

    informers: Informers
    handler: EventHandler
    reader: SnapshotReader
    reconciler: Reconciler
    expectations: Expectations
    worker: Worker


class Controller:
    """Serves the jobs of one dialect. `run` returns only when it is cancelled.

    The `workers` end when the queue is closed, after the running reconciles have finished.
    """

    def __init__(self, dialect: Dialect, shared: SharedServices) -> None:
        self.dialect = dialect
        self.queue = WorkQueue[Key](group=_namespace)
        self.workers: list[asyncio.Task[None]] = []
        self.has_synced = asyncio.Event()
        self._shared = shared
        self.jobs = shared.settings.jobs
        """The settings for jobs, including what discovery has found so far."""
        self._discovery = Discovery(
            shared.api, timing=shared.timing, max_interval=shared.max_discovery_interval
        )
        self._components: _Components | None = None
        self.pacer = Pacer(
            shared.pacing,
            load=self._load(),
            clock=shared.timing.clock,
            shows_children=dialect.shows_children,
        )
        self._was_discovered = False
        self._has_seeded_metrics = False

    @property
    def informers(self) -> Informers | None:
        return None if self._components is None else self._components.informers

    @property
    def expected(self) -> int:
        """How many jobs have unmet expectations."""
        return 0 if self._components is None else len(self._components.expectations)

    @property
    def is_ready(self) -> bool:
        """The informers have synced, or the cluster does not serve the dialect's API."""
        return self._was_discovered and (self.informers is None or self.informers.has_synced)

    async def run(self) -> None:
        await self._discovery.wait_until_served(self._resource, on_missing=self._log_missing_api)
        apis = extra_child_apis(self.dialect, self.jobs)
        optional = [each for each in apis if each.is_optional]
        namespace = self._shared.settings.namespace
        served = [
            each
            for each in optional
            if await self._discovery.is_usable(resource_of(each), namespace=namespace)
        ]
        self._components = components = self._build(served)
        self._was_discovered = True
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._sync(components, tasks)
            for each in optional:
                if each not in served:
                    work = partial(self._watch_when_served, each, components)
                    tasks.append(self._task(work, name=f"discovery of {each.name}"))
            self.workers = self._start_workers(components.worker)
            await _wait_all([*tasks, *self.workers])
        finally:
            await cancel([*tasks, *self.workers])

    async def _sync(self, components: _Components, tasks: list[asyncio.Task[None]]) -> None:
        """Start the informers, add their tasks, and wait until they have synced.

        Pods are listed after jobs, so they are not older than the listed versions of the jobs.
        """
        informers = components.informers

        def start(kind: str) -> None:
            tasks.append(self._task(informers.all[kind].run, name=f"informer of {kind}"))

        start(JOBS)
        await _wait_or_fail(informers.jobs.has_synced.wait(), tasks)
        jobs = list(informers.jobs.store)
        for kind in informers.all:
            if kind != JOBS:
                start(kind)
        await _wait_or_fail(informers.wait_until_synced(), tasks)
        components.reconciler.pod_confirmer.pods_listed_after(jobs)
        self.has_synced.set()
        _log.info("informers synced", extra={"kind": self.kind_name, "jobs": len(jobs)})

    def _start_workers(self, worker: Worker) -> list[asyncio.Task[None]]:
        """Start workers for all keys, and some for high-priority keys only."""
        threads = self._shared.settings.threads
        reserved = max(_MIN_RESERVED, threads // 2)
        priorities = [Priority.NORMAL] * threads + [Priority.HIGH] * reserved
        return [
            self._task(
                partial(worker.run, each), name="worker", may_end=lambda: self.queue.is_closed
            )
            for each in priorities
        ]

    def _task(
        self,
        work: Callable[[], Awaitable[None]],
        *,
        name: str,
        may_end: Callable[[], bool] = lambda: False,
    ) -> asyncio.Task[None]:
        full = f"{name} for {self.kind_name}"
        return asyncio.create_task(supervised(work, name=full, may_end=may_end))

    def enqueue_all(self) -> None:
        if self.informers is None:
            return
        for each in self.informers.jobs.store:
            self.queue.add((each.metadata.namespace, each.metadata.name))
        for key in self.informers.stores.held_pods.jobs:
            self.queue.add(key)

    @property
    def idle_seconds(self) -> dict[str, Callable[[], float]]:
        """By resource, the seconds since its watch last made progress."""
        return {} if self.informers is None else self.informers.idle_seconds

    def cancel_reconciles(self) -> None:
        """Cancel the reconciles in progress."""
        if self._components is not None:
            self._components.worker.cancel_reconciles()

    def forget(self) -> None:
        """Drop state that another leader or new settings may have made wrong."""
        self.pacer.forget()
        if self._components is not None:
            self._components.reconciler.forget()

    def seed_metrics(self) -> None:
        """Set the job counters from the jobs that exist when this operator starts to work."""
        components = self._components
        if self._has_seeded_metrics or components is None:
            return
        self._has_seeded_metrics = True
        self._shared.metrics.seed(
            (each.metadata.namespace, components.reader.decode(each).status)
            for each in components.informers.jobs.store
        )

    def _job_changed(self, old: JobObject | None, new: JobObject | None) -> None:
        components = self._components
        if components is None:
            return
        if old is None and new is not None:
            self._log_unread_fields(new)
            # No other process has worked on a job that appears while this one leads.
            if self.has_synced.is_set() and self._shared.may_write():
                components.reconciler.created_here.add(new.metadata.uid)
        elif old is not None and new is None:
            self.pacer.forget_job(old)
            components.reconciler.forget_job(old.metadata.uid)
        self._enqueue(components.handler.job_changed(old, new))

    def _child_changed(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        components = self._components
        if components is None:
            return
        if predicates.gave_up_node(old, new):
            components.informers.stores.node_freed_at = self._shared.now()
        if old is not None and new is None:
            components.reader.forget_child(old.metadata.uid)
        self._enqueue(components.handler.child_changed(old, new))

    def _enqueue(self, requests: Iterable[Request]) -> None:
        for key, delay, priority in requests:
            self.queue.add_after(key, delay, priority)

    def _log_unread_fields(self, job: JobObject) -> None:
        """Log fields that the dialect does not read, at debug level only: finding them is slow."""
        if not _log.isEnabledFor(logging.DEBUG):
            return
        unread = self.dialect.unknown_fields(job.manifest())
        if unread:
            meta = job.metadata
            fields = {"namespace": meta.namespace, "job": meta.name, "fields": ", ".join(unread)}
            _log.debug("unknown fields ignored", extra={"kind": self.kind_name, **fields})

    @property
    def _resource(self) -> Resource:
        return Resource(self.dialect.group, self.dialect.version, self.dialect.plural)

    @property
    def kind_name(self) -> str:
        return f"{self.dialect.kind}.{self.dialect.group}"

    def _build(self, served: Sequence[ChildApi]) -> _Components:
        shared = self._shared
        jobs = msgspec.structs.replace(self.jobs, served=frozenset(each.name for each in served))
        source = Source(shared.api, shared.settings.namespace, shared.timing)
        listeners = Listeners(on_job=self._job_changed, on_child=self._child_changed)
        informers = Informers(source, self.dialect, jobs, listeners=listeners)
        reader = SnapshotReader(
            self.dialect,
            jobs,
            stores=informers.stores,
            lookups=ClusterLookups(shared.api, clock=shared.timing.clock),
            now=shared.now,
            token=shared.token,
        )
        reconciler = self._reconciler(reader)
        expectations = Expectations(informers.all, clock=shared.timing.clock)
        worker = Worker(
            reconciler,
            self.queue,
            expectations=expectations,
            metrics=shared.metrics.reconcile_recorder(self.dialect.component),
            clocks=Clocks(now=shared.now, elapsed=shared.timing.clock),
            may_write=shared.may_write,
        )
        handler = EventHandler(self.dialect, stores=informers.stores, pacer=self.pacer)
        return _Components(informers, handler, reader, reconciler, expectations, worker)

    def _reconciler(self, reader: SnapshotReader) -> Reconciler:
        shared = self._shared
        return Reconciler(
            reader=reader,
            child_writer=ChildWriter(
                shared.api,
                shared.pool,
                shared.metrics,
                kinds=Kinds(extra_child_apis(self.dialect, reader.settings)),
                clock=shared.timing.clock,
            ),
            status_writer=StatusWriter(shared.api, self.dialect),
            recorder=shared.recorder,
            metrics=shared.metrics,
            pacer=self.pacer,
        )

    def _load(self) -> LoadSignals:
        shared = self._shared
        return LoadSignals(
            queued_jobs=lambda: len(self.queue),
            has_queued_creates=lambda: not shared.pool.is_idle,
            pending_events=lambda: shared.recorder.due_count,
            is_in_progress=self._is_in_progress,
            is_reconciling=self.queue.is_working,
        )

    def _is_in_progress(self, key: Key) -> bool:
        components = self._components
        return self.queue.is_working(key) or (
            components is not None and key in components.expectations
        )

    async def _watch_when_served(self, api: ChildApi, components: _Components) -> None:
        """Once an optional API is served, start its informer and reconcile every job."""
        namespace = self._shared.settings.namespace
        await self._discovery.wait_until_usable(resource_of(api), namespace=namespace)
        informer = components.informers.watch(api)
        task = self._task(informer.run, name=f"informer of {api.kind}")
        try:
            await _wait_or_fail(informer.has_synced.wait(), [task])
            _log.info("optional API is now served", extra={"kind": self.kind_name, "api": api.name})
            jobs = components.reader.settings
            components.reader.settings = msgspec.structs.replace(
                jobs, served=jobs.served | {api.name}
            )
            self.forget()
            self.enqueue_all()
            await task
        finally:
            await cancel([task])

    def _log_missing_api(self) -> None:
        self._was_discovered = True
        _log.warning("API not served, waiting for its CRD", extra={"kind": self.kind_name})


def _namespace(key: Key) -> str:
    return key[0]


async def cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_or_fail(
    work: Coroutine[Any, Any, Any], background: Sequence[asyncio.Task[None]]
) -> None:
    """Wait for the work. A background task that ends first ends the wait, with its error."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([task, *background], return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel([task] if not task.done() else [])
    for each in done:
        each.result()


async def _wait_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for each in done:
        each.result()
