"""The controller of one dialect: its informers, its workqueue and its workers, wired together.

A dialect whose API the cluster does not have costs nothing but a look now and then, and is served
from the moment its API is there. The same holds for the optional APIs of its children.
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
from tfjob.controller.child_kinds import Kinds, resource_of
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.event_handler import EventHandler, Request
from tfjob.controller.expectations import Expectations
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import Load, Pacer, PacingConfig
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.snapshot import SnapshotReader
from tfjob.controller.status_writer import StatusWriter
from tfjob.controller.worker import Times, Worker
from tfjob.dialects.base import ChildApi, Dialect
from tfjob.manager.background import supervised
from tfjob.manager.discovery import Discovery
from tfjob.manager.informers import Informers, Listeners, Source, apis_beside
from tfjob.manager.metrics import Metrics
from tfjob.manager.settings import Settings

_log: Final = logging.getLogger(__name__)
_LEAST_RESERVED: Final = 2
"""Workers for high priority, however few there are for all jobs."""


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What all parts of one operator use together."""

    api: Api
    pool: FairSemaphore
    recorder: EventRecorder
    metrics: Metrics
    settings: Settings
    may_write: Callable[[], bool]
    timing: Timing
    now: Callable[[], datetime]
    token: Callable[[], str]
    longest_look: float
    """Seconds between two looks for an API that is not there."""
    pacing: PacingConfig = PacingConfig()


class _Begun(msgspec.Struct, frozen=True):
    """What there is from the moment on at which the dialect's API is found."""

    informers: Informers
    handler: EventHandler
    reader: SnapshotReader
    reconciler: Reconciler
    expectations: Expectations
    loop: Worker


