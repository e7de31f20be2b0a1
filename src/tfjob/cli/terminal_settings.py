"""The settings of a terminal: kept while a program changes them, and restored at the end.

They belong to the process group that the terminal listens to. Nothing is changed for another one,
such as the shell of a user who sent this process to the background.
"""

import os
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_ZOMBIE: Final = "Z"
"""The state of a process that has ended, and whose parent has not asked for its exit code."""


def is_ours(fd: int) -> bool:
    """Whether this is a terminal that listens to this process."""
    try:
        return os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


def kept_settings(fd: int) -> Callable[[], None]:
    """What restores the terminal as it is now; nothing if it is not ours."""
    if not is_ours(fd):
        return lambda: None
    before = termios.tcgetattr(fd)

    def restore() -> None:
        # SIGTTOU would stop this process as long as the terminal listens to another one.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            with suppress(OSError, termios.error):  # the terminal is gone
                if _is_left_behind(fd):
                    os.tcsetpgrp(fd, os.getpgrp())
                if is_ours(fd):
                    termios.tcsetattr(fd, termios.TCSADRAIN, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    return restore


def _is_left_behind(fd: int) -> bool:
    """Whether the terminal listens to processes that have ended, as after a shell was killed."""
    try:
        group = os.tcgetpgrp(fd)
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    except OSError:  # another user's, or no terminal of this session
        return False
    return set(_states(group)) == {_ZOMBIE}


def _states(group: int) -> Iterator[str]:
    """The states of the processes of a group, as far as the system shows them."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it is gone
            text = path.read_text(errors="replace")
            state, _, its_group, *_ = text[text.rindex(")") + 2 :].split()
            if int(its_group) == group:
                yield state
