import asyncio
import os
import pty
import termios

import pytest

from tests.support.patience import PATIENCE
from tfjob.cli import keyboard, terminal_settings
from tfjob.cli.keyboard import BACKSPACE, DOWN, ENTER, ESCAPE, UP, keys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a /", ["a", " ", "/"]),
        ("\x1b[A\x1b[B", [UP, DOWN]),
        ("\x1bOA", [UP]),
        ("\x1b", [ESCAPE]),
        ("x\r\n\x7f\x08", ["x", ENTER, ENTER, BACKSPACE, BACKSPACE]),
        ("\x1b[3~\x1b[1;5Ca", ["a"]),
        ("\x00\x01é", ["é"]),
    ],
)
def test_input_of_a_terminal_is_decoded_into_keys(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


def test_without_a_terminal_no_key_is_read() -> None:
    reader, writer = os.pipe()
    try:
        with keyboard.keyboard(reader, lambda _: None) as restore:
            assert restore is None
    finally:
        os.close(reader)
        os.close(writer)


async def test_keys_are_read_at_once_and_the_terminal_is_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller, terminal = pty.openpty()
    monkeypatch.setattr(terminal_settings, "is_ours", lambda _: True)  # it controls no session here
    pressed: asyncio.Queue[str] = asyncio.Queue()
    before = termios.tcgetattr(terminal)
    try:
        with keyboard.keyboard(terminal, pressed.put_nowait):
            os.write(controller, b"a\x1b[A")
            async with asyncio.timeout(PATIENCE):
                found = [await pressed.get(), await pressed.get()]
            assert not termios.tcgetattr(terminal)[3] & termios.ECHO
        assert found == ["a", UP]
        assert termios.tcgetattr(terminal) == before
    finally:
        os.close(controller)
        os.close(terminal)
