"""The supervisor process between the agent and the processes of one container.

No process of the container outlives the supervisor, the container's first process, or the agent:
the agent holds the other end of standard input, and when it closes, everything is killed. There is
one supervisor per container, so this module uses only cheap parts of the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time

from tfjob.local.node.log_writer import LogWriter, stamp
from tfjob.local.node.process_tree import descendants, parents, send

TYPE_CHECKING = False  # avoids the cost of importing typing in every supervisor
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PARTIAL_SECONDS = 0.5
CONTROL, REPORT = 0, 1
MOUNTING = "mount"
ENOENT, EINVAL = 2, 22
IGNORED_SIGNALS = (signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


class StartError(Exception):
    """The command could not be started; has a shell's exit code and a message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def start_error(number: int, *, step: str, spec: dict[str, Any]) -> StartError:
    why = os.strerror(number)
    if step == "chdir":
        folder = f'working directory "{spec["cwd"]}": {why}'
        return StartError(
            128, f"{folder}; it must exist on this machine, because images do not run here"
        )
    command, path = spec["argv"][0], spec["env"].get("PATH", "")
    if not is_there(command, path=path, cwd=spec["cwd"]):
        where = "" if "/" in command else ": it is in no folder of PATH"
        return StartError(127, f'command "{command}" was not found on this machine{where}')
    if number == ENOENT:
        why = "the interpreter that its first line names was not found"
    return StartError(126, f'command "{command}" cannot be executed: {why}')


def is_there(command: str, *, path: str, cwd: str) -> bool:
    """Whether a shell would find a file of this name."""
    folders = [""] if "/" in command else path.split(os.pathsep)
    return any(
        os.path.exists(os.path.join(cwd, folder, command))  # noqa: PTH110, PTH118 - cheap start-up
        for folder in folders
    )


class NamespaceError(Exception):
    """The mounts of the container cannot be made real."""


