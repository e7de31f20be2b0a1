"""The operator process: builds its parts, starts them in order and shuts them down in order.

Informers run whether or not this process leads; only the leader reconciles jobs. A lost lease
cancels all reconciles but keeps the informers, so that leading again costs nothing.
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
from tfjob.client.flowcontrol import TokenBucket
from tfjob.client.http import Api
from tfjob.client.leader_election import LeaderElector, LeaseConfig
from tfjob.client.resource import is_served, served_version
from tfjob.client.timing import REAL, Timing
from tfjob.controller.child_kinds import resource_of
from tfjob.controller.pacing import EventPacer
from tfjob.controller.snapshot import random_token
from tfjob.dialects.base import ChildApi, Dialect
from tfjob.manager import health
from tfjob.manager.background import supervised, unawaited_errors
from tfjob.manager.controller import Controller, SharedServices, cancel
from tfjob.manager.metrics import Metrics
from tfjob.manager.metrics_access import MetricsAccess
from tfjob.manager.settings import Settings

_log: Final = logging.getLogger(__name__)
MAX_CHILD_WRITES: Final = 48
"""Concurrent writes of children, over all jobs. More would only make each write slower."""
MAX_CHILD_WRITES_PER_JOB: Final = 12
"""The same for one job, so that small jobs do not wait for a large one."""
EVENT_SENDERS: Final = 2
"""Concurrent writes of events. Few, because events compete with the scheduler and the kubelets."""
COMPONENT: Final = "tfjob-operator"
"""The source component of events for which no dialect names one."""
SHUTDOWN_TIMEOUT: Final = 20.0
"""Seconds that running reconciles have to finish when the operator stops."""


class StartError(Exception):
    """The operator cannot start; the message says why."""


def _now() -> datetime:
    return datetime.now(tz=UTC)


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's external dependencies: API connections, time and randomness."""

    connect: Callable[..., Api] = Api
    timing: Timing = REAL
    now: Callable[[], datetime] = _now
    token: Callable[[], str] = random_token
    max_discovery_interval: float = 15.0
    """The longest interval in seconds between checks for an API that is not served yet."""


