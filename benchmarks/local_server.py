"""The local API server in its own process, so that it can be measured from outside.

It is the server of `tfjob local up`, with TLS, and nothing else runs in its process, which is
started by `python -m benchmarks.local_server DATA`.
"""

import asyncio
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tfjob.local.apiserver.server import ApiServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp


class LocalServer:
    """A context manager: the server is ready inside, and stopped afterwards."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.start_seconds = 0.0

    def __enter__(self) -> "LocalServer":
        began = time.monotonic()
        words = [sys.executable, "-m", "benchmarks.local_server", str(self._data)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self.start_seconds = time.monotonic() - began
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    @asynccontextmanager
    async def client(self) -> "AsyncIterator[aiohttp.ClientSession]":
        """A client without a connection limit."""
        # Imported here so that the startup figure of the server does not include it.
        import aiohttp  # noqa: PLC0415

        from tests.support.local_apiserver.process import endpoint_of  # noqa: PLC0415

        endpoint = endpoint_of(self._data / "kubeconfig")
        connector = aiohttp.TCPConnector(limit=0, ssl=endpoint.ssl_context() or True)
        async with aiohttp.ClientSession(
            endpoint.server, headers=endpoint.headers(), connector=connector
        ) as session:
            yield session


async def serve(data: Path) -> None:
    """Serve until SIGTERM; prints `ready` when it listens."""
    options = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, options.set)
    async with ApiServer(data):
        print("ready", flush=True)
        await options.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
