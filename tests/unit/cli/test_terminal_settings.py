import os
import pty
import subprocess
import termios
import tty

import pytest

from tfjob.cli import terminal_settings
from tfjob.cli.terminal_settings import kept_settings


def test_a_terminal_that_is_gone_or_not_ours_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    controller, terminal = pty.openpty()
    is_ours = True
    monkeypatch.setattr(terminal_settings, "is_ours", lambda _: is_ours)
    try:
        restore = kept_settings(terminal)
        tty.setcbreak(terminal)
        is_ours = False
        during = termios.tcgetattr(terminal)
        restore()
        assert termios.tcgetattr(terminal) == during
        is_ours = True
        os.close(controller)
        monkeypatch.setattr(termios, "tcsetattr", _gone)
        restore()
    finally:
        os.close(terminal)


def _gone(*_: object) -> None:
    raise termios.error(5, "Input/output error")


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_terminal_of_a_group_of_zombies_is_taken_back(
    monkeypatch: pytest.MonkeyPatch, *, has_ended: bool
) -> None:
    controller, terminal = pty.openpty()
    taken: list[int] = []
    monkeypatch.setattr(terminal_settings, "is_ours", lambda _: True)
    monkeypatch.setattr(os, "tcsetpgrp", lambda _, group: taken.append(group))
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, process_group=0)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: child.pid)
    try:
        if has_ended:
            child.kill()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        kept_settings(terminal)()
        assert taken == ([os.getpgrp()] if has_ended else [])
    finally:
        child.kill()
        child.communicate()
        os.close(controller)
        os.close(terminal)


def test_nothing_is_restored_without_a_terminal() -> None:
    reader, writer = os.pipe()
    try:
        kept_settings(reader)()
    finally:
        os.close(reader)
        os.close(writer)
