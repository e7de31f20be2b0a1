"""Streams: no open sockets after cancellation."""

import asyncio
from pathlib import Path

import pytest

from tests.support.tls_server import open_sockets, serving
from tfjob.client.config import Config
from tfjob.client.request import ClientConfig, Request
from tfjob.client.streams import Streams


async def test_who_gives_up_while_connecting_leaves_no_socket_open(tmp_path: Path) -> None:
    request = Request(verb="watch", method="GET", path="/")
    async with serving(tmp_path, is_deaf=True) as (url, trusted):
        for turns in range(60):
            streams = Streams(Config(server=url, tls=trusted), ClientConfig())
            opening = asyncio.create_task(streams.open(request, None))
            for _ in range(turns):
                await asyncio.sleep(0)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            await streams.close()
            assert not open_sockets(url), f"given up after {turns} turns of the loop"
