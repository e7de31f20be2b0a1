"""Log formats: a constant message with key-value pairs, as text or as JSON."""

import json
import logging
from collections.abc import Iterator

import pytest

from tfjob.manager import logs

LOG = logging.getLogger("tfjob.test")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_console_shows_key_value_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(style="console", level="info")
    LOG.warning("reconcile failed", extra={"job": "j", "why": "two words", "count": 3})
    line = capsys.readouterr().err
    assert line.endswith('Z WARNING reconcile failed job=j why="two words" count=3\n')


def test_console_escapes_line_breaks_and_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.set_up(style="console", level="info")
    LOG.warning("reconcile failed", extra={"first": "x\n2026 ERROR forged", "job": "\x1b[2J"})
    line = capsys.readouterr().err
    assert line.endswith('first="x\\n2026 ERROR forged" job="\\u001b[2J"\n')


def test_json_is_one_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(style="json", level="info")
    LOG.info("leading", extra={"jobs": 2, "odd": {1, 2}})
    shown = json.loads(capsys.readouterr().err)
    assert (shown["level"], shown["msg"], shown["jobs"]) == ("info", "leading", 2)
    assert shown["logger"] == "tfjob.test"
    assert shown["ts"].endswith("Z")


@pytest.mark.parametrize("style", ["json", "console"])
def test_traceback_of_a_bug_is_logged(capsys: pytest.CaptureFixture[str], style: str) -> None:
    logs.set_up(style=style, level="info")
    try:
        print(1 / int("0"))
    except ZeroDivisionError:
        LOG.exception("reconcile failed")
    assert "ZeroDivisionError: division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("level", "shown"),
    [("debug", "DIWE"), ("info", "IWE"), ("warning", "WE"), ("error", "E")],
)
def test_level_decides_what_is_shown(
    capsys: pytest.CaptureFixture[str], level: str, shown: str
) -> None:
    logs.set_up(style="console", level=level)
    for letter, number in zip("DIWE", (10, 20, 30, 40), strict=True):
        LOG.log(number, letter)
    lines = capsys.readouterr().err.splitlines()
    assert "".join(line[-1] for line in lines) == shown
