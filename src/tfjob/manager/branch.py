"""One dialect's part of an operator: its watches, its queue and the workers at it.

A dialect whose API the cluster does not have costs nothing but a look now and then, and is served
from the moment its API is there. The same holds for the optional APIs of its children.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from tfjob.client.events import EventRecorder
from tfjob.client.fair import FairPool
from tfjob.client.http import Api
from tfjob.client.queue import WorkQueue
from tfjob.client.resource import Resource
from tfjob.client.timing import Timing
from tfjob.client.wire import Key
from tfjob.controller.children import Hands
from tfjob.controller.facts import Facts
from tfjob.controller.gather import Gatherer
from tfjob.controller.kinds import Kinds, resource_of
from tfjob.controller.loop import Loop, Times
from tfjob.controller.memory import Memory
from tfjob.controller.objects import JobObject
from tfjob.controller.passes import Reconciler
from tfjob.controller.statuses import StatusWriter
from tfjob.dialects.base import ChildApi, Dialect
from tfjob.manager.discovery import Discovery
from tfjob.manager.metrics import Metrics
from tfjob.manager.settings import Settings
from tfjob.manager.watching import Reader, Source, Watches, apis_beside

_log: Final = logging.getLogger(__name__)
_LOOK: Final = 5.0
"""Seconds between two looks whether a rush is over."""
_MANY_EVENTS: Final = 200
"""So many that are due mean that the server has more to do than it can."""


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What all parts of one operator use together."""

    api: Api
    pool: FairPool
    recorder: EventRecorder
    metrics: Metrics
    settings: Settings
    may_write: Callable[[], bool]
    timing: Timing
    now: Callable[[], datetime]
    token: Callable[[], str]
    longest_look: float
    """Seconds between two looks for an API that is not there."""


