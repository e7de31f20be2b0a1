"""The operator: builds everything, starts it in order and ends it in order.

Caches fill whether or not this operator leads; only a leader works on jobs. A lost lease stops the
work at once and keeps the caches, so that leading again costs nothing.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tfjob.client.config import Config
from tfjob.client.events import EventRecorder
from tfjob.client.fair import FairPool
from tfjob.client.http import Api
from tfjob.client.lease import Elector, Terms
from tfjob.client.queue import WorkQueue
from tfjob.client.resource import is_served
from tfjob.client.throttle import TokenBucket
from tfjob.client.timing import REAL, Timing
from tfjob.client.wire import Key
from tfjob.controller.children import Hands
from tfjob.controller.facts import Facts
from tfjob.controller.gather import Gatherer
from tfjob.controller.loop import Loop, Times
from tfjob.controller.passes import Reconciler
from tfjob.controller.statuses import StatusWriter
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.words import OPERATOR
from tfjob.manager import health
from tfjob.manager.metrics import Metrics
from tfjob.manager.settings import Settings
from tfjob.manager.watching import Watches, group_resource, watches

_log: Final = logging.getLogger(__name__)
IN_FLIGHT: Final = 64
"""Writes of children at one time, over all jobs."""
EVENT_SENDERS: Final = 8
FAREWELL: Final = 20.0
"""Seconds that passes under way have to end when the operator stops."""


class StartError(Exception):
    """The operator cannot start; the message says what is missing."""


def _now() -> datetime:
    return datetime.now(tz=UTC)


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds an operator: the way to its API server, time, and chance."""

    connect: Callable[..., Api] = Api
    timing: Timing = REAL
    now: Callable[[], datetime] = _now


