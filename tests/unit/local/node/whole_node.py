"""A node with an API server in memory, for tests of whole pods."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.unit.local.node.fake_api import FakeApi, until
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.machine import NodeSettings, base_environment
from tfjob.local.node.port_allocator import PortLocks
from tfjob.local.node.restart_policy import Backoff

EAGER = Backoff(base=0.01, limit=0.05, reset_after=600)


def settings(folder: Path, **changes: Any) -> NodeSettings:
    defaults: dict[str, Any] = {
        "data": folder / "data",
        "workdir": folder,
        "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "50"},
        "environ": base_environment(os.environ, python_folder=str(Path(sys.executable).parent)),
        "backoff": EAGER,
        "retry_seconds": 0.01,
        "memory_interval": 0.02,
    }
    return NodeSettings(**{**defaults, **changes})


@asynccontextmanager
async def node(api: FakeApi, folder: Path, **changes: Any) -> AsyncIterator[NodeAgent]:
    agent = NodeAgent(
        api, settings(folder, **changes), locks=PortLocks(folder / f"locks-{id(api)}")
    )
    task = asyncio.create_task(agent.run())
    try:
        yield agent
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await agent.stop()


async def finished(api: FakeApi, name: str = "p") -> str:
    await until(lambda: api.phase(name) in ("Succeeded", "Failed"), f"{name} to finish")
    return api.phase(name)


async def gone(api: FakeApi, name: str) -> None:
    await until(lambda: api.phase(name) == "gone", f"{name} to be gone")


def log_of(folder: Path, one: dict[str, Any], *, run: int = 0, container: str = "c0") -> str:
    base = folder / "data" / "pods" / one["metadata"]["uid"] / "containers" / container
    path = base / f"{run}.log"
    lines = path.read_text().splitlines() if path.exists() else []
    return "\n".join(line.split(" ", 3)[3] for line in lines)


def text_in(path: Path) -> str:
    return path.read_text() if path.exists() else ""
