"""A node as a separate process that a test can kill; arguments: URL, token, folder."""

import asyncio
import sys
from pathlib import Path

from tests.unit.local.node.whole_node import settings
from tfjob.client.config import Config
from tfjob.client.credentials import StaticHeader
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.client_api import ClientApi
from tfjob.local.node.port_allocator import PortLocks


async def main(url: str, token: str, folder: str) -> None:
    config = Config(server=url, credentials=StaticHeader(f"Bearer {token}"))
    async with Api(config) as api:
        port = ClientApi(api, EventRecorder(api, component="node"))
        root = Path(folder)
        await NodeAgent(port, settings(root), locks=PortLocks(root / "locks")).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