class Operator:
    """One operator process for one dialect."""

    def __init__(
        self,
        config: Config,
        settings: Settings,
        *,
        dialect: Dialect,
        identity: str,
        world: World | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.queue = WorkQueue[Key]()
        self._dialect = dialect
        self._world = world or World()
        timing, now = self._world.timing, self._world.now
        self._api = self._world.connect(
            config,
            throttle=_throttle(settings, timing),
            on_request=self.metrics.requested,
            timing=timing,
        )
        self._recorder = EventRecorder(
            self._api, component=OPERATOR, now=now, on_drop=self.metrics.event_dropped
        )
        # Renewing a lease must not wait behind the work: a slow leader is still the leader.
        self._election_api = self._world.connect(
            config, on_request=self.metrics.requested, timing=timing
        )
        self._elector = _elector(self._election_api, settings, identity=identity, world=self._world)
        self._watches = self._follow()
        self._gatherer = Gatherer(
            dialect,
            settings.jobs,
            stores=self._watches.stores(),
            facts=Facts(self._api, clock=timing.clock),
            now=now,
        )
        self.loop = self._work_loop()
        self._stopping = asyncio.Event()
        self._servers: list[health.Server] = []

    async def run(self) -> None:
        """Work until `stop`; then end cleanly."""
        background: list[asyncio.Task[None]] = []
        workers: list[asyncio.Task[None]] = []
        try:
            await self._check_gang()
            await self._serve()
            background = [_task(each) for each in self._background()]
            workers = [_task(self._worker()) for _ in range(self.settings.threads)]
            await self._until_stopped(background + workers)
        finally:
            await self._end(background, workers)

    def stop(self) -> None:
        """Ask the operator to end; nothing that is under way is cut in half."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self.stop)

    @property
    def is_ready(self) -> bool:
        return self._watches.has_synced

    def _follow(self) -> Watches:
        return watches(
            self._api,
            self._dialect,
            namespace=self.settings.namespace,
            groups=group_resource(self.settings.jobs.gang_scheduler_name),
            enqueue=self.queue.add_after,
            timing=self._world.timing,
        )

    def _work_loop(self) -> Loop:
        statuses = StatusWriter(self._api, self._dialect, may_write=self._may_write)
        reconciler = Reconciler(
            gatherer=self._gatherer,
            hands=Hands(self._api, FairPool(IN_FLIGHT), self.metrics, may_write=self._may_write),
            statuses=statuses,
            recorder=self._recorder,
            observer=self.metrics,
            now=self._world.now,
        )
        return Loop(
            reconciler,
            self.queue,
            caches=self._watches.all,
            observer=self.metrics,
            times=Times(now=self._world.now, elapsed=self._world.timing.clock),
            may_write=self._may_write,
        )

    def _may_write(self) -> bool:
        return self._leads

    @property
    def _leads(self) -> bool:
        return self._elector is None or self._elector.is_leader

    def _background(self) -> list[Coroutine[Any, Any, None]]:
        tasks = [each.run() for each in self._watches.all.values()]
        tasks += [self._recorder.run() for _ in range(EVENT_SENDERS)]
        tasks.append(self._measure())
        if self.settings.resync:
            tasks.append(self._resync())
        if self._elector is not None:
            tasks += [self._elector.run(), self._take_up_work(self._elector)]
        return tasks

    async def _worker(self) -> None:
        await self._synced()
        await self.loop.run()

    async def _synced(self) -> None:
        for each in self._watches.all.values():
            await each.has_synced.wait()

    async def _take_up_work(self, elector: Elector) -> None:
        """Whoever becomes leader looks at every job once: nobody did meanwhile."""
        await self._synced()
        has_counted = False
        while True:
            await elector.became_leader.wait()
            _log.info("leading")
            if not has_counted:
                self._count_jobs()
                has_counted = True
            self._enqueue_all()
            await elector.lost.wait()
            _log.warning("lease lost: no more writes until it is held again")

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self.settings.resync.total_seconds())
            self._enqueue_all()

    def _enqueue_all(self) -> None:
        for each in self._watches.jobs.store:
            self.queue.add((each.metadata.namespace, each.metadata.name))

    async def _measure(self) -> None:
        await self._synced()
        if self._elector is None:
            self._count_jobs()
        _log.info("caches filled", extra={"jobs": len(self._watches.jobs.store)})
        while True:
            self.metrics.queue_depth.labels("tfjob-controller").set(len(self.queue))
            self.metrics.leader.set(self._leads)
            await asyncio.sleep(1.0)

    def _count_jobs(self) -> None:
        """Counters begin with the jobs there are when this operator begins to work."""
        self.metrics.seed(
            (each.metadata.namespace, self._gatherer.decode(each).status)
            for each in self._watches.jobs.store
        )

    async def _check_gang(self) -> None:
        groups = group_resource(self.settings.jobs.gang_scheduler_name)
        if groups is not None and not await is_served(self._api, groups):
            raise StartError(
                f"crd might be missing, please install crd: {groups.plural}.{groups.group}"
            )

    async def _serve(self) -> None:
        for app, address in (
            (health.metrics_app(self.metrics.registry), self.settings.metrics_address),
            (health.probes_app(lambda: self.is_ready), self.settings.health_address),
        ):
            runner = await health.serve(app, address)
            if runner is not None:
                self._servers.append(runner)

    async def _until_stopped(self, tasks: list[asyncio.Task[None]]) -> None:
        """A task that ends by itself ends the operator, and with its error."""
        stopped = _task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        for task in done:
            task.result()

    async def _end(
        self, background: list[asyncio.Task[None]], workers: list[asyncio.Task[None]]
    ) -> None:
        self.queue.close()
        if workers:
            await asyncio.wait(workers, timeout=FAREWELL)
        await self._recorder.close()
        await _cancel(background + workers)
        if self._elector is not None:
            await self._elector.release()
        for server in self._servers:
            await server.cleanup()
        await self._election_api.close()
        await self._api.close()


def _throttle(settings: Settings, timing: Timing) -> TokenBucket | None:
    if settings.qps is None:
        return None
    burst = settings.burst or max(1, int(settings.qps))
    return TokenBucket(rate=settings.qps, burst=burst, timing=timing)


def _elector(api: Api, settings: Settings, *, identity: str, world: World) -> Elector | None:
    if not settings.is_leader_elected:
        return None
    return Elector(
        api,
        Terms(name=settings.lease_name, namespace=settings.lease_namespace, identity=identity),
        timing=world.timing,
        now=world.now,
    )


def _task(work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
