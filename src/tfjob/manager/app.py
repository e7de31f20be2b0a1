"""The operator: builds everything, starts it in order and ends it in order.

Caches fill whether or not this operator leads; only a leader works on jobs. A lost lease stops the
work at once and keeps the caches, so that leading again costs nothing.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import msgspec

from tfjob.client.config import Config
from tfjob.client.errors import ApiError, Forbidden
from tfjob.client.events import EventRecorder
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.http import Api
from tfjob.client.leader_election import LeaderElector, LeaseConfig
from tfjob.client.resource import is_served
from tfjob.client.throttle import TokenBucket
from tfjob.client.timing import REAL, Timing
from tfjob.controller.child_kinds import resource_of
from tfjob.controller.pacing import EventPacer
from tfjob.controller.tokens import random_token
from tfjob.dialects.base import ChildApi, Dialect
from tfjob.manager import health
from tfjob.manager.background import supervised
from tfjob.manager.controller import Controller, Shared, cancel
from tfjob.manager.metrics import Metrics
from tfjob.manager.settings import Settings

_log: Final = logging.getLogger(__name__)
IN_FLIGHT: Final = 48
"""Writes of children at one time, over all jobs: more only makes each of them wait longer."""
SHARE: Final = 12
"""The same for one job: whoever has few children does not wait for a job that has many."""
EVENT_SENDERS: Final = 2
"""Events at one time: they compete with scheduler and kubelets, and nobody waits for them."""
COMPONENT: Final = "tfjob-operator"
"""Who sends events, where no dialect names the teller."""
FAREWELL: Final = 20.0
"""Seconds that passes under way have to end when the operator stops."""


class StartError(Exception):
    """The operator cannot start; the message says what is missing."""


def _now() -> datetime:
    return datetime.now(tz=UTC)


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds an operator: the way to its API server, time, and chance."""

    connect: Callable[..., Api] = Api
    timing: Timing = REAL
    now: Callable[[], datetime] = _now
    token: Callable[[], str] = random_token
    longest_look: float = 15.0
    """Seconds between two looks for an API that the cluster does not have yet."""


