"""The API server as the one who measures speaks to it: many writes at a time, and its own counts.

Law: the same few requests for every contestant, at most so many at once. Requests are counted by
the server itself, by verb and resource; nothing is asked of an operator.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from typing import Any, Self

import aiohttp
import msgspec

from tests.support.controlplane.endpoint import MERGE_PATCH, Endpoint

AT_ONCE = 64
"""Writes of the harness at one time."""
_BUSY_SECONDS = 0.2
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_COUNTER = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
_OPERATORS = {"pods", "services", "tfjobs", "tfjobs/status", "events"}
"""What operators write. The scheduler tells its events in another API group."""


class Server:
    """One API server, spoken to over one pool of connections."""

    def __init__(self, session: aiohttp.ClientSession, endpoint: Endpoint) -> None:
        self._session = session
        self._endpoint = endpoint
        self._tls = endpoint.ssl_context() or True
        self._turns = asyncio.Semaphore(AT_ONCE)

    @classmethod
    def connect(cls, endpoint: Endpoint) -> Self:
        pool = aiohttp.TCPConnector(limit=AT_ONCE + 16)
        return cls(aiohttp.ClientSession(connector=pool), endpoint)

    async def close(self) -> None:
        await self._session.close()

    async def create(self, path: str, body: object) -> dict[str, Any]:
        async with self._turns:
            return await self._send("POST", path, body)

    async def create_all(self, objects: Iterable[tuple[str, object]]) -> list[dict[str, Any]]:
        """Each object at its path, so many at a time; in the order in which they were given."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.create(path, body)) for path, body in objects]
        return [task.result() for task in tasks]

    async def patch(self, path: str, body: object) -> dict[str, Any]:
        async with self._turns:
            return await self._send("PATCH", path, body, content_type=MERGE_PATCH)

    async def delete(self, path: str, body: object = None) -> None:
        await self._send("DELETE", path, body)

    async def get(self, path: str) -> dict[str, Any]:
        return await self._send("GET", path)

    async def watch(self, path: str, *, version: str, accept: str) -> AsyncGenerator[bytes]:
        """The lines of a watch, none where the server is too busy to begin one.

        From version 0 on it begins with what there is.
        """
        url = f"{self._endpoint.server}{path}?watch=true&resourceVersion={version}"
        headers = {**self._endpoint.headers(), "Accept": accept}
        limits = aiohttp.ClientTimeout(total=None)
        async with self._session.get(url, ssl=self._tls, headers=headers, timeout=limits) as answer:
            if answer.status == 429:
                await asyncio.sleep(_BUSY_SECONDS)
                return
            answer.raise_for_status()
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line

    async def requests(self) -> dict[str, int]:
        """How often each thing that an operator asks for was asked for, by verb and resource."""
        found: dict[str, int] = {}
        for labels, count in await self._counters():
            name = _request(labels)
            if name is not None:
                found[name] = found.get(name, 0) + count
        return found

    async def refused_creates(self) -> int:
        """How many creates of pods were forbidden, as a quota does."""
        return sum(
            count
            for labels, count in await self._counters()
            if _request(labels) == "create pods" and labels.get("code") == "403"
        )

    async def _counters(self) -> list[tuple[dict[str, str], int]]:
        url = f"{self._endpoint.server}/metrics"
        async with self._session.get(
            url, ssl=self._tls, headers=self._endpoint.headers()
        ) as answer:
            text = await answer.text()
        return [
            (dict(_LABEL.findall(match["labels"])), int(float(match["value"])))
            for match in _COUNTER.finditer(text)
        ]

    async def _send(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        data = None if body is None else msgspec.json.encode(body)
        async with self._session.request(
            method,
            f"{self._endpoint.server}{path}",
            data=data,
            ssl=self._tls,
            headers=self._endpoint.headers(content_type),
        ) as answer:
            content = await answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status}: {content[:500]!r}")
        found: dict[str, Any] = msgspec.json.decode(content)
        return found


def _request(labels: dict[str, str]) -> str | None:
    """`create pods` and the like; None for what is no operator's."""
    below = labels.get("subresource", "")
    thing = f"{labels.get('resource', '')}/{below}".rstrip("/")
    verb = _WRITES.get(labels.get("verb", ""))
    if verb is None or thing not in _OPERATORS or labels.get("group") == "events.k8s.io":
        return None
    return f"{verb} {thing}"


def difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What was asked for in between."""
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in sorted(grown.items()) if count}
