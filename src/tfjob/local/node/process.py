"""Starts the command of a container, stops it and reports its exit.

After `wait` returns, no process of the container is left, even if its supervisor was killed. Signal
n is exit code 128+n. On Linux all descendants are found (if the supervisor was killed: those that
kept their environment); elsewhere, one that leaves its process group is not.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tfjob.k8s.nesting import UNREADABLE
from tfjob.local.data_folder import write_file

_log = logging.getLogger(__name__)
MARKER = "TFJOB_CONTAINER"
# Empty stand-ins for the packages: importing the real ones would cost more than the rest.
BOOT = """
import sys, types
for name, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    package = types.ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package
from tfjob.local.node.supervisor import main
main()
"""
HERE = Path(__file__).parent
PACKAGES = (
    *("tfjob", str(HERE.parent.parent)),
    *("tfjob.local", str(HERE.parent)),
    *("tfjob.local.node", str(HERE)),
)
REPORT_LIMIT = 1 << 20
QUIET_LOOKS = 3


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one run of a container needs; `marker` is unique to the run."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    log: str
    exit: str
    marker: str
    mounts: tuple[tuple[str, str], ...] = ()
    """Paths and places to mount there, where the system allows it; `root` is a folder for it."""
    root: str = ""
    log_limit: int = 10 * 1024 * 1024
    log_files: int = 5


class ContainerExit(msgspec.Struct, frozen=True, kw_only=True):
    """How a container's first process exited; times as RFC 3339 with nanoseconds."""

    code: int
    reason: str = ""
    message: str = ""
    started: str = ""
    finished: str = ""


class _Report(msgspec.Struct, frozen=True):
    started: int | None = None
    at: str = ""
    note: str = ""
    trouble: str = ""
    exit: ContainerExit | None = None


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process by PID and start time, because PIDs are reused."""

    pid: int
    start_time: str

    def is_alive(self) -> bool:
        return start_time_of(self.pid) == self.start_time


def start_time_of(pid: int) -> str | None:
    """The start time of the process in kernel ticks; None if it is gone, empty if unknown."""
    if sys.platform != "linux":
        return "" if _exists(pid) else None
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = text[text.rindex(")") + 2 :].split()
    return None if state == "Z" else fields[18]


def boot_id() -> str:
    """What tells this boot of this machine from all others; empty if the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it belongs to another user
    return True


class ContainerProcess:
    """One run of a container."""

    def __init__(
        self,
        supervisor: asyncio.subprocess.Process,
        launch: Launch,
        *,
        on_trouble: Callable[[str], None],
    ) -> None:
        self._supervisor, self._launch, self._on_trouble = supervisor, launch, on_trouble
        self._started = asyncio.get_running_loop().create_future()
        self._end = asyncio.create_task(self._follow())
        start_time = start_time_of(supervisor.pid) or ""
        self.identity = ProcessIdentity(pid=supervisor.pid, start_time=start_time)

    async def started_at(self) -> str | None:
        """When the command started; None if it never did."""
        answer: str | None = await asyncio.shield(self._started)
        return answer

    async def wait(self) -> ContainerExit:
        """The exit of the container; several callers may wait, and each may be cancelled."""
        return await asyncio.shield(self._end)

    def has_ended(self) -> bool:
        return self._end.done()

    async def stop(self, grace_seconds: float) -> ContainerExit:
        """Send SIGTERM to the process group, and SIGKILL after the grace period."""
        if grace_seconds > 0:
            self.send(signal.SIGTERM)
            try:
                async with asyncio.timeout(grace_seconds):
                    return await self.wait()
            except TimeoutError:
                pass  # the grace period is over
        self.kill()
        return await self.wait()

    def send(self, number: signal.Signals) -> None:
        self._command(f"signal {int(number)}\n")

    def kill(self, reason: str = "") -> None:
        """Kill every process of the container; `reason` becomes the reason of its exit."""
        self._command(f"kill {reason}\n")

    def _command(self, line: str) -> None:
        control = self._supervisor.stdin
        if control is not None and not control.is_closing() and not self.has_ended():
            control.write(line.encode())

    async def _follow(self) -> ContainerExit:
        ended = await self._read_reports()
        code = await self._supervisor.wait()
        if not self._started.done():
            self._started.set_result(None)
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        if ended is not None:
            return ended
        await asyncio.to_thread(kill_marked, self._launch.marker)
        message = f"the supervisor of the container was killed (exit code {code})"
        return await asyncio.to_thread(record_lost, Path(self._launch.exit), message)

    async def _read_reports(self) -> ContainerExit | None:
        reports = self._supervisor.stdout
        assert reports is not None  # noqa: S101 - started with a pipe
        ended = None
        async for line in reports:
            report = msgspec.json.decode(line, type=_Report)
            ended = report.exit or ended
            if report.note:
                _log.info(report.note, extra={"container": self._launch.marker})
            if report.trouble:
                self._on_trouble(report.trouble)
            if report.started is not None and not self._started.done():
                self._started.set_result(report.at)
        return ended


