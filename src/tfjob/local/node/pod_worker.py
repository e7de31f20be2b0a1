"""Runs one pod from its first appearance until nothing of it is left.

Each step compares the pod's spec with its processes, takes the next action and publishes the
status; then the worker waits for a change. It does not know other pods.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from tfjob.k8s import time
from tfjob.local.node.admission import ignored_fields, rejection
from tfjob.local.node.api import ApiPort, PodGoneError, UnavailableError
from tfjob.local.node.checkpoint import ContainerRecord, PodFailure, PodRecord, Waiting, pod_folder
from tfjob.local.node.containers import PodContainers
from tfjob.local.node.idle_watcher import IdleWatcher, idle_after
from tfjob.local.node.launch_builder import (
    LaunchBuilder,
    LaunchDeferredError,
    container_spec,
    gpus_of_pod,
)
from tfjob.local.node.machine import NodeSettings
from tfjob.local.node.oom_watcher import OomWatcher
from tfjob.local.node.pod_status import is_finished, is_over
from tfjob.local.node.readiness import is_server
from tfjob.local.node.sockets import SocketPoller, has_proc_net
from tfjob.local.node.status_publisher import StatusPublisher
from tfjob.local.node.volumes import discard

Json = Mapping[str, Any]
_log = logging.getLogger(__name__)


class NodeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all pods of the node share."""

    api: ApiPort
    settings: NodeSettings
    launches: LaunchBuilder
    memory: OomWatcher
    idle: IdleWatcher
    sockets: SocketPoller
    clock: Callable[[], datetime]
    allocate_gpus: Callable[[str, int], tuple[str, ...] | None]


def new_record(pod: Json, *, now: datetime) -> PodRecord:
    """The record of a pod that has not run yet."""
    meta, spec = pod["metadata"], pod["spec"]
    init = tuple(ContainerRecord(name=str(c["name"])) for c in spec.get("initContainers") or ())
    first = Waiting("PodInitializing") if init else Waiting("ContainerCreating")
    return PodRecord(
        namespace=str(meta["namespace"]),
        name=str(meta["name"]),
        uid=str(meta["uid"]),
        started_at=time.render(now),
        init=init,
        containers=tuple(
            ContainerRecord(name=str(c["name"]), state=first) for c in spec.get("containers") or ()
        ),
    )