class Operator:
    """One operator process with a controller for each dialect."""

    def __init__(
        self,
        config: Config,
        settings: Settings,
        *,
        dialects: Sequence[Dialect],
        identity: str,
        environment: Environment | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self._environment = environment or Environment()
        timing, now = self._environment.timing, self._environment.now
        self._api = self._environment.connect(
            config,
            throttle=_throttle(settings, timing),
            on_request=self.metrics.observe_request,
            timing=timing,
        )
        self._pool = FairSemaphore(MAX_CHILD_WRITES, share=MAX_CHILD_WRITES_PER_JOB)
        self._recorder = EventRecorder(
            self._api, component=COMPONENT, now=now, on_drop=self.metrics.event_dropped
        )
        pacer = EventPacer(settings.pacing, wait_until_idle=self._wait_until_idle, timing=timing)
        self._recorder.before_send = pacer.wait_to_send_event
        # Lease renewals have their own connections and never wait behind other requests.
        self._election_api = self._environment.connect(
            config, on_request=self.metrics.observe_request, timing=timing
        )
        self._elector = _elector(
            self._election_api, settings, identity=identity, environment=self._environment
        )
        shared = self._shared()
        self.controllers = [Controller(dialect, shared) for dialect in dialects]
        self._stopping = asyncio.Event()
        self._servers: list[health.Server] = []

    async def run(self) -> None:
        """Run until `stop` is called, then shut down."""
        background: list[asyncio.Task[None]] = []
        try:
            await self._check_pod_group_api()
            await self._serve()
            background = [
                _task(supervised(work, name=name, may_end=self._stopping.is_set))
                for name, work in self._background()
            ]
            await self._wait_until_stopped(background)
        finally:
            await self._shut_down(background)

    def stop(self) -> None:
        """Begin a graceful shutdown."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self.stop)

    @property
    def is_ready(self) -> bool:
        """All informers have synced and their watches make progress."""
        return all(each.is_ready for each in self.controllers) and not self._stalled()

    def _idle_watches(self) -> Iterator[tuple[str, str, float]]:
        """Controller, resource, and seconds since its watch last made progress."""
        for each in self.controllers:
            for resource, seconds in each.idle_seconds.items():
                yield each.dialect.component, resource, seconds()

    def _stalled(self) -> list[str]:
        """The resources whose watches have made no progress for too long."""
        limit = self.settings.watch_timeout.total_seconds() or float("inf")
        return [resource for _, resource, seconds in self._idle_watches() if seconds > limit]

    def _why_not_ready(self) -> str:
        stalled = ", ".join(sorted(set(self._stalled())))
        return f"watches make no progress: {stalled}" if stalled else health.NOT_SYNCED

    def _shared(self) -> SharedServices:
        return SharedServices(
            api=self._api.guarded(self._may_write),
            pool=self._pool,
            recorder=self._recorder,
            metrics=self.metrics,
            settings=self.settings,
            may_write=self._may_write,
            timing=self._environment.timing,
            now=self._environment.now,
            token=self._environment.token,
            max_discovery_interval=self._environment.max_discovery_interval,
            pacing=self.settings.pacing,
        )

    async def _wait_until_idle(self, within: float) -> None:
        await self._pool.wait_until_idle(within=within)

    def _may_write(self) -> bool:
        return self._is_leader

    @property
    def _is_leader(self) -> bool:
        return self._elector is None or self._elector.is_leader

    def _background(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """Everything that runs until the operator stops, by name."""
        for each in self.controllers:
            yield f"controller of {each.kind_name}", each.run
            yield f"leadership of {each.kind_name}", partial(self._follow_leadership, each)
        for _ in range(EVENT_SENDERS):
            yield "event sender", self._recorder.run
        yield "timers", unawaited_errors
        yield "metrics", self._update_gauges
        if self.settings.resync:
            yield "resync", self._resync
        if self._elector is not None:
            yield "leader election", self._elector.run

    async def _follow_leadership(self, controller: Controller) -> None:
        """Reconcile every job after becoming leader; stop all work when the lease is lost."""
        await controller.has_synced.wait()
        if self._elector is None:
            controller.seed_metrics()
            await self._stopping.wait()
            return
        while True:
            await self._elector.became_leader.wait()
            controller.seed_metrics()
            controller.enqueue_all()
            await self._elector.lost.wait()
            controller.cancel_reconciles()
            controller.forget()

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self.settings.resync.total_seconds())
            for controller in self.controllers:
                controller.pacer.clear_settled()
                controller.enqueue_all()

    async def _update_gauges(self) -> None:
        while True:
            metrics = self.metrics
            for each in self.controllers:
                name, pacer = each.dialect.component, each.pacer
                metrics.queue_depth.labels(name).set(len(each.queue))
                metrics.statuses_deferred.labels(name).set(pacer.deferred_count)
                metrics.oldest_status.labels(name).set(pacer.oldest_deferred_seconds)
            for component, resource, seconds in self._idle_watches():
                metrics.watch_idle(component, resource, seconds=seconds)
            metrics.events_deferred.set(self._recorder.due_count)
            metrics.oldest_event.set(self._recorder.oldest_seconds)
            metrics.leader.set(self._is_leader)
            await asyncio.sleep(1.0)

    async def _check_pod_group_api(self) -> None:
        """With gang scheduling enabled, refuse to start if the PodGroup API is missing."""
        wanted = {controller.dialect.pod_groups(controller.jobs) for controller in self.controllers}
        for groups in wanted:
            if groups is None or groups.is_optional:
                continue
            if not groups.version:
                await self._choose_version(groups)
                continue
            if await self._may_be_served(groups):
                continue
            raise StartError(
                f"crd might be missing, please install crd: {groups.plural}.{groups.group}"
            )

    async def _choose_version(self, groups: ChildApi) -> None:
        """Use the version of the PodGroup API that the cluster serves."""
        group, plural = groups.group, groups.plural
        try:
            version = await served_version(self._api, group=group, plural=plural)
        except ApiError as error:
            raise StartError(
                f"{plural}.{group}: cannot find out which version the API server serves:"
                f" {error.message}; the operator does not start"
            ) from error
        if version is None:
            raise StartError(
                f"{plural}.{group}: the API server serves no version of it; start kube-apiserver"
                " with the feature gates GenericWorkload and GangScheduling and with"
                f" --runtime-config={group}/VERSION=true, or choose another --gang-scheduler-name"
            )
        _log.info("PodGroup API found", extra={"api": f"{group}/{version}/{plural}"})
        for each in self.controllers:
            each.jobs = msgspec.structs.replace(each.jobs, pod_group_version=version)

    async def _may_be_served(self, groups: ChildApi) -> bool:
        try:
            return await is_served(self._api, resource_of(groups))
        except Forbidden:
            return True  # Discovery is not permitted: assume that it is served.
        except ApiError as error:
            name = f"{groups.plural}.{groups.group}"
            raise StartError(
                f"{name}: cannot find out whether the API server serves it: {error.message};"
                " the operator does not start"
            ) from error

    async def _serve(self) -> None:
        access = MetricsAccess(self._api, clock=self._environment.timing.clock)
        review = access.status_for if self.settings.reviews_metrics_readers else None
        for app, address in (
            (
                health.metrics_app(self.metrics.registry, review=review),
                self.settings.metrics_address,
            ),
            (
                health.probes_app(lambda: self.is_ready, why=self._why_not_ready),
                self.settings.health_address,
            ),
        ):
            runner = await health.serve(app, address)
            if runner is not None:
                self._servers.append(runner)

    async def _wait_until_stopped(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for `stop`. A task that fails or ends stops the operator, with its error."""
        stopped = _task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        for task in done:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                _log.critical("background task failed: stopping the operator", exc_info=error)
        for task in done:
            task.result()

    async def _shut_down(self, background: list[asyncio.Task[None]]) -> None:
        try:
            await self._drain()
        finally:
            await cancel(background)
            if self._elector is not None:
                await self._elector.release()
            for server in self._servers:
                await server.cleanup()
            await self._election_api.close()
            await self._api.close()

    async def _drain(self) -> None:
        """Let running reconciles finish, then send the remaining events."""
        for controller in self.controllers:
            controller.queue.close()
        workers = [worker for controller in self.controllers for worker in controller.workers]
        if workers:
            await asyncio.wait(workers, timeout=SHUTDOWN_TIMEOUT)
        await self._recorder.close()


def _throttle(settings: Settings, timing: Timing) -> TokenBucket | None:
    if settings.qps is None:
        return None
    burst = settings.burst or max(1, int(settings.qps))
    return TokenBucket(rate=settings.qps, burst=burst, timing=timing)


def _elector(
    api: Api, settings: Settings, *, identity: str, environment: Environment
) -> LeaderElector | None:
    if not settings.is_leader_elected:
        return None
    return LeaderElector(
        api,
        LeaseConfig(
            name=settings.lease_name, namespace=settings.lease_namespace, identity=identity
        ),
        timing=environment.timing,
        now=environment.now,
    )


def _task(work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)
