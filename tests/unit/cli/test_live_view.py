import io
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.live import Live

from tfjob.cli import keyboard
from tfjob.cli.live_view import TerminalScreen, terminal_screen
from tfjob.cli.run_output import ReplicaRow


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, height=24, color_system=None)


def written(console: Console) -> str:
    """What was printed since the last call."""
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    console.file.seek(0)
    console.file.truncate()
    return text


def screen_on(console: Console, clock: Callable[[], float] = lambda: 7.0) -> TerminalScreen:
    """A screen whose panel is drawn only when the test prints it."""
    return TerminalScreen(
        console, Live(console=console, auto_refresh=False), title="job", clock=clock
    )


def panel(screen: TerminalScreen, console: Console) -> list[str]:
    screen.refresh()
    written(console)
    console.print(screen._live.renderable)
    return [line.rstrip() for line in written(console).splitlines()[1:]]


def workers(*phases: str) -> list[ReplicaRow]:
    return [
        ReplicaRow(replica=f"worker-{index}", phase=phase, restarts=0, why="")
        for index, phase in enumerate(phases)
    ]


def test_lines_are_printed_in_their_order_with_their_replica(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "one")
    screen.log("ps-0", "two")
    screen.refresh()
    assert written(console) == "worker-0 one\nps-0     two\n"


def test_a_message_comes_after_the_lines_before_it(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "one")
    screen.message("it runs")
    assert written(console) == "worker-0 one\n● it runs\n"


def test_markup_in_the_output_of_a_program_is_printed_as_text(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "[bold]not bold[/bold] [/nothing]")
    screen.message("[red]it[/red] is made")
    assert written(console).splitlines() == [
        "worker-0 [bold]not bold[/bold] [/nothing]",
        "● [red]it[/red] is made",
    ]


def test_a_long_line_is_printed_in_full(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "x" * 500)
    screen.refresh()
    assert written(console) == f"worker-0 {'x' * 500}\n"


def test_a_progress_bar_shows_what_it_wrote_last(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "1/3\r2/3\r3/3\r")
    screen.refresh()
    assert written(console) == "worker-0 3/3\n"


def test_an_unfinished_line_is_shown_in_the_panel_until_it_is_finished(console: Console) -> None:
    screen = screen_on(console)
    screen.show(workers("Running"), state="Running")
    screen.progress("worker-0", "1/3\r2/3")
    assert panel(screen, console)[-1] == "worker-0  Running  0         2/3"
    screen.log("worker-0", "3/3")
    assert panel(screen, console)[-1] == "worker-0  Running  0"


def test_sequences_that_move_the_cursor_do_not_reach_the_screen(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "\x1b[31mred\x1b[0m\x1b[2J\x1b[1;1H\x08\x07end")
    screen.refresh()
    assert written(console) == "worker-0 redend\n"


def test_colours_of_a_program_are_kept() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    screen = screen_on(console)
    screen.log("worker-0", "\x1b[31mred\x1b[0m")
    screen.refresh()
    assert "\x1b[31mred\x1b[0m" in written(console)


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


def test_control_characters_of_any_text_do_not_reach_the_screen(console: Console) -> None:
    evil = "\x1b[2Jx\x9b2J\x1b]0;t\x07\x1b]8;;http://x\x07\x1b[2J\x1b\\y\x1b"
    screen = screen_on(console)
    screen.message(evil)
    screen.log("worker-0", evil)
    screen.progress("worker-1", evil)
    rows = [
        ReplicaRow(replica="worker-0", phase=evil, restarts=0, why=evil),
        ReplicaRow(replica="worker-1", phase="Running", restarts=0, why=""),
    ]
    screen.show(rows, state=evil)
    screen.refresh()
    console.print(screen._live.renderable)
    screen.failure("worker-0", evil, [evil])
    screen.verdict(evil, is_good=False)
    assert {sign for sign in written(console) if sign in "\x1b\x07\x9b\r"} == set()


