"""A terminal in memory that runs a command and shows what a person would see.

The command is started by a shell, as in real life: when the leader of a session exits, the kernel
discards what was not read yet.
"""

import os
import pty
import select
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import pyte

from tests.support.patience import PATIENCE

_EXITED = "the command exited with "
_SIZES = frozenset({"COLUMNS", "LINES"})
"""Variables that would override the size of this terminal."""


class Terminal:
    def __init__(
        self, command: Sequence[str], *, columns: int, rows: int, environ: Mapping[str, str]
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._command = command
        kept = {name: value for name, value in environ.items() if name not in _SIZES}
        self._environ = {**kept, "TERM": "xterm-256color"}
        self._pid = self._fd = -1

    def __enter__(self) -> Self:
        size = f"stty rows {self.screen.lines} cols {self.screen.columns}"
        script = f"{size}; {shlex.join(self._command)}; echo '{_EXITED}'$?; read -r _"
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execve("/bin/sh", ["sh", "-c", script], self._environ)  # noqa: S606 - our script
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)  # hangs up: the command gets SIGHUP
        os.waitpid(self._pid, 0)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """Wait until the screen matches; returns its lines."""
        end = time.monotonic() + PATIENCE
        while not holds(self.lines):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                raise AssertionError("the screen never became:\n" + "\n".join(self.lines))
            self._stream.feed(os.read(self._fd, 65536))
        return self.lines

    def until_exit(self) -> int:
        lines = self.until(lambda lines: any(_EXITED in line for line in lines))
        line = next(each for each in lines if _EXITED in each)
        return int(line.rpartition(" ")[2])