class Supervisor:
    """Runs one command to its end; `run` returns the exit for the agent and the exit record."""

    def __init__(self, spec: dict[str, Any], *, commands: bytes, libc: ctypes.CDLL | None) -> None:
        self._spec, self._commands, self._libc = spec, commands, libc
        self._log = LogWriter(spec["log"], limit=spec["log_limit"], keep=spec["log_files"])
        self._streams: dict[int, str] = {}
        self._child = 0
        self._status: int | None = None
        self._reason = ""
        self._is_fault_reported = False

    def run(self) -> dict[str, Any]:
        started = stamp()
        try:
            self._start()
        except StartError as error:
            self._log.feed("stderr", error.message.encode() + b"\n")
            return self._record(
                error.code, started=started, reason="StartError", message=error.message
            )
        report({"started": self._child, "at": started})
        self._serve()
        self._end_all()
        self._drain()
        code = os.waitstatus_to_exitcode(self._status or 0)
        return self._record(
            code if code >= 0 else 128 - code, started=started, reason=self._reason, message=""
        )

    def _record(self, code: int, *, started: str, reason: str, message: str) -> dict[str, Any]:
        facts = {"code": code, "reason": reason, "message": message}
        return facts | {"started": started, "finished": stamp()}

    def _start(self) -> None:
        try:
            self._fork()
        except NamespaceError as error:
            report({"note": f"mount paths are translated, not mounted: {error}"})
            self._spec["mounts"] = []
            self._fork()

    def _fork(self) -> None:
        failure_in, failure_out = os.pipe()
        pipes = {name: os.pipe() for name in ("stdout", "stderr")}
        self._child = os.fork()
        if self._child == 0:
            self._become_command(failure_out, pipes["stdout"][1], pipes["stderr"][1])
        for name, (reading, writing) in pipes.items():
            os.close(writing)
            os.set_blocking(reading, False)
            self._streams[reading] = name
        os.close(failure_out)
        failure = os.read(failure_in, 100).decode()
        os.close(failure_in)
        if failure:
            os.waitpid(self._child, 0)
            step, number = failure.split()
            if step == MOUNTING:
                for fd in self._streams:
                    os.close(fd)
                self._streams.clear()
                raise NamespaceError(os.strerror(int(number)))
            raise start_error(int(number), step=step, spec=self._spec)

    def _become_command(self, failure: int, out: int, err: int) -> None:
        """The child's side of the fork; never returns."""
        step = MOUNTING
        try:
            os.setsid()
            if self._spec.get("mounts") and self._libc is not None:
                # Not imported by other containers: it costs start-up time.
                from tfjob.local.node.mount_namespace import enter  # noqa: PLC0415

                enter(self._libc, root=self._spec["root"], mounts=self._spec["mounts"])
            step = "chdir"
            if self._libc is not None:  # after the namespaces: entering one resets it
                self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in IGNORED_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.chdir(self._spec["cwd"])
            step = "exec"
            argv = self._spec["argv"]
            os.execvpe(argv[0], argv, self._spec["env"])  # noqa: S606 - the user's own command
        except OSError as error:
            os.write(failure, f"{step} {error.errno}".encode())
        except ValueError:  # a NUL in a word, or "=" in the name of a variable
            os.write(failure, f"{step} {EINVAL}".encode())
        finally:
            os._exit(127)

    def _serve(self) -> None:
        """Serve commands and log lines until the first process exits."""
        wake_in, wake_out = os.pipe()
        for end in (wake_in, wake_out):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poller = select.poll()
        for fd in (CONTROL, wake_in, *self._streams):
            poller.register(fd, select.POLLIN)
        self._obey_commands()  # commands that arrived together with the spec
        self._reap()  # it may have exited already
        while self._status is None:
            for fd, _ in poller.poll(self._flush_timeout()):
                if self._handle(fd, wake_in) is False:
                    poller.unregister(fd)
            self._reap()
            self._tell_trouble()

    def _flush_timeout(self) -> float | None:
        """Milliseconds until an unfinished line is to be written; writes one that has waited."""
        waited = self._log.partial_seconds()
        if waited is None:
            return None
        if waited < PARTIAL_SECONDS:
            return (PARTIAL_SECONDS - waited) * 1000
        self._log.flush_partial()
        return None

    def _tell_trouble(self) -> None:
        if self._log.error and not self._is_fault_reported:
            self._is_fault_reported = True
            report({"trouble": self._log.error})

    def _handle(self, fd: int, wake: int) -> bool:
        """Serve one ready descriptor; False when it is exhausted."""
        if fd == wake:
            os.read(wake, 4096)
            return True
        return self._obey() if fd == CONTROL else self._copy(fd)

    def _obey(self) -> bool:
        data = os.read(CONTROL, 4096)
        if not data:
            self._kill_all()
            return False
        self._commands += data
        self._obey_commands()
        return True

    def _obey_commands(self) -> None:
        *lines, self._commands = self._commands.split(b"\n")
        for line in lines:
            verb, _, argument = line.decode().partition(" ")
            if verb == "signal":
                send(-self._child, int(argument))
            elif verb == "kill":
                self._reason = argument
                self._kill_all()

    def _copy(self, fd: int) -> bool:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return True
        if data:
            self._log.feed(self._streams[fd], data)
        return bool(data)

    def _reap(self) -> bool:
        """Collect exited children; False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._status = status

    def _kill_all(self) -> None:
        if self._status is None:
            send(-self._child, signal.SIGKILL)
        for pid in descendants(os.getpid(), parents()):
            send(pid, signal.SIGKILL)

    def _end_all(self) -> None:
        """Kill until no child is left; orphans of the container are children of this process."""
        if self._libc is None:
            send(-self._child, signal.SIGKILL)
        pause = 0.001
        while self._reap():
            self._kill_all()
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _drain(self) -> None:
        for fd in self._streams:
            while True:
                try:
                    data = os.read(fd, 65536)
                except BlockingIOError:
                    break  # a process outside the container holds the pipe; do not wait for it
                if not data:
                    break
                self._log.feed(self._streams[fd], data)
        self._log.flush_partial()


def report(facts: dict[str, Any]) -> None:
    """Send one line to the agent; if it is gone, the exit record remains."""
    try:
        os.write(REPORT, json.dumps(facts).encode() + b"\n")
    except BrokenPipeError:
        return


def write_record(path: str, facts: dict[str, Any]) -> None:
    """Write the exit record atomically, so that a restarted agent can trust it."""
    try:
        fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(fd, json.dumps(facts).encode())
        os.close(fd)
        os.replace(path + ".new", path)  # noqa: PTH105 - plain strings keep this start-up cheap
    except OSError as error:
        report({"trouble": f"exit record was lost: {path}: {error.strerror}"})


def read_spec() -> tuple[dict[str, Any], bytes] | None:
    """The first line of standard input and what follows; None if the agent has gone."""
    text = b""
    while b"\n" not in text:
        more = os.read(CONTROL, 65536)
        if not more:
            return None
        text += more
    line, _, rest = text.partition(b"\n")
    return json.loads(line), rest


def subreaper() -> ctypes.CDLL | None:
    """Adopt orphans of the container, where the system supports it."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    return libc


def main() -> None:
    """Run one container, from its spec on standard input to its exit record."""
    described = read_spec()
    if described is None:
        return
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    spec, rest = described
    facts = Supervisor(spec, commands=rest, libc=subreaper()).run()
    write_record(spec["exit"], facts)
    report({"exit": facts})
