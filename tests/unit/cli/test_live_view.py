import io

import pytest
from rich.console import Console
from rich.live import Live

from tfjob.cli.live_view import TerminalScreen
from tfjob.cli.run_output import ReplicaRow


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def screen_on(console: Console) -> TerminalScreen:
    live = Live(console=console, auto_refresh=False)
    return TerminalScreen(console, live, title="job", clock=iter([0.0, 7.0, 8.0]).__next__)


def test_markup_of_a_program_is_only_text(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "[bold]not bold[/bold] [/nothing]")
    screen.message("[red]it[/red] is made")
    assert "worker-0     [bold]not bold[/bold] [/nothing]" in written(console)
    assert "● [red]it[/red] is made" in written(console)


def test_a_progress_bar_shows_what_it_wrote_last(console: Console) -> None:
    screen_on(console).log("worker-0", "1/3\r2/3\r3/3\r")
    assert written(console).endswith("worker-0     3/3\n")


def test_signs_that_move_the_cursor_do_not_reach_the_screen(console: Console) -> None:
    screen_on(console).log("worker-0", "\x1b[31mred\x1b[0m\x1b[2J\x1b[1;1H\x08\x07end")
    assert written(console) == "worker-0     redend\n"


def test_the_table_shows_every_replica_and_the_time(console: Console) -> None:
    screen = screen_on(console)
    lines = [
        ReplicaRow(replica="chief-0", phase="Running", restarts=2, why=""),
        ReplicaRow(replica="worker-0", phase="Pending", restarts=0, why="[Insufficient] cpu"),
    ]
    screen.show(lines, state="Running")
    console.print(screen._live.renderable)
    rows = [" ".join(row.split()) for row in written(console).splitlines()]
    assert rows[1:] == [
        "job Running 7s",
        "REPLICA PHASE RESTARTS",
        "chief-0 Running 2",
        "worker-0 Pending 0 [Insufficient] cpu",
    ]


def test_the_verdict_comes_last(console: Console) -> None:
    screen = screen_on(console)
    screen.show([], state="Failed")
    screen.failure("worker-0", "exit code 1", ["[oops]"])
    screen.verdict("the job has failed", is_good=False)
    assert written(console).splitlines()[-5:] == [
        "",
        "worker-0 failed first (exit code 1); its last lines:",
        "    [oops]",
        "",
        "✘ the job has failed",
    ]


def test_no_control_sign_reaches_the_screen_from_any_text(console: Console) -> None:
    evil = "\x1b[2Jx\x9b2J\x1b]0;t\x07\x1b]8;;http://x\x07\x1b[2J\x1b\\y\x1b"
    screen = screen_on(console)
    screen.message(evil)
    screen.log("worker-0", evil)
    lines = [ReplicaRow(replica="worker-0", phase=evil, restarts=0, why=evil)]
    screen.show(lines, state=evil)
    console.print(screen._live.renderable)
    screen.failure("worker-0", evil, [evil])
    screen.verdict(evil, is_good=False)
    assert {sign for sign in written(console) if sign in "\x1b\x07\x9b\r"} == set()
