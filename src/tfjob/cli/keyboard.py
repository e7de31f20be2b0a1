"""Reads single keys from a terminal, without waiting for the Enter key and without echo.

Ctrl-C and Ctrl-Z keep their meaning. The terminal's settings are restored at the end.
"""

import asyncio
import os
import re
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tfjob.cli import terminal_settings

UP: Final = "up"
DOWN: Final = "down"
ENTER: Final = "enter"
ESCAPE: Final = "escape"
BACKSPACE: Final = "backspace"

_SPECIAL: Final = {
    "\x1b[A": UP,
    "\x1bOA": UP,
    "\x1b[B": DOWN,
    "\x1bOB": DOWN,
    "\x1b": ESCAPE,
    "\r": ENTER,
    "\n": ENTER,
    "\x7f": BACKSPACE,
    "\x08": BACKSPACE,
}
_KEY: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~])|.", re.DOTALL)
_READ_SIZE: Final = 1024


def keys(text: str) -> list[str]:
    """The keys behind what a terminal sent: printable characters, and the names above.

    Unknown keys are left out.
    """
    found = (_SPECIAL.get(each, each) for each in _KEY.findall(text))
    return [key for key in found if key.isprintable()]


@contextmanager
def keyboard(fd: int, press: Callable[[str], None]) -> Iterator[Callable[[], None] | None]:
    """Call `press` with each key, while the loop runs. Yields what restores the terminal.

    Without a terminal, or in the background of a shell, no key is read and None is yielded.
    """
    if not terminal_settings.is_ours(fd):
        yield None
        return
    loop = asyncio.get_running_loop()
    restore = terminal_settings.kept_settings(fd)

    def read() -> None:
        try:
            data = os.read(fd, _READ_SIZE)
        except OSError:
            data = b""
        if not data:  # the terminal is gone
            loop.remove_reader(fd)
        for key in keys(data.decode(errors="ignore")):
            press(key)

    tty.setcbreak(fd)
    loop.add_reader(fd, read)
    try:
        yield restore
    finally:
        loop.remove_reader(fd)
        restore()
