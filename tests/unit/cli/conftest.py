"""Runs commands in the test's process, an API server for them, and a job to follow there."""

import io
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer, api_server_in_thread
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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedApiServer]:
    """An API server for all tests of a module, which may override it to put jobs into it."""
    with api_server_in_thread(tmp_path_factory.mktemp("cluster") / "data") as found:
        yield found


@pytest.fixture
async def play(bare_cluster: Cluster) -> Play:
    """A job of two workers."""
    return await Play.of(bare_cluster, tfjob("W2"))
