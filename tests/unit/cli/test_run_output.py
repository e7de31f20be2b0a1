import io

from tfjob.cli.run_output import PlainScreen, ReplicaRow, screen_for
from tfjob.cli.signals import Interrupts


def line(phase: str, why: str = "") -> ReplicaRow:
    return ReplicaRow(replica="worker-0", phase=phase, restarts=0, why=why)


def test_output_that_is_not_a_terminal_gets_plain_lines() -> None:
    stream = io.StringIO()
    with screen_for(stream, title="job", is_plain=False, interrupts=Interrupts()) as screen:
        screen.message("it is made")
        screen.log("worker-0", "one")
    assert stream.getvalue() == "it is made\n[worker-0] one\n"


def test_a_phase_is_printed_when_it_changes() -> None:
    stream = io.StringIO()
    screen = PlainScreen(stream)
    for each in (line("Pending"), line("Running"), line("Running"), line("Failed", "exit code 3")):
        screen.show([each], state="Running")
    assert stream.getvalue().splitlines() == [
        "worker-0: Pending",
        "worker-0: Running",
        "worker-0: Failed, exit code 3",
    ]


def test_the_end_names_the_failed_replica_with_its_last_lines() -> None:
    stream = io.StringIO()
    screen = PlainScreen(stream)
    screen.failure("worker-0", "exit code 3", ["a", "b"])
    screen.verdict("the job has failed", is_good=False)
    assert stream.getvalue().splitlines() == [
        "worker-0 failed first (exit code 3); its last lines:",
        "    a",
        "    b",
        "failed: the job has failed",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_of_programs_are_unchanged_in_a_pipe_and_escaped_on_a_terminal() -> None:
    evil = "\x1b[2Jx"
    for stream, shown in ((io.StringIO(), evil), (Terminal(), "␛[2Jx")):
        screen = PlainScreen(stream)
        screen.log("w-0", evil)
        screen.failure("w-0", evil, [evil])
        screen.verdict(evil, is_good=False)
        assert stream.getvalue().splitlines() == [
            f"[w-0] {shown}",
            "w-0 failed first (␛[2Jx); its last lines:",
            f"    {shown}",
            "failed: ␛[2Jx",
        ]


def test_progress_is_printed_once_per_interval_and_restarts_are_counted() -> None:
    stream = io.StringIO()
    screen = PlainScreen(stream, clock=iter([0.0, 4.0, 5.0]).__next__)
    for text in ("1/3\r", "1/3\r2/3\r", "1/3\r2/3\r3/3"):
        screen.progress("worker-0", text)
    row = ReplicaRow(replica="worker-0", phase="Running", restarts=1, why="after exit code 3")
    screen.show([row], state="Running")
    assert stream.getvalue().splitlines() == [
        "[worker-0] 1/3",
        "[worker-0] 3/3",
        "worker-0: Running, after exit code 3, restart 1",
    ]


def test_a_replica_without_output_says_so() -> None:
    stream = io.StringIO()
    PlainScreen(stream).failure("worker-0", "exit code 3", [])
    assert stream.getvalue() == "worker-0 failed first (exit code 3); it wrote no output\n"