class PodWorker:
    """Runs one pod; `run` returns when nothing of the pod is left on this machine."""

    def __init__(self, pod: Json, *, context: NodeContext, record: PodRecord | None = None) -> None:
        self.pod = pod
        self.is_done = False
        self._context = context
        self._is_recovered = record is not None
        self._is_forgotten = record is None and is_over(pod)
        self._wake = asyncio.Event()
        self._is_gone = False
        self._is_server = is_server(pod) and has_proc_net()
        self._publisher = StatusPublisher(pod, api=context.api, clock=context.clock)
        self.containers = PodContainers(
            record or new_record(pod, now=context.clock()),
            settings=context.settings,
            memory=context.memory,
            clock=context.clock,
            on_change=self._wake.set,
            on_trouble=lambda message: self._record_event("Warning", "FailedLogging", message),
        )

        self.containers.sockets = context.sockets if self._is_server else None
        if not self._is_server:
            self.containers.idle = context.idle
            self.containers.idle_after = idle_after(pod)

    def update(self, pod: Json) -> None:
        """The pod changed in the API."""
        self.pod = pod
        self._wake.set()

    def mark_deleted(self) -> None:
        """The pod was deleted from the API."""
        self._is_gone = True
        self._wake.set()

    async def run(self) -> None:
        """Step until nothing of the pod is left."""
        self.containers.policy = self._policy
        if self._is_recovered:
            self.containers.is_ending = self._is_terminating or self._is_gone
            await self.containers.recover()
        while not self.is_done:
            self._wake.clear()
            pause = await self._guarded_step()
            if not self.is_done:
                await self._wait(pause)

    async def shut_down(self) -> None:
        """Kill the pod's processes because the node stops; the API is not updated."""
        self.containers.kill("NodeShutdown")
        await self.containers.wait()

    @property
    def _policy(self) -> str:
        return str(self.pod["spec"].get("restartPolicy") or "Always")

    @property
    def _is_terminating(self) -> bool:
        return bool(self.pod["metadata"].get("deletionTimestamp"))

    async def _guarded_step(self) -> float | None:
        """One step; seconds until the retry if it failed."""
        try:
            await self._step()
        except PodGoneError:
            self.mark_deleted()
        except (UnavailableError, OSError) as fault:
            name = self.containers.record.name
            _log.warning("pod step failed", extra={"pod": name, "fault": str(fault)})
            self._record_event("Warning", "FailedSync", f"error syncing pod, trying again: {fault}")
            return self._context.settings.retry_seconds
        return None

    async def _step(self) -> None:
        if self._is_gone:
            await self._clean_up()
        elif self._is_terminating:
            await self._terminate()
        elif not self._is_forgotten:
            if not is_finished(self.containers.record, self._policy):
                await self._advance()
            elif self.containers.is_running:
                self.containers.stop_gracefully(self._grace)
            self._publisher.record_back_off(self.pod, self.containers.record)
            await self._publish()

    async def _advance(self) -> None:
        verdict = rejection(self.pod) or self._deadline_exceeded()
        if verdict is not None:
            self._fail(verdict)
            return
        self._record_ignored_fields()
        if not self._take_gpus():
            return
        for name in self.containers.due():
            await self._start(name)

    async def _start(self, name: str) -> None:
        spec = container_spec(self.pod, name)
        self.containers.mark_starting(name)
        try:
            launch = await self._context.launches.launch_for(self.pod, spec, self.containers.record)
            has_started = await self.containers.start(spec, launch)
        except LaunchDeferredError as fault:
            self.containers.defer_start(name, reason=fault.reason, message=fault.message)
            self._record_event("Warning", "Failed", f"Error: {fault.message}")
        except OSError as fault:
            message = f"the process could not be started: {fault.strerror}; trying again"
            self.containers.defer_start(name, reason="RunContainerError", message=message)
            self._record_event("Warning", "Failed", f"Error: {message}")
        else:
            if has_started:
                for reason, message in (
                    ("Created", f"Created container: {name}"),
                    ("Started", f"Started container {name}"),
                ):
                    self._context.api.post_event(
                        self.pod, kind="Normal", reason=reason, message=message
                    )

    def _take_gpus(self) -> bool:
        """Allocate GPUs to the pod for its whole life."""
        settings = self._context.settings
        count = settings.overcommit.given(gpus_of_pod(self.pod), every=settings.gpus)
        record = self.containers.record
        if count == len(record.gpus):
            return True
        gpus = self._context.allocate_gpus(record.uid, count)
        if gpus is None:
            message = f"{count} GPUs were requested and fewer are free; the pod was not started"
            self._fail(PodFailure("UnexpectedAdmissionError", message))
            return False
        self.containers.replace(msgspec.structs.replace(record, gpus=gpus))
        return True

    def _deadline_exceeded(self) -> PodFailure | None:
        moment = self._deadline()
        if moment is None or self._context.clock() < moment:
            return None
        return PodFailure(
            "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
        )

    def _deadline(self) -> datetime | None:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        started = time.parse(self.containers.record.started_at)
        if seconds is None or started is None:
            return None
        return started + timedelta(seconds=int(seconds))

    def _fail(self, verdict: PodFailure) -> None:
        """Mark the pod as failed."""
        record = msgspec.structs.replace(self.containers.record, verdict=verdict)
        for one in record.all_containers:
            if isinstance(one.state, Waiting):
                refused = Waiting(verdict.reason, verdict.message)
                record = record.with_container(
                    msgspec.structs.replace(one, state=refused, retry_at=0.0)
                )
        self.containers.replace(record)
        self._record_event("Warning", verdict.reason, verdict.message)
        self.containers.stop_gracefully(self._grace)

    @property
    def _grace(self) -> float:
        asked = self.pod["metadata"].get("deletionGracePeriodSeconds")
        if asked is None:
            asked = self.pod["spec"].get("terminationGracePeriodSeconds")
        return 30.0 if asked is None else float(asked)

    async def _terminate(self) -> None:
        """End the pod, publish its final status and delete it from the API."""
        self.containers.is_ending = True
        for name in self.containers.running:
            self._record_event("Normal", "Killing", f"Stopping container {name}")
        is_over = self.containers.stop_gracefully(self._grace)
        await self._publish()
        if is_over:
            await self._discard()
            await self._context.api.delete_pod(self.pod)
            self.is_done = True

    async def _clean_up(self) -> None:
        self.containers.is_ending = True
        self.containers.kill()
        await self.containers.wait()
        await self._discard()
        self.is_done = True

    async def _discard(self) -> None:
        folder = pod_folder(self._context.settings.pods_folder, self.containers.record.uid)
        await asyncio.to_thread(discard, folder)

    async def _publish(self) -> None:
        if self._is_forgotten:
            return
        not_listening: frozenset[str] = frozenset()
        if self._is_server:
            preferred = self._context.launches.local_ports(self.pod)
            listening_on = self.containers.listening_on
            not_listening = await self._publisher.publish_address(
                self.pod, listening_on, preferred=preferred
            )
        await self._publisher.publish_status(
            self.pod,
            self.containers.record,
            not_listening=not_listening,
            idle_since=self.containers.idle_since,
        )

    def _record_ignored_fields(self) -> None:
        fields = ignored_fields(self.pod)
        if fields:
            self._record_event(
                "Warning", "LeftOut", f"without effect on this machine: {', '.join(fields)}"
            )

    def _record_event(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        self._publisher.record_event(self.pod, kind, reason=reason, message=message)

    async def _wait(self, pause: float | None) -> None:
        moments = [self.containers.next_moment()]
        if not is_finished(self.containers.record, self._policy):
            deadline = self._deadline()
            moments.append(deadline.timestamp() if deadline else None)
        now = self._context.clock().timestamp()
        waits = [max(moment - now, 0.0) for moment in moments if moment is not None]
        timeout = min([*waits, *([pause] if pause is not None else [])], default=None)
        try:
            # Not wait_for: on Python 3.11 it loses a cancellation that comes with the wake-up.
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            return  # time for the next timed action
