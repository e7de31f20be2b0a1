import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from tfjob.cli.run_output import ReplicaRow
from tfjob.cli.status_panel import Panel


def row(replica: str, phase: str = "Running", *, restarts: int = 0, why: str = "") -> ReplicaRow:
    return ReplicaRow(replica=replica, phase=phase, restarts=restarts, why=why)


def workers(count: int) -> list[ReplicaRow]:
    return [row(f"worker-{index}") for index in range(count)]


def lines_of(
    rows: Sequence[ReplicaRow], *, height: int = 9, width: int = 80, **more: Any
) -> list[str]:
    """The panel as lines, without the empty one above it."""
    panel = Panel(title="job", state="Running", elapsed=7, rows=rows, **more)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(panel.render(height=height, width=width))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue().splitlines()
    assert len(shown) <= height
    assert all(len(line) <= width for line in shown)
    return [line.rstrip() for line in shown[1:]]


def test_few_replicas_are_all_listed_in_their_order() -> None:
    rows = [row("chief-0", restarts=2), row("worker-0", "Pending", why="[Insufficient] cpu")]
    assert lines_of(rows) == [
        "job  Running  7s",
        "REPLICA   PHASE    RESTARTS",
        "chief-0   Running  2",
        "worker-0  Pending  0         [Insufficient] cpu",
    ]


def test_many_replicas_are_summed_up_by_type() -> None:
    assert lines_of([row("chief-0"), row("ps-0"), *workers(40)]) == [
        "job  Running  7s",
        "chief     1  1 Running",
        "ps        1  1 Running",
        "worker   40  40 Running",
    ]


def test_of_many_replicas_those_that_need_attention_are_listed_worst_first() -> None:
    rows = workers(40)
    rows[3] = row("worker-3", restarts=1, why="after exit code 137")
    rows[20] = row("worker-20", "Failed", why="exit code 1")
    rows[30] = row("worker-30", "Pending")
    assert lines_of(rows) == [
        "job  Running  7s",
        "worker   40  1 Failed, 1 Pending, 38 Running  1 restart",
        "worker-20  Failed   0         exit code 1",
        "worker-30  Pending  0",
        "worker-3   Running  1         after exit code 137",
    ]


def test_more_urgent_replicas_than_fit_are_counted() -> None:
    rows = [row(f"worker-{index}", "Failed") for index in range(40)]
    assert lines_of(rows, height=6)[-2:] == ["worker-1  Failed  0", "and more: 38 Failed"]


@pytest.mark.parametrize("height", range(4, 60, 7))
@pytest.mark.parametrize("count", [0, 1, 2, 5, 20, 200])
def test_the_panel_keeps_within_its_height_and_width(height: int, count: int) -> None:
    rows = [row(f"worker-{index}", "Failed", why="x" * 200) for index in range(count)]
    shown = lines_of([row("chief-0"), *rows], height=height, width=40, footer="keys " * 20)
    assert shown[0] == "job  Running  7s"


def test_the_chosen_replica_is_listed_first() -> None:
    shown = lines_of(workers(40), chosen="worker-17")
    assert shown[0] == "job  Running  7s  only worker-17"
    assert shown[2] == "worker-17  Running  0"


def test_a_replica_shows_its_unfinished_line_or_its_silence() -> None:
    shown = lines_of(
        workers(3), progress={"worker-0": Text("epoch 1: 40%")}, quiet={"worker-1": 75.0}
    )
    assert shown[2:] == [
        "worker-0  Running  0         epoch 1: 40%",
        "worker-1  Running  0         no output for 75s",
        "worker-2  Running  0",
    ]


def test_a_quiet_replica_among_many_is_listed() -> None:
    assert lines_of(workers(40), quiet={"worker-9": 90.0})[-1] == (
        "worker-9  Running  0         no output for 90s"
    )
