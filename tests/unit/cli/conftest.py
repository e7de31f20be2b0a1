"""Commands in the test's process, and a job to follow there."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.support.tfjobs import tfjob
from tests.unit.cli.followed_job import Play
from tfjob.cli.main import main
from tfjob.sdk.connection import Cluster


class Done(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command: arguments in; exit code, stdout and stderr out."""

    def run(*words: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
async def play(cluster: Cluster) -> Play:
    """A job of two workers."""
    return await Play.of(cluster, tfjob("W2"))