async def start(
    launch: Launch, *, on_trouble: Callable[[str], None] | None = None
) -> ContainerProcess:
    """Start the command in its own session; a command that cannot start exits with 126 to 128.

    `on_trouble` is called with problems around a running command, such as a full disk.
    """
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        "-c",
        BOOT,
        *PACKAGES,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, MARKER: launch.marker},
        start_new_session=True,
        limit=REPORT_LIMIT,
    )
    assert supervisor.stdin is not None  # noqa: S101 - started with a pipe
    env = {**launch.env, MARKER: launch.marker}
    supervisor.stdin.write(msgspec.json.encode(msgspec.structs.replace(launch, env=env)) + b"\n")
    return ContainerProcess(supervisor, launch, on_trouble=on_trouble or (lambda _: None))


def record_lost(path: Path, message: str) -> ContainerExit:
    """The exit of a container that nobody observed, as a kubelet reports it."""
    ended = ContainerExit(code=137, reason="ContainerStatusUnknown", message=message)
    try:
        write_file(path, msgspec.json.encode(ended))
    except OSError as error:
        return msgspec.structs.replace(ended, message=f"{message}; not recorded: {error}")
    return ended


def read_exit_record(path: Path) -> ContainerExit | None:
    """The recorded exit; None if there is none, or not a whole one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ContainerExit)
    except (OSError, *UNREADABLE):
        return None


async def recover(
    identity: ProcessIdentity, *, marker: str, exit_record: Path, patience: float = 2.0
) -> ContainerExit:
    """The recorded exit of a container of an earlier agent; kills what is left of it."""
    # Without its agent the supervisor is ending; give it time to write the exit record.
    await asyncio.to_thread(_wait_for_exit, identity, patience)
    await asyncio.to_thread(kill_marked, marker)
    recorded = await asyncio.to_thread(read_exit_record, exit_record)
    if recorded is not None:
        return recorded
    message = "the container exited while no agent was running; its exit code is unknown"
    return await asyncio.to_thread(record_lost, exit_record, message)


def _wait_for_exit(identity: ProcessIdentity, patience: float) -> None:
    deadline = time.monotonic() + patience
    while identity.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    if identity.is_alive():
        _kill(identity.pid)


def kill_marked(marker: str) -> None:
    """Kill all processes with this marker in their environment, until none is left."""
    killed: set[int] = set()
    quiet = 0
    while quiet < QUIET_LOOKS:
        carriers = _marked_processes(marker)
        for pid in carriers:
            _kill(pid)
        killed.update(carriers)
        # During exec and exit, a process shows no environment.
        quiet = 0 if carriers or any(map(start_time_of, killed)) else quiet + 1
        time.sleep(0.003)


def _marked_processes(marker: str) -> list[int]:
    needle = f"{MARKER}={marker}\0".encode()
    found = []
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue  # it exited, or belongs to another user
            if needle in environment:
                found.append(int(entry.name))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
