"""The containers of one pod: which to start, which run, how they end.

The record on disk lags behind the processes by one step at most. Init containers run one after
another, before all others.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tfjob.local.node import surroundings
from tfjob.local.node.checkpoint import (
    ContainerRecord,
    PodRecord,
    Running,
    Terminated,
    Waiting,
    container_folder,
    save,
)
from tfjob.local.node.idle_watcher import DEFAULT_SECONDS, IdleWatcher
from tfjob.local.node.launch_builder import message_file
from tfjob.local.node.log_reader import last_lines
from tfjob.local.node.machine import NodeSettings
from tfjob.local.node.oom_watcher import OomWatcher
from tfjob.local.node.process import (
    ContainerExit,
    ContainerProcess,
    Launch,
    ProcessIdentity,
    kill_marked,
    recover,
    start,
)
from tfjob.local.node.resource_fit import memory_limit
from tfjob.local.node.restart_policy import after_end, terminated
from tfjob.local.node.sockets import Address, SocketPoller

Json = Mapping[str, Any]
_log = logging.getLogger(__name__)
_MESSAGE_LIMIT = 4096
UNKNOWN_PID = -1


class PodContainers:
    """Processes and record of one pod; `on_change` is called when one exits or starts to listen.

    With `sockets` set, `listening_on` holds the addresses that each running container listens on.
    With `idle` set, a container is idle after `idle_after` seconds without work.
    """

    def __init__(
        self,
        record: PodRecord,
        *,
        settings: NodeSettings,
        memory: OomWatcher,
        clock: Callable[[], datetime],
        on_change: Callable[[], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self.record = record
        self.policy = "Always"
        self.is_ending = False
        self.sockets: SocketPoller | None = None
        self.idle: IdleWatcher | None = None
        self.idle_after = DEFAULT_SECONDS
        self.listening_on: dict[str, tuple[Address, ...]] = {}
        self._settings, self._memory, self._clock = settings, memory, clock
        self._idle_since: dict[str, datetime] = {}
        self._on_change, self._on_trouble = on_change, on_trouble
        self._processes: dict[str, ContainerProcess] = {}
        self._followers: set[asyncio.Task[None]] = set()
        self._kill_at: float | None = None
        self._is_killed = False
        self._specs: dict[str, Json] = {}

    @property
    def is_running(self) -> bool:
        return bool(self._processes)

    @property
    def idle_since(self) -> datetime | None:
        """When the last container became idle; None while one works."""
        if set(self._idle_since) != set(self._processes):
            return None
        return max(self._idle_since.values(), default=None)

    @property
    def running(self) -> list[str]:
        """The names of the containers that run."""
        return list(self._processes)

    def due(self) -> list[str]:
        """The containers to start now."""
        for one in self.record.init:
            if not (isinstance(one.state, Terminated) and one.state.exit_code == 0):
                return [one.name] if self._is_startable(one) else []
        return [one.name for one in self.record.containers if self._is_startable(one)]

    def next_moment(self) -> float | None:
        """When the next timed action is due, in seconds since the epoch; None if there is none."""
        moments = [one.retry_at for one in self._waiting()]
        if self._kill_at is not None and self._processes and not self._is_killed:
            moments.append(self._kill_at)
        return min(moments, default=None)

    async def recover(self) -> None:
        """Find out how containers ended that an earlier agent left running."""
        for one in self.record.all_containers:
            if await self._was_started(one):
                ended = await recover(
                    ProcessIdentity(pid=one.pid, start_time=one.start_time),
                    marker=one.marker(self.record.uid),
                    exit_record=self._folder(one) / f"{one.instance}.exit",
                )
                changed = msgspec.structs.replace(one, pid=one.pid or UNKNOWN_PID)
                self.record = self.record.with_container(changed)
                self._end(one.name, ended)

    async def _was_started(self, one: ContainerRecord) -> bool:
        """Whether the current run was started and its exit was not recorded."""
        if isinstance(one.state, Terminated):
            return False
        if one.pid:
            return one.retry_at == 0
        # It may have started just before its record was written; then there is a log.
        await asyncio.to_thread(kill_marked, one.marker(self.record.uid))
        return await asyncio.to_thread((self._folder(one) / f"{one.instance}.log").exists)

    def mark_starting(self, name: str) -> None:
        """Count a new run of the container before its folders are created."""
        old = self.record.container(name)
        restarts = old.restarts + (old.last is not None and old.pid != 0)
        self.change(msgspec.structs.replace(old, restarts=restarts, pid=0, start_time=""))

    async def start(self, spec: Json, launch: Launch) -> bool:
        """Start a container and follow it; False if its command cannot be executed."""
        name = str(spec["name"])
        self._specs[name] = spec
        await asyncio.to_thread(Path(launch.exit).unlink, missing_ok=True)
        process = await start(launch, on_trouble=self._on_trouble)
        self._processes[name] = process
        follower = asyncio.create_task(self._follow(name, process))
        self._followers.add(follower)
        follower.add_done_callback(self._followers.discard)
        started_at = await process.started_at()
        old = self.record.container(name)
        state = Running(started_at[:19] + "Z") if started_at else old.state
        if name in self._processes:
            identity = process.identity
            self.change(
                msgspec.structs.replace(
                    old,
                    state=state,
                    pid=identity.pid,
                    start_time=identity.start_time,
                    retry_at=0.0,
                )
            )
            self._watch_memory(spec, process)
            self._watch_sockets(name, process)
            self._watch_idleness(name, process, log=Path(launch.log))
        return started_at is not None

    def defer_start(self, name: str, *, reason: str, message: str) -> None:
        """Retry the start of the container a little later."""
        retry_at = self._clock().timestamp() + self._settings.retry_seconds
        old = self.record.container(name)
        waiting = Waiting(reason, message)
        self.change(msgspec.structs.replace(old, state=waiting, retry_at=retry_at))

    def stop_gracefully(self, grace_seconds: float) -> bool:
        """Send SIGTERM, and SIGKILL after the grace period; True when no process is left."""
        if not self._processes:
            return True
        now = self._clock().timestamp()
        if self._kill_at is None and grace_seconds > 0:
            for process in self._processes.values():
                process.send(signal.SIGTERM)
        latest = now + grace_seconds
        self._kill_at = latest if self._kill_at is None else min(self._kill_at, latest)
        if now >= self._kill_at and not self._is_killed:
            self._is_killed = True
            self.kill()
        return False

    def kill(self, reason: str = "") -> None:
        """Kill every process of the pod."""
        for process in self._processes.values():
            process.kill(reason)

    async def wait(self) -> None:
        """Wait until no process of the pod is left."""
        await asyncio.gather(*(process.wait() for process in self._processes.values()))

    def change(self, container: ContainerRecord) -> None:
        self.replace(self.record.with_container(container))

    def replace(self, record: PodRecord) -> None:
        """Store the record, in memory and on disk."""
        self.record = record
        try:
            save(self._settings.pods_folder, record)
        except OSError as fault:
            _log.warning("pod record not stored", extra={"pod": record.name, "fault": str(fault)})

    def _waiting(self) -> list[ContainerRecord]:
        known = [one for one in self.record.all_containers if one.name not in self._processes]
        return [one for one in known if isinstance(one.state, Waiting) and one.retry_at > 0]

    def _is_startable(self, one: ContainerRecord) -> bool:
        if one.name in self._processes or not isinstance(one.state, Waiting):
            return False
        return one.retry_at <= self._clock().timestamp()

    def _watch_memory(self, spec: Json, process: ContainerProcess) -> None:
        limit = memory_limit(spec)
        if limit is not None:
            self._memory.watch(
                process.identity.pid, limit=limit, on_exceeded=lambda: process.kill("OOMKilled")
            )

    def _watch_sockets(self, name: str, process: ContainerProcess) -> None:
        def on_change(addresses: tuple[Address, ...]) -> None:
            self.listening_on[name] = addresses
            self._on_change()

        if self.sockets is not None:
            self.sockets.watch(process.identity.pid, on_change)

    def _watch_idleness(self, name: str, process: ContainerProcess, *, log: Path) -> None:
        def on_change(since: datetime | None) -> None:
            self._idle_since.pop(name, None)
            if since is not None:
                self._idle_since[name] = since
            self._on_change()

        if self.idle is not None:
            self.idle.watch(
                process.identity.pid, log=log, after=self.idle_after, on_change=on_change
            )

    async def _follow(self, name: str, process: ContainerProcess) -> None:
        ended = await process.wait()
        self._memory.forget(process.identity.pid)
        if self.idle is not None:
            self.idle.forget(process.identity.pid)
        self._idle_since.pop(name, None)
        if self.sockets is not None:
            self.sockets.forget(process.identity.pid)
            self.listening_on.pop(name, None)
        del self._processes[name]
        identity = process.identity
        old = self.record.container(name)
        self.record = self.record.with_container(
            msgspec.structs.replace(old, pid=identity.pid, start_time=identity.start_time)
        )
        self._end(name, ended)
        self._on_change()

    def _end(self, name: str, ended: ContainerExit) -> None:
        old = self.record.container(name)
        now = self._clock()
        surroundings.remove(self._folder(old))
        end = terminated(
            ended, old, termination_message=self._termination_message(old, ended), now=now
        )
        if self.is_ending:
            self.change(msgspec.structs.replace(old, state=end))
            return
        changed = after_end(
            self.record,
            old,
            end,
            policy=self.policy,
            backoff=self._settings.backoff,
            now=now.timestamp(),
        )
        self.change(changed)

    def _termination_message(self, one: ContainerRecord, ended: ContainerExit) -> str:
        folder = self._folder(one)
        try:
            data = message_file(folder, one.instance).read_bytes()[-_MESSAGE_LIMIT:]
        except OSError:
            data = b""  # no message was written
        fallback = self._specs.get(one.name, {}).get("terminationMessagePolicy")
        if not data and ended.code != 0 and fallback == "FallbackToLogsOnError":
            data = last_lines(folder / f"{one.instance}.log")
        return data.decode("utf-8", "replace")

    def _folder(self, one: ContainerRecord) -> Path:
        return container_folder(self._settings.pods_folder, self.record.uid, one.name)
