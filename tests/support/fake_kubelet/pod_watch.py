"""The pods of one namespace as last seen, kept up to date by a watch.

It lists again whenever a watch ends. A wait that fails shows the pods as they are.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from tests.support.controlplane.api import Api
from tests.support.fake_kubelet.pod_status import Pod

_PAUSE_SECONDS = 0.1


class PodWatch:
    """Pods by name; calls a listener for each new or changed pod."""

    def __init__(self, api: Api, *, path: str, on_change: Callable[[Pod], None]) -> None:
        self._api = api
        self._path = path
        self._on_change = on_change
        self._changed = asyncio.Condition()
        self._is_filled = False
        self.pods: dict[str, Pod] = {}

    async def run(self) -> None:
        """List and watch for ever; end it by cancellation."""
        while True:
            try:
                await self._follow(await self._list())
            except (aiohttp.ClientError, TimeoutError):
                # The server is away; the next list waits for it.
                await asyncio.sleep(_PAUSE_SECONDS)

    async def until(
        self, what: str, is_so: Callable[[Mapping[str, Pod]], bool], *, seconds: float
    ) -> None:
        """Wait until the pods satisfy a condition; a failure shows the pods."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self._is_filled and is_so(self.pods))
        except TimeoutError as late:
            raise AssertionError(
                f"not so after {seconds} s: {what}; pods: {self._picture()}"
            ) from late

    async def _list(self) -> str:
        answer = await self._api.call("GET", self._path)
        pods = {item["metadata"]["name"]: item for item in answer["items"]}
        async with self._changed:
            self.pods = pods
            self._is_filled = True
            self._changed.notify_all()
        for pod in pods.values():
            self._on_change(pod)
        version: str = answer["metadata"]["resourceVersion"]
        return version

    async def _follow(self, resource_version: str) -> None:
        async for event in self._api.watch(self._path, resource_version):
            await self._take(event["type"], event["object"])

    async def _take(self, kind: str, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        async with self._changed:
            if kind == "DELETED":
                self.pods.pop(name, None)
            else:
                self.pods[name] = pod
            self._changed.notify_all()
        if kind != "DELETED":
            self._on_change(pod)

    def _picture(self) -> str:
        lines = (f"{name} is {_look(pod)}" for name, pod in sorted(self.pods.items()))
        return "; ".join(lines) or "none"


def _look(pod: Pod) -> str:
    leaving = ", being deleted" if "deletionTimestamp" in pod["metadata"] else ""
    return f"{pod['status'].get('phase', 'without phase')}{leaving}"