class Operator:
    """One operator process for any number of dialects, each of them served by a controller."""

    def __init__(
        self,
        config: Config,
        settings: Settings,
        *,
        dialects: Sequence[Dialect],
        identity: str,
        world: Environment | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self._world = world or Environment()
        timing, now = self._world.timing, self._world.now
        self._api = self._world.connect(
            config,
            throttle=_throttle(settings, timing),
            on_request=self.metrics.requested,
            timing=timing,
        )
        self._pool = FairSemaphore(IN_FLIGHT, share=SHARE)
        self._recorder = EventRecorder(
            self._api, component=COMPONENT, now=now, on_drop=self.metrics.event_dropped
        )
        pacer = EventPacer(settings.pacing, until_calm=self._until_calm, timing=timing)
        self._recorder.turn = pacer.turn_to_send_event
        # Renewing a lease must not wait behind the work: a slow leader is still the leader.
        self._election_api = self._world.connect(
            config, on_request=self.metrics.requested, timing=timing
        )
        self._elector = _elector(self._election_api, settings, identity=identity, world=self._world)
        shared = self._shared()
        self.controllers = [Controller(dialect, shared) for dialect in dialects]
        self._stopping = asyncio.Event()
        self._servers: list[health.Server] = []

    async def run(self) -> None:
        """Work until `stop`; then end cleanly."""
        background: list[asyncio.Task[None]] = []
        try:
            await self._check_groups()
            await self._serve()
            background = [
                _task(supervised(work, name=name, may_end=self._stopping.is_set))
                for name, work in self._background()
            ]
            await self._until_stopped(background)
        finally:
            await self._end(background)

    def stop(self) -> None:
        """Ask the operator to end; nothing that is under way is cut in half."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self.stop)

    @property
    def is_ready(self) -> bool:
        """Every dialect that the cluster has is followed, and its watches make progress."""
        return all(each.is_ready for each in self.controllers) and not self._stalled()

    def _idle(self) -> Iterator[tuple[str, str, float]]:
        """Controller, resource, and seconds since the watch of it last progressed."""
        for each in self.controllers:
            for resource, seconds in each.idle_seconds.items():
                yield each.dialect.component, resource, seconds()

    def _stalled(self) -> list[str]:
        """The resources whose watches have made no progress for too long."""
        limit = self.settings.watch_timeout.total_seconds() or float("inf")
        return [resource for _, resource, seconds in self._idle() if seconds > limit]

    def _why_not_ready(self) -> str:
        stalled = ", ".join(sorted(set(self._stalled())))
        return f"watches make no progress: {stalled}" if stalled else health.UNFILLED

    def _shared(self) -> Shared:
        return Shared(
            api=self._api.guarded(self._may_write),
            pool=self._pool,
            recorder=self._recorder,
            metrics=self.metrics,
            settings=self.settings,
            may_write=self._may_write,
            timing=self._world.timing,
            now=self._world.now,
            token=self._world.token,
            longest_look=self._world.longest_look,
            pacing=self.settings.pacing,
        )

    async def _until_calm(self, within: float) -> None:
        await self._pool.calm(within=within)

    def _may_write(self) -> bool:
        return self._leads

    @property
    def _leads(self) -> bool:
        return self._elector is None or self._elector.is_leader

    def _background(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """By name, everything that runs until the operator stops."""
        for each in self.controllers:
            yield f"controller of {each.title}", each.run
            yield f"start of work on {each.title}", partial(self._take_up_work, each)
        for _ in range(EVENT_SENDERS):
            yield "event sender", self._recorder.run
        yield "metrics", self._measure
        if self.settings.resync:
            yield "resync", self._resync
        if self._elector is not None:
            yield "leader election", self._elector.run
            yield "leadership log", partial(self._tell_leadership, self._elector)

    async def _take_up_work(self, controller: Controller) -> None:
        """Whoever becomes leader looks at every job once: nobody did meanwhile."""
        await controller.has_synced.wait()
        if self._elector is None:
            controller.count_jobs()
            await self._stopping.wait()
            return
        while True:
            await self._elector.became_leader.wait()
            controller.count_jobs()
            controller.enqueue_all()
            await self._elector.lost.wait()
            controller.cancel_reconciles()
            controller.forget()

    async def _tell_leadership(self, elector: LeaderElector) -> None:
        while True:
            await elector.became_leader.wait()
            _log.info("leading")
            await elector.lost.wait()
            _log.warning("lease lost: no more writes until it is held again")

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self.settings.resync.total_seconds())
            for controller in self.controllers:
                controller.pacer.recheck_all()
                controller.enqueue_all()

    async def _measure(self) -> None:
        while True:
            metrics = self.metrics
            for each in self.controllers:
                name, pacer = each.dialect.component, each.pacer
                metrics.queue_depth.labels(name).set(len(each.queue))
                metrics.statuses_deferred.labels(name).set(pacer.deferred)
                metrics.oldest_status.labels(name).set(pacer.oldest)
            for component, resource, seconds in self._idle():
                metrics.watch_idle(component, resource, seconds=seconds)
            metrics.events_deferred.set(self._recorder.due)
            metrics.oldest_event.set(self._recorder.oldest)
            metrics.leader.set(self._leads)
            await asyncio.sleep(1.0)

    async def _check_groups(self) -> None:
        """An operator that is told to schedule in gangs does not begin without their API."""
        wanted = {
            controller.dialect.pod_groups(self.settings.jobs) for controller in self.controllers
        }
        for groups in wanted:
            if groups is None or groups.is_optional or await self._may_be_served(groups):
                continue
            raise StartError(
                f"crd might be missing, please install crd: {groups.plural}.{groups.group}"
            )

    async def _may_be_served(self, groups: ChildApi) -> bool:
        try:
            return await is_served(self._api, resource_of(groups))
        except Forbidden:
            return True  # trying it is then the only way to find out
        except ApiError as error:
            name = f"{groups.plural}.{groups.group}"
            raise StartError(
                f"{name}: the API server does not tell whether it has them: {error.message};"
                " the operator does not start"
            ) from error

    async def _serve(self) -> None:
        for app, address in (
            (health.metrics_app(self.metrics.registry), self.settings.metrics_address),
            (
                health.probes_app(lambda: self.is_ready, why=self._why_not_ready),
                self.settings.health_address,
            ),
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
            error = None if task.cancelled() else task.exception()
            if error is not None:
                _log.critical("background task failed: the operator ends", exc_info=error)
        for task in done:
            task.result()

    async def _end(self, background: list[asyncio.Task[None]]) -> None:
        try:
            await self._finish_work()
        finally:
            await cancel(background)
            if self._elector is not None:
                await self._elector.release()
            for server in self._servers:
                await server.cleanup()
            await self._election_api.close()
            await self._api.close()

    async def _finish_work(self) -> None:
        """What is under way, and the news of it; whoever has no time for that may cancel it."""
        for controller in self.controllers:
            controller.queue.close()
        workers = [worker for controller in self.controllers for worker in controller.workers]
        if workers:
            await asyncio.wait(workers, timeout=FAREWELL)
        await self._recorder.close()


def _throttle(settings: Settings, timing: Timing) -> TokenBucket | None:
    if settings.qps is None:
        return None
    burst = settings.burst or max(1, int(settings.qps))
    return TokenBucket(rate=settings.qps, burst=burst, timing=timing)


def _elector(
    api: Api, settings: Settings, *, identity: str, world: Environment
) -> LeaderElector | None:
    if not settings.is_leader_elected:
        return None
    return LeaderElector(
        api,
        LeaseConfig(
            name=settings.lease_name, namespace=settings.lease_namespace, identity=identity
        ),
        timing=world.timing,
        now=world.now,
    )


def _task(work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)
