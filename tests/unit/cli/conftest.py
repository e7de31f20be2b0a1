"""Runs commands in the test's process: arguments in; exit code, stdout and stderr out."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tfjob.cli.main import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run
