"""The benchmark's own client for the API server, and the server's request counts.

It sends the same requests for every contestant, with limited concurrency. Requests are counted by
the server's metrics, by verb and resource; operators are not instrumented.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from typing import Any, Self

import aiohttp
import msgspec

from tests.support.controlplane.endpoint import MERGE_PATCH, Endpoint

MAX_CONCURRENT = 64
"""Concurrent writes of the benchmark."""
_BUSY_SECONDS = 0.2
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_COUNTER = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_VERBS = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "GET": "get",
    "LIST": "list",
}
_OPERATORS = {"pods", "services", "tfjobs", "tfjobs/status", "events"}
"""What operators write. The scheduler writes its events in another API group."""


class Server:
    """A client for one API server."""

    def __init__(self, session: aiohttp.ClientSession, endpoint: Endpoint) -> None:
        self._session = session
        self._endpoint = endpoint
        self._tls = endpoint.ssl_context() or True
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    @classmethod
    def connect(cls, endpoint: Endpoint) -> Self:
        pool = aiohttp.TCPConnector(limit=MAX_CONCURRENT + 16)
        return cls(aiohttp.ClientSession(connector=pool), endpoint)

    async def close(self) -> None:
        await self._session.close()

    async def create(self, path: str, body: object) -> dict[str, Any]:
        async with self._slots:
            return await self._send("POST", path, body)

    async def create_all(self, objects: Iterable[tuple[str, object]]) -> list[dict[str, Any]]:
        """Create objects concurrently; the results are in the order of the objects."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.create(path, body)) for path, body in objects]
        return [task.result() for task in tasks]

    async def update(self, path: str, body: object) -> dict[str, Any]:
        async with self._slots:
            return await self._send("PUT", path, body)

    async def patch(self, path: str, body: object) -> dict[str, Any]:
        async with self._slots:
            return await self._send("PATCH", path, body, content_type=MERGE_PATCH)

    async def delete(self, path: str, body: object = None) -> None:
        await self._send("DELETE", path, body)

    async def get(self, path: str) -> dict[str, Any]:
        return await self._send("GET", path)

    async def watch(self, path: str, *, version: str, accept: str) -> AsyncGenerator[bytes]:
        """The lines of a watch; none if the server is too busy.

        A watch from version 0 starts with the existing objects.
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
        """The server's counts of operator requests, by verb and resource."""
        found: dict[str, int] = {}
        for labels, count in await self._counters():
            name = _request(labels)
            if name is not None:
                found[name] = found.get(name, 0) + count
        return found

    async def refused_creates(self) -> int:
        """The number of pod creates that were forbidden, for example by a quota."""
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
    """A name such as `create pods`; None for requests that operators do not send."""
    below = labels.get("subresource", "")
    thing = f"{labels.get('resource', '')}/{below}".rstrip("/")
    verb = _VERBS.get(labels.get("verb", ""))
    if verb is None or thing not in _OPERATORS or labels.get("group") == "events.k8s.io":
        return None
    return f"{verb} {thing}"


def difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """The requests between two counts."""
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in sorted(grown.items()) if count}
