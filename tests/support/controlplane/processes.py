"""Child processes that never outlive the test run.

Every child is in one process group with a guard that kills the group when this process is gone.
Children are waited for, so that their ports are free again.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.patience import PATIENCE

_GUARD = ("sh", "-c", "cat >/dev/null; kill -9 0")
_LOG_TAIL = 15


class Processes:
    """Named children; each writes its log to <folder>/<name>.log."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._guard = subprocess.Popen(_GUARD, stdin=subprocess.PIPE, process_group=0)

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a child that has not been started, or has been ended."""
        with self.log(name).open("ab") as log:
            self._children[name] = subprocess.Popen(
                command,
                cwd=self._folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=self._guard.pid,
            )

    def end(self, name: str) -> None:
        """Kill a child and wait until it is gone."""
        child = self._children.pop(name, None)
        if child is not None:
            child.kill()
            child.wait(timeout=PATIENCE)

    def terminate(self, name: str) -> int:
        """Ask a child to end and wait until it is gone; the result is its exit code."""
        child = self._children.pop(name)
        child.terminate()
        return child.wait(timeout=PATIENCE)

    def pause(self, name: str) -> None:
        """Freeze a child: its connections stay open and nothing is answered."""
        self._children[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a frozen child go on."""
        self._children[name].send_signal(signal.SIGCONT)

    def pid(self, name: str) -> int:
        """The process id of a child."""
        return self._children[name].pid

    def names(self) -> tuple[str, ...]:
        """The children that were started and not ended, oldest first."""
        return tuple(self._children)

    def ended_by_themselves(self) -> tuple[str, ...]:
        """The children that should run and do not."""
        return tuple(name for name, child in self._children.items() if child.poll() is not None)

    def log(self, name: str) -> Path:
        """Where a child's output goes."""
        return self._folder / f"{name}.log"

    def last_words(self, name: str) -> str:
        """The end of a child's output."""
        lines = self.log(name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_TAIL:])

    def close(self) -> None:
        """End every child, the last started first, and the guard."""
        for name in reversed(self.names()):
            self.end(name)
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait(timeout=PATIENCE)
