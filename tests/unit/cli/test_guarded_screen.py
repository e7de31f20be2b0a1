"""What happens to a run whose live view fails."""

import asyncio
import io
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.live import Live

from tests.support.patience import PATIENCE
from tfjob.cli import keyboard
from tfjob.cli.guarded_screen import GuardedScreen
from tfjob.cli.live_view import TerminalScreen, refresh_until_failed
from tfjob.cli.run_output import PlainScreen, ReplicaRow

ROW = ReplicaRow(replica="worker-0", phase="Running", restarts=0, why="")
FAILED = "the live view has failed (ValueError: too small); plain lines follow"


class View:
    """A live screen and the plain lines below it."""

    def __init__(self) -> None:
        self.plain = io.StringIO()
        self.console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
        self.live = Live(console=self.console, auto_refresh=False)
        self.screen = TerminalScreen(self.console, self.live, title="job")
        self.guarded = GuardedScreen(self.screen, PlainScreen(self.plain))


@pytest.fixture
def view() -> View:
    return View()


def failing(*_: object, **__: object) -> None:
    raise ValueError("too small")


async def test_a_view_that_fails_is_reported_and_plain_lines_follow(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    with view.live:
        view.guarded.log("worker-0", "before")
        monkeypatch.setattr(view.screen, "refresh", failing)
        await asyncio.wait_for(refresh_until_failed(view.screen, view.guarded), timeout=PATIENCE)
        assert not view.live.is_started
        view.guarded.log("worker-0", "after")
        view.guarded.show([ROW], state="Running")
        view.guarded.verdict("it ended", is_good=True)
    assert view.plain.getvalue().splitlines() == [
        FAILED,
        "[worker-0] before",
        "[worker-0] after",
        "worker-0: Running",
        "succeeded: it ended",
    ]


@pytest.mark.parametrize(
    ("name", "call", "shown"),
    [
        ("message", lambda screen: screen.message("a word"), "a word"),
        ("log", lambda screen: screen.log("w", "a line"), "[w] a line"),
        ("progress", lambda screen: screen.progress("w", "50 %"), "[w] 50 %"),
        ("failure", lambda screen: screen.failure("w", "why", ["x"]), "w failed first (why)"),
    ],
)
def test_output_that_the_view_fails_to_show_is_printed_in_plain_lines(
    view: View,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    call: Callable[[GuardedScreen], None],
    shown: str,
) -> None:
    monkeypatch.setattr(view.screen, name, failing)
    call(view.guarded)
    lines = view.plain.getvalue().splitlines()
    assert lines[0] == FAILED
    assert lines[1].startswith(shown)
    assert view.guarded.has_failed


def test_a_line_that_the_view_accepts_before_it_fails_is_printed_once(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = view.screen.log

    def fail_late(replica: str, line: str) -> None:
        take(replica, line)
        failing()

    view.guarded.log("w", "same")
    monkeypatch.setattr(view.screen, "log", fail_late)
    view.guarded.log("w", "same")
    assert view.plain.getvalue().splitlines() == [FAILED, "[w] same", "[w] same"]


@pytest.mark.parametrize("keys", ["", " ", "a", "up", "/b\n"])
def test_lines_that_the_view_fails_to_print_are_not_lost(
    view: View, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    view.guarded.show([ROW], state="Running")
    with view.live:
        for key in ["up"] if keys == "up" else keyboard.keys(keys):
            view.screen.press(key)
        view.guarded.log("worker-0", "before")
        view.guarded.log("ps-0", "beside")
        monkeypatch.setattr(view.console, "print", failing)
        view.guarded.message("a word")
        view.guarded.attempt(lambda: view.screen.press("a"))
    assert view.plain.getvalue().splitlines() == [
        FAILED,
        "[worker-0] before",
        "[ps-0] beside",
        "a word",
    ]


def test_skipped_lines_are_counted_if_the_view_fails(view: View) -> None:
    view.screen.press(" ")
    for place in range(10_002):
        view.guarded.log("w", str(place))
    view.guarded.attempt(failing)
    lines = view.plain.getvalue().splitlines()
    assert lines[:3] == [FAILED, "2 lines were skipped during the pause", "[w] 2"]
    assert len(lines) == 10_002


def test_an_error_in_the_handling_of_a_key_is_reported(view: View) -> None:
    view.guarded.attempt(failing)
    assert FAILED in view.plain.getvalue()
    view.guarded.attempt(failing)
    assert view.plain.getvalue().count(FAILED) == 1


def test_a_working_view_prints_no_plain_lines(view: View) -> None:
    with view.live:
        view.guarded.message("a word")
        view.guarded.log("worker-0", "a line")
        view.guarded.show([ROW], state="Running")
        view.guarded.restore()
    assert view.plain.getvalue() == ""
