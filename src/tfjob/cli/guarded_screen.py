"""A live view that never stops in silence: if it fails, plain lines follow.

A fault of the display must not end a job, and must not hide what the job says.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from tfjob.cli.log_view import LogLine
from tfjob.cli.run_output import ReplicaRow, Screen

_log = logging.getLogger(__name__)


class LiveScreen(Screen, Protocol):
    def restore(self) -> None:
        """Leave the terminal as it was."""

    def unprinted(self) -> Sequence[LogLine]:
        """All lines that wait to be printed, also those that a choice or a pause hides."""

    @property
    def skipped(self) -> int:
        """How many lines a long pause has dropped without a message about them."""


class GuardedScreen:
    """Shows everything on `live`, and after its first error on `plain`."""

    def __init__(self, live: LiveScreen, plain: Screen) -> None:
        self._plain = plain
        self._shown = live
        self._live: LiveScreen | None = live

    @property
    def has_failed(self) -> bool:
        return self._live is None

    def message(self, text: str) -> None:
        self._show(lambda screen: screen.message(text))

    def log(self, replica: str, line: str) -> None:
        self._show(lambda screen: screen.log(replica, line), line=LogLine(replica, line))

    def progress(self, replica: str, text: str) -> None:
        self._show(lambda screen: screen.progress(replica, text))

    def show(self, rows: Sequence[ReplicaRow], *, state: str) -> None:
        self._show(lambda screen: screen.show(rows, state=state))

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self._show(lambda screen: screen.failure(replica, why, lines))

    def verdict(self, text: str, *, is_good: bool) -> None:
        self._show(lambda screen: screen.verdict(text, is_good=is_good))

    def restore(self) -> None:
        """Leave the terminal as it was."""
        self._shown.restore()

    def attempt(self, step: Callable[[], None], *, line: LogLine | None = None) -> None:
        """A step of the live view alone, such as drawing it or taking a line."""
        if self._live is not None:
            try:
                step()
            except Exception as error:  # noqa: BLE001 - whatever it is, the job goes on
                self._fall_back(error, line)

    def _show(self, call: Callable[[Screen], None], *, line: LogLine | None = None) -> None:
        live = self._live
        if live is not None:
            self.attempt(lambda: call(live), line=line)
        if self._live is None:
            call(self._plain)

    def _fall_back(self, error: Exception, line: LogLine | None) -> None:
        self._live = None
        _log.error("the live view failed", exc_info=error)
        with suppress(Exception):
            self._shown.restore()
        why = f"{type(error).__name__}: {error}"
        self._plain.message(f"the live view has failed ({why}); plain lines follow")
        if self._shown.skipped:
            self._plain.message(f"{self._shown.skipped} lines were skipped during the pause")
        waiting = list(self._shown.unprinted())
        if line is not None and waiting[-1:] == [line]:
            waiting.pop()  # the view took it before it failed; it is shown next
        for replica, text in waiting:
            self._plain.log(replica, text)