class Branch:
    """`run` until cancelled. `workers` are apart, so that passes under way can end by themselves:
    they go home when the queue is closed."""

    def __init__(self, dialect: Dialect, shared: Shared) -> None:
        self.dialect = dialect
        self.queue = WorkQueue[Key]()
        self.workers: list[asyncio.Task[None]] = []
        self.watches: Watches | None = None
        self.loop: Loop | None = None
        self.has_synced = asyncio.Event()
        self._shared = shared
        self._discovery = Discovery(shared.api, timing=shared.timing, longest=shared.longest_look)
        self._gatherer: Gatherer | None = None
        self.memory = Memory(is_busy=self._is_busy, clock=shared.timing.clock)
        self._is_looked_for = False
        self._is_counted = False

    @property
    def is_ready(self) -> bool:
        """Its caches are filled, or there is nothing to fill them with."""
        return self._is_looked_for and (self.watches is None or self.watches.has_synced)

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
        watches = self._begin(served)
        self._is_looked_for = True
        tasks = [asyncio.create_task(each.run()) for each in watches.all.values()]
        missing = [each for each in optional if each not in served]
        tasks += [asyncio.create_task(self._follow_later(each)) for each in missing]
        tasks.append(asyncio.create_task(self._follow_rush()))
        try:
            await _or_failure(watches.synced(), tasks)
            self.has_synced.set()
            _log.info("caches filled", extra={"kind": self._title, "jobs": len(watches.jobs.store)})
            self.workers = [
                asyncio.create_task(self._work()) for _ in range(self._shared.settings.threads)
            ]
            await _all_done([*tasks, *self.workers])
        finally:
            await cancel([*tasks, *self.workers])

    def enqueue_all(self) -> None:
        for each in self.watches.jobs.store if self.watches is not None else ():
            self.queue.add((each.metadata.namespace, each.metadata.name))

    def count_jobs(self) -> None:
        """Counters begin with the jobs there are when this operator begins to work."""
        if self._is_counted or self.watches is None or self._gatherer is None:
            return
        self._is_counted = True
        decode = self._gatherer.decode
        self._shared.metrics.seed(
            (each.metadata.namespace, decode(each).status) for each in self.watches.jobs.store
        )

    def _note_change(self, old: JobObject | None, new: JobObject | None) -> None:
        if old is None and new is not None:
            self._tell_unread(new)
        self._remember(old, new)

    def _tell_unread(self, job: JobObject) -> None:
        """Once for each job, and only to whom it is worth the work of looking."""
        if not _log.isEnabledFor(logging.DEBUG):
            return
        unread = self.dialect.unread(job.manifest())
        if unread:
            meta = job.metadata
            facts = {"namespace": meta.namespace, "job": meta.name, "keys": ", ".join(unread)}
            _log.debug("keys without a meaning ignored", extra={"kind": self._title, **facts})

    def _remember(self, old: JobObject | None, new: JobObject | None) -> None:
        """A job that appears while this operator leads has not been worked on by any other."""
        leads = self.has_synced.is_set() and self._shared.may_write()
        if old is None and new is not None and leads:
            self.memory.note_birth(new)
        elif old is not None and new is None:
            self.memory.note_end(old)

    @property
    def _resource(self) -> Resource:
        return Resource(self.dialect.group, self.dialect.version, self.dialect.plural)

    @property
    def _title(self) -> str:
        return f"{self.dialect.kind}.{self.dialect.group}"

    def _begin(self, served: Sequence[ChildApi]) -> Watches:
        shared, jobs = self._shared, self._shared.settings.jobs
        jobs = msgspec.structs.replace(jobs, served=frozenset(each.name for each in served))
        source = Source(shared.api, shared.settings.namespace, shared.timing)
        reader = Reader(
            enqueue=self.queue.add_after,
            hurry=self.queue.hurry,
            on_job=self._note_change,
            is_busy=self._is_busy,
            is_under_way=lambda key: self.queue.is_working(key) or self.memory.is_holding(key),
        )
        watches = Watches(source, self.dialect, jobs, reader=reader)
        self.watches = watches
        self._gatherer = Gatherer(
            self.dialect,
            jobs,
            stores=watches.stores,
            facts=Facts(shared.api, clock=shared.timing.clock),
            now=shared.now,
            token=shared.token,
        )
        self.loop = Loop(
            self._reconciler(self._gatherer),
            self.queue,
            caches=watches.all,
            observer=shared.metrics.passes_of(self.dialect.component),
            times=Times(now=shared.now, elapsed=shared.timing.clock),
            may_write=shared.may_write,
        )
        return watches

    def _reconciler(self, gatherer: Gatherer) -> Reconciler:
        shared = self._shared
        return Reconciler(
            gatherer=gatherer,
            hands=Hands(
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
            memory=self.memory,
        )

    def _is_busy(self) -> bool:
        """Jobs wait for a worker, their children for a place, or many events to be sent."""
        shared = self._shared
        is_told = shared.recorder.due < _MANY_EVENTS
        return bool(self.queue) or not shared.pool.is_calm or not is_told

    async def _work(self) -> None:
        assert self.loop is not None  # noqa: S101 - for the type checker: begun before it works
        await self.loop.run()

    async def _follow_rush(self) -> None:
        """One look for all jobs: each of them looking for itself would be a rush of its own."""
        while True:
            await self._shared.timing.sleep(_LOOK)
            for key in self.memory.relieve() if self._shared.may_write() else ():
                self.queue.add(key)

    async def _follow_later(self, api: ChildApi) -> None:
        """Once an optional API is there, its objects are followed and every job is looked at."""
        namespace = self._shared.settings.namespace
        await self._discovery.until_usable(resource_of(api), namespace=namespace)
        assert self.watches is not None  # noqa: S101 - for the type checker, as above
        following = self.watches.follow(api)
        task = asyncio.create_task(following.run())
        try:
            await _or_failure(following.has_synced.wait(), [task])
            self._note_served(api)
            await task
        finally:
            await cancel([task])

    def _note_served(self, api: ChildApi) -> None:
        assert self._gatherer is not None  # noqa: S101 - for the type checker, as above
        _log.info("optional API found", extra={"kind": self._title, "api": api.name})
        jobs = self._gatherer.settings
        self._gatherer.settings = msgspec.structs.replace(jobs, served=jobs.served | {api.name})
        self.memory.forget()
        self.enqueue_all()

    def _tell_missing(self) -> None:
        self._is_looked_for = True
        _log.warning("API not there: its jobs are served once it is", extra={"kind": self._title})


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
