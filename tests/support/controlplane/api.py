"""A plain async client of an API server, for the fake kubelet and for tests.

It uses nothing that is under test, and retries while the server is down.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.support.controlplane.endpoint import MERGE_PATCH, ApiError, Endpoint

_CALL_SECONDS = 60
_PAUSE_SECONDS = 0.25
ATTEMPTS = 400
"""Attempts while the server is away or busy, a quarter of a second apart."""


class Api:
    """Calls and watches; use as an async context manager."""

    def __init__(self, endpoint: Endpoint, *, attempts: int = ATTEMPTS) -> None:
        self._endpoint = endpoint
        self._attempts = attempts

    async def __aenter__(self) -> Self:
        context = self._endpoint.ssl_context()
        self._session = aiohttp.ClientSession(
            base_url=self._endpoint.server,
            headers={"Authorization": f"Bearer {self._endpoint.token}"},
            connector=aiohttp.TCPConnector(ssl=True if context is None else context),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """One request, again while the server is away or busy; raises ApiError on a refusal.

        A request that was carried out and whose answer was lost is sent again. An object that
        exists then is the one that was asked for; callers must expect Conflict and NotFound.
        """
        for attempt in range(self._attempts):
            try:
                return await self._call_once(method, path, body)
            except (
                aiohttp.ClientConnectionError,
                aiohttp.ClientPayloadError,
                TimeoutError,
            ) as away:
                fault: Exception = away
            except ApiError as refusal:
                name = (body or {}).get("metadata", {}).get("name")
                if attempt and name and method == "POST" and refusal.reason == "AlreadyExists":
                    return await self.call("GET", f"{path}/{name}")
                if refusal.status < 500 and refusal.status != 429 and not is_starting(refusal):
                    raise
                fault = refusal
            await asyncio.sleep(_PAUSE_SECONDS)
        raise TimeoutError(f"{method} {path}: no answer in {self._attempts} attempts") from fault

    async def watch(self, path: str, resource_version: str) -> AsyncGenerator[dict[str, Any], None]:
        """Events after a resourceVersion, until the server ends the stream or has forgotten it."""
        query = f"{path}?watch=true&resourceVersion={resource_version}&timeoutSeconds=300"
        patience = aiohttp.ClientTimeout(total=None, sock_connect=_CALL_SECONDS)
        async with self._session.get(query, timeout=patience) as response:
            if response.status != 200:
                return
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    yield event

    async def _call_once(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        async with self._session.request(
            method,
            path,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type},
            timeout=aiohttp.ClientTimeout(total=_CALL_SECONDS),
        ) as response:
            content = await response.read()
        if response.status >= 300:
            raise ApiError(f"{method} {path}", status=response.status, body=content)
        answer: dict[str, Any] = json.loads(content)
        return answer


def is_starting(refusal: ApiError) -> bool:
    """The admission of an API server that has just started answers 403 until it has synced."""
    return refusal.status == 403 and "not yet ready to handle request" in str(refusal)
