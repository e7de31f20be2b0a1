"""One simulated operator: the real controller on a model server, with watches under control.

Informers, workqueue, workers, expectations, pacing, reconciler and writers are the real ones, wired
as `tfjob.manager.controller` wires them. Only the requests and the arrival of watch events are the
history's.
"""

# ruff: noqa: ARG002 - methods have the arguments of what they stand for

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from tests.support.histories.connection import Call, ModelApi
from tests.support.histories.loop import ManualLoop
from tests.support.histories.server import JOBS, PODS, SERVICES, Change, Json, ModelServer, encode
from tfjob.client.errors import ApiError, NotLeadingError
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.informer import Informer
from tfjob.client.store import Store
from tfjob.client.watch_codec import (
    Changed,
    Event,
    HasMetadata,
    Key,
    LineDecoder,
    Progressed,
    Replaced,
    Unreadable,
)
from tfjob.client.workqueue import Priority, WorkQueue
from tfjob.controller import reconciler as reconciling
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.event_handler import EventHandler, Request
from tfjob.controller.expectations import Expectations
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import LoadSignals, Pacer
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.result import Result
from tfjob.controller.snapshot import SnapshotReader, Stores
from tfjob.controller.status_writer import StatusWriter
from tfjob.controller.worker import Clocks, Worker
from tfjob.core.plan import ChildKind
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.child_types import Service
from tfjob.k8s.event import Event as KubeEvent
from tfjob.k8s.pod import Pod

if TYPE_CHECKING:
    from tfjob.client.events import EventRecorder
    from tfjob.client.http import Api

T = TypeVar("T", bound=HasMetadata)
START: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
"""What every clock shows at first."""
DIALECT: Final = KubeflowV1()
_LABEL, _, _VALUE = DIALECT.child_selector.partition("=")
_DECODERS: Final[dict[str, LineDecoder[Any]]] = {
    JOBS: LineDecoder(JobObject),
    PODS: LineDecoder(Pod),
    SERVICES: LineDecoder(Service),
}


class Channel(Generic[T]):
    """One watch: changes wait here until they are delivered, in order."""

    def __init__(self, plural: str, server: ModelServer) -> None:
        self.plural = plural
        self._server = server
        self._decoder: LineDecoder[T] = _DECODERS[plural]
        self.lines: deque[bytes] = deque()
        self.is_listed = False
        self.stalled_until = 0.0
        self._inbox: deque[Event[T]] = deque()
        self._waiter: asyncio.Future[None] | None = None

    async def events(self) -> AsyncGenerator[Event[T]]:
        while True:
            while self._inbox:
                yield self._inbox.popleft()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def add(self, change: Change) -> None:
        if change.key[0] != self.plural or not self.is_listed:
            return
        line = _line(change)
        if line is not None:
            self.lines.append(line)

    def deliver(self, most: int) -> int:
        """Deliver the next events; before the first list there is nothing but the list."""
        if not self.is_listed:
            self.relist()
            return 1
        delivered = 0
        while self.lines and delivered < most:
            event = self._decoder.line(self.lines.popleft())
            if isinstance(event, Unreadable):
                event = Progressed(event.version)
            self._inbox.append(event)
            delivered += 1
        self._wake()
        return delivered

    def relist(self) -> None:
        """Lose what was on its way, and take the whole state anew."""
        self.is_listed = True
        self.lines.clear()
        found = [
            each for each in self._server.listed(self.plural) if _is_selected(each, self.plural)
        ]
        read = [self._decoder.item(cast("Any", encode(each))) for each in found]
        objects = [each.object for each in read if isinstance(each, Changed)]
        skipped = frozenset(each.key for each in read if isinstance(each, Unreadable))
        self._inbox.append(Replaced(objects, str(self._server.version), skipped))
        self._wake()

    def _wake(self) -> None:
        if self._inbox and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _is_selected(item: Json, plural: str) -> bool:
    return plural == JOBS or item["metadata"].get("labels", {}).get(_LABEL) == _VALUE


def _line(change: Change) -> bytes | None:
    """A change as a watch with the children's selector shows it."""
    plural = change.key[0]
    was = change.old is not None and _is_selected(change.old, plural)
    is_now = change.new is not None and _is_selected(change.new, plural)
    if is_now:
        return b'{"type":"%s","object":%s}' % (b"MODIFIED" if was else b"ADDED", encode(change.new))
    if not was or change.old is None:
        return None
    meta = {**change.old["metadata"], "resourceVersion": str(change.version)}
    return b'{"type":"DELETED","object":%s}' % encode({**change.old, "metadata": meta})


class _Uncounted:
    """An observer that counts nothing."""

    def status_stored(self, namespace: str, *, before: JobStatus, after: JobStatus) -> None: ...
    def first_status_stored(self, *, seconds: float) -> None: ...
    def restarted(self, namespace: str, *, replicas: int) -> None: ...
    def job_deleted(self, namespace: str) -> None: ...
    def child_created(self, kind: str) -> None: ...
    def child_failed(self, kind: str) -> None: ...
    def child_deleted(self, kind: str) -> None: ...
    def reconciled(self, *, result: str, seconds: float) -> None: ...


class Listener:
    """Who is told what an operator does; see `Laws`."""

    def requested(self, call: Call) -> None: ...
    def told(self, event: KubeEvent) -> None: ...
    def begun(self) -> None: ...
    def crashed(self, key: Key, error: Exception) -> None: ...


class _Recorder:
    """Hands each event to the listener at the moment it is recorded."""

    due = 0

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def record(self, event: KubeEvent, *, key: str, is_once: bool = True) -> None:
        self._listener.told(event)