class Controller:
    """`run` until cancelled. `workers` are apart, so that reconciles under way can end by
    themselves: they go home when the queue is closed."""

    def __init__(self, dialect: Dialect, shared: Shared) -> None:
        self.dialect = dialect
        self.queue = WorkQueue[Key](group=_namespace)
        self.workers: list[asyncio.Task[None]] = []
        self.has_synced = asyncio.Event()
        self._shared = shared
        self._discovery = Discovery(shared.api, timing=shared.timing, longest=shared.longest_look)
        self._begun: _Begun | None = None
        self.pacer = Pacer(
            shared.pacing,
            load=self._load(),
            clock=shared.timing.clock,
            shows_children=dialect.shows_children,
        )
        self._is_looked_for = False
        self._is_counted = False

    @property
    def informers(self) -> Informers | None:
        return None if self._begun is None else self._begun.informers

    @property
    def expected(self) -> int:
        """Jobs whose own writes have not come back."""
        return 0 if self._begun is None else len(self._begun.expectations)

    @property
    def is_ready(self) -> bool:
        """Its caches are filled, or there is nothing to fill them with."""
        return self._is_looked_for and (self.informers is None or self.informers.has_synced)

    async def run(self) -> None:
        await self._discovery.until_there(self._resource, on_missing=self._tell_missing)
        apis = apis_beside(self.dialect, self._shared.settings.jobs)
        optional = [each for each in apis if each.is_optional]
        namespace = self._shared.settings.namespace
        served = [
            each
            for each in optional
            if await self._discovery.is_usable(resource_of(each), namespace=namespace)
        ]
        self._begun = begun = self._begin(served)
        self._is_looked_for = True
        tasks = [
            self._task(each.run, name=f"watch of {kind}")
            for kind, each in begun.informers.all.items()
        ]
        for each in optional:
            if each not in served:
                later = partial(self._follow_later, each, begun)
                tasks.append(self._task(later, name=f"search for {each.name}"))
        try:
            await _or_failure(begun.informers.synced(), tasks)
            self.has_synced.set()
            jobs = len(begun.informers.jobs.store)
            _log.info("caches filled", extra={"kind": self.title, "jobs": jobs})
            self.workers = self._start_workers(begun.loop)
            await _all_done([*tasks, *self.workers])
        finally:
            await cancel([*tasks, *self.workers])

    def _start_workers(self, loop: Worker) -> list[asyncio.Task[None]]:
        """Beside those for all jobs some for high priority, who never wait for many children."""
        threads = self._shared.settings.threads
        reserved = max(_LEAST_RESERVED, threads // 2)
        least = [Priority.NORMAL] * threads + [Priority.HIGH] * reserved
        return [
            self._task(partial(loop.run, each), name="worker", may_end=lambda: self.queue.is_closed)
            for each in least
        ]

    def _task(
        self,
        work: Callable[[], Awaitable[None]],
        *,
        name: str,
        may_end: Callable[[], bool] = lambda: False,
    ) -> asyncio.Task[None]:
        full = f"{name} for {self.title}"
        return asyncio.create_task(supervised(work, name=full, may_end=may_end))

    def enqueue_all(self) -> None:
        for each in self.informers.jobs.store if self.informers is not None else ():
            self.queue.add((each.metadata.namespace, each.metadata.name))

    @property
    def idle_seconds(self) -> dict[str, Callable[[], float]]:
        """By resource, how long ago its watch last made progress."""
        return {} if self.informers is None else self.informers.idle_seconds

    def cancel_reconciles(self) -> None:
        """Cancel the reconciles in progress."""
        if self._begun is not None:
            self._begun.loop.cancel_reconciles()

    def forget(self) -> None:
        """Another process may have worked on any job by now, or other rules may hold."""
        self.pacer.forget()
        if self._begun is not None:
            self._begun.reconciler.created_here.clear()

    def count_jobs(self) -> None:
        """Counters begin with the jobs there are when this operator begins to work."""
        begun = self._begun
        if self._is_counted or begun is None:
            return
        self._is_counted = True
        self._shared.metrics.seed(
            (each.metadata.namespace, begun.reader.decode(each).status)
            for each in begun.informers.jobs.store
        )

    def _job_changed(self, old: JobObject | None, new: JobObject | None) -> None:
        begun = self._begun
        if begun is None:
            return
        if old is None and new is not None:
            self._tell_unread(new)
            # Where this operator leads, nobody else has worked on a job that appears.
            if self.has_synced.is_set() and self._shared.may_write():
                begun.reconciler.created_here.add(new.metadata.uid)
        elif old is not None and new is None:
            self.pacer.forget_job(old)
            begun.reconciler.created_here.discard(old.metadata.uid)
        self._enqueue(begun.handler.job_changed(old, new))

    def _child_changed(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        if self._begun is not None:
            self._enqueue(self._begun.handler.child_changed(old, new))

    def _enqueue(self, requests: Iterable[Request]) -> None:
        for key, delay, priority in requests:
            self.queue.add_after(key, delay, priority)

    def _tell_unread(self, job: JobObject) -> None:
        """Once for each job, and only to whom it is worth the work of looking."""
        if not _log.isEnabledFor(logging.DEBUG):
            return
        unread = self.dialect.unread(job.manifest())
        if unread:
            meta = job.metadata
            facts = {"namespace": meta.namespace, "job": meta.name, "keys": ", ".join(unread)}
            _log.debug("keys without a meaning ignored", extra={"kind": self.title, **facts})

    @property
    def _resource(self) -> Resource:
        return Resource(self.dialect.group, self.dialect.version, self.dialect.plural)

    @property
    def title(self) -> str:
        return f"{self.dialect.kind}.{self.dialect.group}"

    def _begin(self, served: Sequence[ChildApi]) -> _Begun:
        shared, jobs = self._shared, self._shared.settings.jobs
        jobs = msgspec.structs.replace(jobs, served=frozenset(each.name for each in served))
        source = Source(shared.api, shared.settings.namespace, shared.timing)
        listeners = Listeners(on_job=self._job_changed, on_child=self._child_changed)
        informers = Informers(source, self.dialect, jobs, listeners=listeners)
        reader = SnapshotReader(
            self.dialect,
            jobs,
            stores=informers.stores,
            facts=ClusterLookups(shared.api, clock=shared.timing.clock),
            now=shared.now,
            token=shared.token,
        )
        reconciler = self._reconciler(reader)
        expectations = Expectations(informers.all, clock=shared.timing.clock)
        loop = Worker(
            reconciler,
            self.queue,
            expectations=expectations,
            observer=shared.metrics.passes_of(self.dialect.component),
            times=Times(now=shared.now, elapsed=shared.timing.clock),
            may_write=shared.may_write,
        )
        handler = EventHandler(self.dialect, stores=informers.stores, pacer=self.pacer)
        return _Begun(informers, handler, reader, reconciler, expectations, loop)

    def _reconciler(self, reader: SnapshotReader) -> Reconciler:
        shared = self._shared
        return Reconciler(
            reader=reader,
            child_writer=ChildWriter(
                shared.api,
                shared.pool,
                shared.metrics,
                kinds=Kinds(self.dialect.companions),
                may_write=shared.may_write,
                clock=shared.timing.clock,
            ),
            statuses=StatusWriter(shared.api, self.dialect, may_write=shared.may_write),
            recorder=shared.recorder,
            observer=shared.metrics,
            pacer=self.pacer,
        )

    def _load(self) -> Load:
        shared = self._shared
        return Load(
            keys=lambda: len(self.queue),
            has_waiting_children=lambda: not shared.pool.is_calm,
            events=lambda: shared.recorder.due,
            is_worked_on=self._is_worked_on,
        )

    def _is_worked_on(self, key: Key) -> bool:
        begun = self._begun
        return self.queue.is_working(key) or (begun is not None and key in begun.expectations)

    async def _follow_later(self, api: ChildApi, begun: _Begun) -> None:
        """Once an optional API is there, its objects are followed and every job is looked at."""
        namespace = self._shared.settings.namespace
        await self._discovery.until_usable(resource_of(api), namespace=namespace)
        following = begun.informers.follow(api)
        task = self._task(following.run, name=f"watch of {api.kind}")
        try:
            await _or_failure(following.has_synced.wait(), [task])
            _log.info("optional API found", extra={"kind": self.title, "api": api.name})
            jobs = begun.reader.settings
            begun.reader.settings = msgspec.structs.replace(jobs, served=jobs.served | {api.name})
            self.forget()
            self.enqueue_all()
            await task
        finally:
            await cancel([task])

    def _tell_missing(self) -> None:
        self._is_looked_for = True
        _log.warning("API not there: its jobs are served once it is", extra={"kind": self.title})


def _namespace(key: Key) -> str:
    return key[0]


async def cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _or_failure(
    work: Coroutine[Any, Any, Any], background: Sequence[asyncio.Task[None]]
) -> None:
    """Wait for the work; what ends in the background meanwhile ends it, and with its error."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([task, *background], return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel([task] if not task.done() else [])
    for each in done:
        each.result()


async def _all_done(tasks: Sequence[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for each in done:
        each.result()