def test_the_arrow_keys_choose_one_replica_and_show_its_recent_lines(console: Console) -> None:
    screen = screen_on(console)
    screen.show(workers("Running", "Running"), state="Running")
    screen.log("worker-0", "one")
    screen.log("worker-1", "two")
    screen.press(keyboard.DOWN)
    screen.press(keyboard.DOWN)
    screen.log("worker-0", "three")
    screen.log("worker-1", "four")
    screen.refresh()
    shown = written(console).splitlines()
    assert [line for line in shown if "─" not in line] == [
        "worker-0 one",
        "worker-1 two",
        "worker-0 one",
        "worker-1 two",
        "worker-1 four",
    ]
    assert panel(screen, console)[0] == "job  Running  0s  only worker-1"


def test_beyond_the_last_replica_all_lines_are_shown_again(console: Console) -> None:
    screen = screen_on(console)
    screen.show(workers("Running"), state="Running")
    screen.press(keyboard.UP)
    screen.press(keyboard.UP)
    assert panel(screen, console)[0] == "job  Running  0s"


def test_space_pauses_and_continues(console: Console) -> None:
    screen = screen_on(console)
    screen.press(" ")
    screen.log("worker-0", "one")
    assert panel(screen, console)[-1] == "paused, 1 new lines (space continues)"
    screen.press(" ")
    assert written(console) == "worker-0 one\n"


def test_a_choice_during_a_pause_loses_no_line_of_it(console: Console) -> None:
    screen = screen_on(console)
    screen.show(workers("Running"), state="Running")
    screen.press(" ")
    lines = [f"worker-0 {place}" for place in range(console.size.height * 2)]
    for line in lines:
        screen.log(*line.split())
    screen.press(keyboard.DOWN)
    screen.press(" ")
    assert written(console).splitlines()[1:] == lines


async def test_a_view_that_ends_without_a_verdict_prints_what_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with terminal_screen("job") as screen:
        screen.log("worker-0", "one")
    assert "worker-0 one\n" in capsys.readouterr().out


def test_a_search_shows_matching_lines_only(console: Console) -> None:
    screen = screen_on(console)
    screen.log("worker-0", "loss 1")
    screen.log("worker-0", "step 1")
    screen.refresh()
    for key in ("/", "x", keyboard.BACKSPACE, *"loss"):
        screen.press(key)
    assert panel(screen, console)[-1].startswith("search: loss")
    screen.press(keyboard.ENTER)
    screen.log("worker-0", "step 2")
    screen.log("worker-0", "Loss 2")
    screen.refresh()
    shown = written(console).splitlines()
    assert [line for line in shown if "─" not in line] == ["worker-0 loss 1", "worker-0 Loss 2"]
    screen.press("a")
    screen.log("worker-0", "step 3")
    screen.refresh()
    assert written(console).endswith("worker-0 step 3\n")


def test_escape_cancels_a_search(console: Console) -> None:
    screen = screen_on(console)
    for key in ("/", "x", keyboard.ESCAPE):
        screen.press(key)
    screen.log("worker-0", "one")
    screen.refresh()
    assert written(console) == "worker-0 one\n"


def test_a_replica_that_stops_printing_while_others_print_is_marked(console: Console) -> None:
    now = 0.0
    screen = screen_on(console, clock=lambda: now)
    screen.show(workers("Running", "Running"), state="Running")
    screen.log("worker-0", "one")
    screen.log("worker-1", "one")
    now = 70.0
    screen.log("worker-1", "two")
    assert panel(screen, console)[-2:] == [
        "worker-0  Running  0         no output for 70s",
        "worker-1  Running  0",
    ]


def test_closing_prints_the_lines_of_a_pause_and_restores_the_keyboard(
    console: Console,
) -> None:
    live = Live(console=console, auto_refresh=False)
    screen = TerminalScreen(console, live, title="job", clock=lambda: 0.0)
    restored: list[bool] = []
    screen.restore_keyboard = lambda: restored.append(True)
    with live:
        screen.press(" ")
        screen.log("worker-0", "one")
        screen.verdict("done", is_good=True)
    assert "worker-0 one\n" in written(console)
    assert restored == [True]