class _Watched:
    """The reconciler, with a listener that hears when a reconcile begins and when it breaks."""

    def __init__(self, reconciler: Reconciler, listener: Listener) -> None:
        self._reconciler = reconciler
        self._listener = listener
        self.passes = 0

    async def reconcile(self, key: Key, *, max_creates: int | None = None) -> Result:
        self.passes += 1
        self._listener.begun()
        try:
            return await self._reconciler.reconcile(key, max_creates=max_creates)
        except (ApiError, NotLeadingError):
            raise
        except Exception as error:
            self._listener.crashed(key, error)
            raise


class SimulatedOperator:
    """One process: it starts with empty caches and ends by `crash`."""

    def __init__(
        self,
        name: str,
        server: ModelServer,
        loop: ManualLoop,
        *,
        settings: Settings,
        listener: Listener,
    ) -> None:
        self.name = name
        self.leads = True
        self.skew = timedelta(0)
        self._loop = loop
        self._settings = settings
        self.api = ModelApi(server, name, may_write=lambda: self.leads, observe=listener.requested)
        self.channels: list[Channel[Any]] = [Channel(each, server) for each in _DECODERS]
        self.queue = WorkQueue[Key](timers=loop, group=lambda key: key[0])
        self.pool = FairSemaphore(8)
        self.pacer = Pacer(load=self._load(), clock=loop.time)
        self._wire(listener)
        self._tasks = [loop.create_task(each.run()) for each in self._informers]
        self._workers: list[asyncio.Task[None]] = []

    def has_seen_all(self, plural: str) -> bool:
        """Whether its cache of these objects is up to date."""
        own = (each for each in self.channels if each.plural == plural)
        return all(each.is_listed and not each.lines for each in own)

    def _wire(self, listener: Listener) -> None:
        jobs, pods, services = self.channels
        label = DIALECT.job_label
        api = cast("Api", self.api)
        on_child = self._child_changed
        self.jobs: Informer[JobObject] = Informer(
            jobs, store=Store[JobObject](), on_change=self._job_changed
        )
        self._pods: Informer[Pod] = Informer(
            pods, store=Store[Pod](label=label), on_change=on_child
        )
        self._services: Informer[Service] = Informer(
            services, store=Store[Service](label=label), on_change=on_child
        )
        self._informers: list[Informer[Any]] = [self.jobs, self._pods, self._services]
        self._stores = stores = Stores(
            jobs=self.jobs.store, pods=self._pods.store, services=self._services.store
        )
        reader = SnapshotReader(
            DIALECT,
            self._settings,
            stores=stores,
            lookups=ClusterLookups(self.api, clock=self._loop.time),
            now=self.now,
            token=lambda: "aaaa",
        )
        metrics = _Uncounted()
        self.reconciler = Reconciler(
            reader=reader,
            child_writer=ChildWriter(api, self.pool, metrics, clock=self._loop.time),
            status_writer=StatusWriter(api, DIALECT),
            recorder=cast("EventRecorder", _Recorder(listener)),
            metrics=metrics,
            pacer=self.pacer,
        )
        self.watched = _Watched(self.reconciler, listener)
        self.expectations = Expectations(
            {
                reconciling.JOBS: self.jobs,
                ChildKind.POD: self._pods,
                ChildKind.SERVICE: self._services,
            },
            clock=self._loop.time,
        )
        self._worker = Worker(
            self.watched,
            self.queue,
            expectations=self.expectations,
            metrics=metrics,
            clocks=Clocks(now=self.now, elapsed=self._loop.time),
            may_write=self._may_write,
        )
        self._handler = EventHandler(DIALECT, stores=stores, pacer=self.pacer)

    def now(self) -> datetime:
        """Its wall clock, which may be wrong."""
        return START + timedelta(seconds=self._loop.time()) + self.skew

    def start_when_synced(self) -> None:
        if self._workers or not all(each.has_synced.is_set() for each in self._informers):
            return
        run = self._worker.run
        self._workers = [
            self._loop.create_task(run(each)) for each in (Priority.NORMAL, Priority.HIGH)
        ]

    def lead(self) -> None:
        """Hold the lease: every job is looked at."""
        self.leads = True
        self.enqueue_all()

    def step_down(self) -> None:
        """Lose the lease: whatever it remembers may be wrong by now."""
        self.leads = False
        self._worker.cancel_reconciles()
        self.pacer.forget()
        self.reconciler.forget()

    def resync(self) -> None:
        self.pacer.clear_settled()
        self.enqueue_all()

    def enqueue_all(self) -> None:
        for each in self.jobs.store:
            self.queue.add((each.metadata.namespace, each.metadata.name))
        for key in self._stores.held_pods.jobs:
            self.queue.add(key)

    def crash(self) -> None:
        self.api.is_dead = True
        self.queue.close()
        for task in (*self._tasks, *self._workers):
            task.cancel()

    def _may_write(self) -> bool:
        return self.leads

    def _job_changed(self, old: JobObject | None, new: JobObject | None) -> None:
        if old is None and new is not None:
            if self._workers and self.leads:
                self.reconciler.created_here.add(new.metadata.uid)
        elif old is not None and new is None:
            self.pacer.forget_job(old)
            self.reconciler.forget_job(old.metadata.uid)
        self._enqueue(self._handler.job_changed(old, new))

    def _child_changed(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        self._enqueue(self._handler.child_changed(old, new))

    def _enqueue(self, requests: Iterable[Request]) -> None:
        for key, delay, priority in requests:
            self.queue.add_after(key, delay, priority)

    def _load(self) -> LoadSignals:
        is_known: Callable[[Key], bool] = lambda key: key in self.expectations  # noqa: E731
        return LoadSignals(
            queued_jobs=lambda: len(self.queue),
            has_queued_creates=lambda: not self.pool.is_idle,
            is_in_progress=lambda key: self.queue.is_working(key) or is_known(key),
        )
