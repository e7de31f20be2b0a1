"""Children end when they are told to, and never outlive their parent."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.controlplane.processes import Processes

# Starts a child that holds a pipe open, says so, and then dies without a word.
_CARELESS_PARENT = """
import os, sys
from pathlib import Path
from tests.support.controlplane.processes import Processes
processes = Processes(Path(sys.argv[1]))
processes.start("child", ["sh", "-c", "exec sleep 60 > pipe"])
sys.stdin.read()
os._exit(1)
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    children = Processes(tmp_path)
    yield children
    children.close()


def test_ended_child_is_gone(processes: Processes) -> None:
    processes.start("child", ["sleep", "60"])
    pid = processes.pid("child")
    processes.end("child")
    assert processes.names() == ()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_child_that_ends_by_itself_is_named_and_leaves_its_last_words(
    processes: Processes, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    processes.start("child", ["sh", "-c", "echo no disk; exec 3> pipe"])
    (tmp_path / "pipe").read_text()
    os.waitid(os.P_PID, processes.pid("child"), os.WEXITED | os.WNOWAIT)
    assert processes.ended_by_themselves() == ("child",)
    assert processes.last_words("child") == "no disk"


def test_log_continues_when_a_child_is_started_again(processes: Processes) -> None:
    for word in ("first", "second"):
        processes.start("child", ["echo", word])
        os.waitid(os.P_PID, processes.pid("child"), os.WEXITED | os.WNOWAIT)
        processes.end("child")
    assert processes.log("child").read_text() == "first\nsecond\n"


def test_paused_child_stands_still_until_it_is_resumed(processes: Processes) -> None:
    processes.start("child", ["sleep", "60"])
    pid = processes.pid("child")
    processes.pause("child")
    os.waitid(os.P_PID, pid, os.WSTOPPED)
    processes.resume("child")
    os.waitid(os.P_PID, pid, os.WCONTINUED)
    assert processes.ended_by_themselves() == ()


def test_paused_child_can_be_ended(processes: Processes) -> None:
    processes.start("child", ["sleep", "60"])
    processes.pause("child")
    processes.end("child")
    assert processes.names() == ()


def test_children_die_with_a_parent_that_does_not_clean_up(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", _CARELESS_PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as parent, pipe.open() as held_by_child:
        assert parent.stdin is not None
        parent.stdin.close()
        # The end of the pipe is read only when the child, its last writer, is dead.
        assert held_by_child.read() == ""
    assert parent.returncode == 1
