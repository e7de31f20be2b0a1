"""A client of a local API server, for tests that go through the network."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.patience import PATIENCE
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api
from tfjob.local.node.client_api import ClientApi

Json = dict[str, Any]


class Cluster:
    """What a user of an API server sees and does."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.port = ClientApi(api, EventRecorder(api, component="test"))

    async def create(self, one: Json) -> Json:
        meta = {"name": one["metadata"]["name"]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": one["spec"]}
        for container in one["spec"]["containers"]:
            container.setdefault("image", "none")
        return await self.api.create("/api/v1/namespaces/default/pods", body, decode=dict[str, Any])

    async def get(self, path: str) -> Json:
        return await self.api.get(f"/api/v1/{path}", decode=dict[str, Any])

    async def phase(self, name: str) -> str:
        found = await self.get(f"namespaces/default/pods/{name}")
        return str(found["status"].get("phase"))

    async def until_phase(self, name: str, phase: str) -> None:
        async def is_so() -> bool:
            return await self.phase(name) == phase

        await self.until(f"{name} is {phase}", is_so)

    async def until(self, what: str, is_so: Callable[[], Awaitable[bool]]) -> None:
        """Poll until a condition is true; fail if it never is."""
        deadline = time.monotonic() + PATIENCE
        while not await is_so():
            assert time.monotonic() < deadline, f"never came true: {what}"
            await asyncio.sleep(0.01)
