"""The node agent: runs the pods that the API server binds to this node.

The API server holds the desired state, records on disk hold what was started. Each pod has its own
worker, so a failing pod does not delay others. When the agent stops, or is killed, all processes
of all pods end.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from tfjob.k8s import time
from tfjob.local.data_folder import make_folder
from tfjob.local.node.api import ApiPort, PodChanged, PodDeleted, PodEvent, UnavailableError
from tfjob.local.node.checkpoint import load_all
from tfjob.local.node.idle_watcher import IdleWatcher
from tfjob.local.node.launch_builder import LaunchBuilder
from tfjob.local.node.machine import NodeSettings, node_object
from tfjob.local.node.oom_watcher import OomWatcher
from tfjob.local.node.pod_status import is_over
from tfjob.local.node.pod_worker import NodeContext, PodWorker
from tfjob.local.node.port_allocator import PortAllocator, PortLocks
from tfjob.local.node.scheduler import Scheduler
from tfjob.local.node.sockets import SocketPoller

Json = Mapping[str, Any]
_log = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class NodeAgent:
    """The node agent; `run` it in a task and `stop` it to end every process."""

    def __init__(
        self,
        api: ApiPort,
        settings: NodeSettings,
        *,
        clock: Callable[[], datetime] = _now,
        locks: PortLocks | None = None,
    ) -> None:
        make_folder(settings.pods_folder)
        self._api, self._settings, self._clock = api, settings, clock
        self._locks = locks or PortLocks()
        self._orphaned_records = load_all(settings.pods_folder)
        self._pods: dict[tuple[str, str], Json] = {}
        self._workers: dict[str, PodWorker] = {}
        self._all_workers: set[PodWorker] = set()
        self._is_stopping = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._memory = OomWatcher(interval=settings.memory_interval)
        self._idle = IdleWatcher(clock=clock)
        self._sockets = SocketPoller(interval=settings.memory_interval)
        self._scheduler = Scheduler(api=api, settings=settings, clock=clock, pods=self.pods)
        launches = LaunchBuilder(
            api=api,
            settings=settings,
            ports=PortAllocator(settings.data / "ports.json", locks=self._locks),
            pods=self.pods,
        )
        self._context = NodeContext(
            api=api,
            settings=settings,
            launches=launches,
            memory=self._memory,
            idle=self._idle,
            sockets=self._sockets,
            clock=clock,
            allocate_gpus=self._allocate_gpus,
        )

    def pods(self) -> Sequence[Json]:
        """All pods, as last seen."""
        return list(self._pods.values())

    async def run(self) -> None:
        """Run the node until `stop`."""
        self._spawn(self._memory.run())
        self._spawn(self._idle.run())
        self._spawn(self._sockets.run())
        self._spawn(self._scheduler.run())
        self._spawn(self._register())
        async with aclosing(self._api.watch_pods()) as events:
            async for event in events:
                if self._is_stopping:
                    return
                self._handle(event)
                self._scheduler.wake()

    async def stop(self) -> None:
        """End all processes; the status in the API is left for the next agent to update."""
        self._is_stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.shut_down() for worker in self._all_workers))
        self._locks.close()

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("bug in the node", exc_info=task.exception())

    async def _register(self) -> None:
        while True:
            try:
                await self._api.register(
                    node_object(self._settings, now=time.render(self._clock()))
                )
            except UnavailableError as fault:
                _log.warning("node not registered yet", extra={"fault": str(fault)})
                await asyncio.sleep(self._settings.retry_seconds)
            else:
                return

    def _handle(self, event: PodEvent) -> None:
        if isinstance(event, PodChanged):
            self._pod_changed(event.pod)
        elif isinstance(event, PodDeleted):
            self._pod_deleted((event.namespace, event.name))
        else:
            present = {_key(pod) for pod in event.pods}
            for key in set(self._pods) - present:
                self._pod_deleted(key)
            for pod in event.pods:
                self._pod_changed(pod)
            self._clean_up_orphans()

    def _pod_changed(self, pod: Json) -> None:
        before = self._pods.get(_key(pod))
        if before is not None and _uid(before) != _uid(pod):
            self._pod_deleted(_key(pod))
        self._pods[_key(pod)] = pod
        if pod["spec"].get("nodeName") != self._settings.name:
            return
        worker = self._workers.get(_uid(pod))
        if worker is not None:
            worker.update(pod)
        else:
            worker = PodWorker(
                pod, context=self._context, record=self._orphaned_records.pop(_uid(pod), None)
            )
            self._workers[_uid(pod)] = worker
            self._start_worker(worker)

    def _pod_deleted(self, key: tuple[str, str]) -> None:
        pod = self._pods.pop(key, None)
        worker = self._workers.pop(_uid(pod), None) if pod is not None else None
        if worker is not None:
            worker.mark_deleted()

    def _start_worker(self, worker: PodWorker) -> None:
        self._all_workers = {one for one in self._all_workers if not one.is_done} | {worker}
        self._spawn(worker.run())

    def _clean_up_orphans(self) -> None:
        """Clean up after pods of an earlier agent that the API server no longer has."""
        for record in list(self._orphaned_records.values()):
            meta = {"namespace": record.namespace, "name": record.name, "uid": record.uid}
            worker = PodWorker({"metadata": meta, "spec": {}}, context=self._context, record=record)
            worker.mark_deleted()
            self._start_worker(worker)
        self._orphaned_records.clear()

    def _allocate_gpus(self, uid: str, count: int) -> tuple[str, ...] | None:
        others = [
            worker.containers.record.gpus
            for other, worker in self._workers.items()
            if other != uid and not is_over(worker.pod)
        ]
        taken = [gpu for gpus in others for gpu in gpus]
        return self._settings.overcommit.gpus_for(count, every=self._settings.gpus, taken=taken)


def _key(pod: Json) -> tuple[str, str]:
    return str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])


def _uid(pod: Json) -> str:
    return str(pod["metadata"]["uid"])
