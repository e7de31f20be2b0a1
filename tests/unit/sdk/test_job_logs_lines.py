from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.local_apiserver.serving import api_server_in_loop
from tfjob.client.errors import NotFound
from tfjob.k8s.pod import Pod
from tfjob.sdk.job_logs import log_lines

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "tensorflow", "image": "x"}]},
}


class Pieces:
    """A log that arrives cut in the middle of a line and of a letter."""

    async def read(self, pod: object, options: object) -> AsyncIterator[bytes]:  # noqa: ARG002 - as asked
        text = "first\n\nsecönd\nbad \udcff byte\nunfinished".encode(errors="surrogateescape")
        for at in range(0, len(text), 3):
            yield text[at : at + 3]


async def test_lines_are_whole_however_they_arrive(tmp_path: Path) -> None:
    async with api_server_in_loop(tmp_path, logs=Pieces()) as cluster:
        pods = "/api/v1/namespaces/default/pods"
        pod = await cluster.api.create(pods, POD, decode=Pod)
        lines = [line async for line in log_lines(cluster.api, pod, {})]
    assert lines == ["first", "", "secönd", "bad \N{REPLACEMENT CHARACTER} byte", "unfinished"]


async def test_a_pod_that_is_gone_has_no_log(tmp_path: Path) -> None:
    async with api_server_in_loop(tmp_path) as cluster:
        gone = msgspec.convert(POD, type=Pod)
        with pytest.raises(NotFound):
            assert [line async for line in log_lines(cluster.api, gone, {})]


class Bar:
    """A progress bar that overwrites one line before it ends it."""

    async def read(self, pod: object, options: object) -> AsyncIterator[bytes]:  # noqa: ARG002 - protocol
        for part in (b"start\n", b"1/2\r", b"2/2\r", b"\n"):
            yield part


async def test_an_overwritten_line_is_reported_before_it_ends(tmp_path: Path) -> None:
    progress: list[str] = []
    async with api_server_in_loop(tmp_path, logs=Bar()) as cluster:
        pods = "/api/v1/namespaces/default/pods"
        pod = await cluster.api.create(pods, POD, decode=Pod)
        lines = log_lines(cluster.api, pod, {}, on_progress=progress.append)
        assert [line async for line in lines] == ["start", "1/2\r2/2\r"]
    assert all(each.startswith("1/2\r") for each in progress)
