"""Sends requests to an API server, with credentials, throttling and retries.

A request is retried only if the server asks for it (429, or 503 with Retry-After) and executing it
twice is harmless, or if the server refused credentials that have changed since. The guard of a
request is checked before each attempt. Every failure is raised as an ApiError.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVar

from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.connection import Response
from tfjob.client.credentials import ConfigError
from tfjob.client.flowcontrol import TokenBucket, exponential_delay, with_jitter
from tfjob.client.pool import Pool, address_of
from tfjob.client.request import (
    NETWORK_ERRORS,
    ClientConfig,
    Request,
    RequestEncoder,
    default_headers,
    network_error,
    resource_in,
)
from tfjob.client.streams import Stream, StreamResponse, Streams
from tfjob.client.timing import REAL, Timing

RequestHook = Callable[[str, str, int, float], None]
"""Called after each attempt with verb, resource, HTTP status (0 without response), seconds."""

_IDEMPOTENT: Final = frozenset({"GET", "PUT", "DELETE"})
"""Methods that may be sent twice without changing the result."""


class _HasStatus(Protocol):
    """A response; its body is complete at least if the request was refused."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def retry_after(self) -> str | None: ...


A = TypeVar("A", bound=_HasStatus)


class Transport:
    """Sends requests to one server.

    Ordinary requests use the connection pool of this package, which is faster; streams, and
    servers behind a proxy, use aiohttp.
    """

    def __init__(
        self,
        config: Config,
        *,
        tuning: ClientConfig,
        throttle: TokenBucket | None = None,
        on_request: RequestHook | None = None,
        timing: Timing = REAL,
    ) -> None:
        self._config = config
        self._tuning = tuning
        self._throttle = throttle
        self._on_request = on_request
        self._timing = timing
        self._streams = Streams(config, tuning)
        self._encoder = RequestEncoder(
            config.server, (*config.headers, *default_headers(tuning).items())
        )
        self._pool = Pool(
            address_of(config.server, tls=config.tls, server_hostname=config.server_hostname),
            limit=tuning.connections,
            connect_timeout=tuning.connect_timeout,
        )

    async def close(self) -> None:
        """Close all connections, including open streams."""
        await self._pool.close()
        await self._streams.close()

    async def send(self, request: Request) -> bytes:
        """Send a request and return the body of the successful response."""
        return (await self._send_until_accepted(request, self._send_request)).body

    @asynccontextmanager
    async def open(self, request: Request, *, idle: float | None) -> AsyncIterator[Stream]:
        """Open a stream on the body of a successful response."""

        async def open_stream(request: Request, authorization: str | None) -> StreamResponse:
            async with asyncio.timeout(idle):
                return await self._open_stream(request, authorization)

        response = (await self._send_until_accepted(request, open_stream)).response
        try:
            yield Stream(response, idle=idle, title=request.title)
        finally:
            response.close()

    async def _send_until_accepted(
        self, request: Request, exchange: Callable[[Request, str | None], Awaitable[A]]
    ) -> A:
        """Send a request, with retries, until it succeeds; raises the last error."""
        attempt = 0
        while True:
            authorization = await self._authorization(request)
            if self._throttle is not None:
                await self._throttle.take()
            request.check()
            try:
                response = await self._observed(request, exchange(request, authorization))
            except NETWORK_ERRORS as fault:
                raise network_error(fault, request.title) from fault
            if response.status < 300:
                return response
            error = errors.from_response(
                response.status,
                response.body,
                request=request.title,
                retry_after=response.retry_after,
            )
            await self._prepare_retry(request, error, authorization, attempt=attempt)
            attempt += 1

    async def _observed(self, request: Request, exchange: Awaitable[A]) -> A:
        started = self._timing.clock()
        status = 0
        try:
            response = await exchange
            status = response.status
        finally:
            if self._on_request is not None:
                seconds = self._timing.clock() - started
                self._on_request(request.verb, resource_in(request.path), status, seconds)
        return response

    async def _open_stream(self, request: Request, authorization: str | None) -> StreamResponse:
        return await self._streams.open(request, authorization)

    async def _send_request(self, request: Request, authorization: str | None) -> Response:
        if self._config.proxy is not None:
            return await self._streams.send(request, authorization)
        try:
            message = self._encoder.encode(
                request.method,
                f"{request.path}{request.query}",
                authorization=authorization,
                content_type=request.content_type,
                body=request.body,
            )
        except ConfigError as fault:
            raise errors.Unauthorized(str(fault), request=request.title) from fault
        return await self._pool.exchange(
            message,
            is_idempotent=request.method in _IDEMPOTENT,
            check=request.check,
            timeout=self._tuning.timeout if request.timeout is None else request.timeout,
            max_bytes=request.max_bytes,
        )

    async def _authorization(self, request: Request) -> str | None:
        try:
            return await self._config.credentials.header()
        except ConfigError as fault:
            raise errors.Unauthorized(str(fault), request=request.title) from fault

    async def _prepare_retry(
        self, request: Request, error: errors.ApiError, refused: str | None, *, attempt: int
    ) -> None:
        """Wait before a retry, or raise the error if the request must not be retried."""
        if isinstance(error, errors.Unauthorized):
            if attempt > 1 or not self._config.credentials.renew(refused):
                raise error
            return
        wait = self._retry_delay(request, error, attempt=attempt)
        attempts = request.max_attempts or self._tuning.max_attempts
        if wait is None or wait > self._tuning.max_wait or attempt + 1 >= attempts:
            raise error
        await self._timing.sleep(with_jitter(wait, self._timing.chance))

    def _retry_delay(
        self, request: Request, error: errors.ApiError, *, attempt: int
    ) -> float | None:
        asked = float(error.details.retry_after_seconds)
        if isinstance(error, errors.TooManyRequests):
            return asked or exponential_delay(attempt, initial=0.5, maximum=self._tuning.max_wait)
        if error.status == 503 and asked and request.is_repeatable:
            return asked
        return None
