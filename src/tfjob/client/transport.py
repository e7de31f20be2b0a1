"""One exchange with an API server: credentials, the shortest way there, and when to send again.

A request is sent again only when the server asked for it (429, or 503 with Retry-After) and only
when that cannot do a thing twice, or when the server did not accept credentials that have changed
since. Each attempt first asks the request whether it may still be sent. Every failure leaves as an
ApiError. It knows methods and paths, not objects.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVar

from tfjob.client import errors
from tfjob.client.backoff import exponential, lengthened
from tfjob.client.config import Config
from tfjob.client.connection import Answer
from tfjob.client.credentials import ConfigError
from tfjob.client.http_request import RequestEncoder
from tfjob.client.pool import Pool, address_of
from tfjob.client.request import (
    NETWORK_FAULTS,
    ClientConfig,
    Request,
    failure,
    own_headers,
    resource_in,
)
from tfjob.client.streams import Begun, Stream, Streams
from tfjob.client.throttle import TokenBucket
from tfjob.client.timing import REAL, Timing

RequestHook = Callable[[str, str, int, float], None]
"""Told of each exchange: verb, resource, HTTP status (0 without an answer), seconds."""

_HARMLESS: Final = frozenset({"GET", "PUT", "DELETE"})
"""Methods that may arrive twice: what they do the second time they did the first time."""


class _Answered(Protocol):
    """What was said to a request; the body is there at the latest when it was refused."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def retry_after(self) -> str | None: ...


A = TypeVar("A", bound=_Answered)


class Transport:
    """Sends requests to one server.

    Whole exchanges, of which there are thousands, take the short way over connections of our own;
    streams and servers behind a proxy, of which there are few, are left to a library.
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
        self._messages = RequestEncoder(
            config.server, (*config.headers, *own_headers(tuning).items())
        )
        self._pool = Pool(
            address_of(config.server, tls=config.tls, server_hostname=config.server_hostname),
            limit=tuning.connections,
            connect_timeout=tuning.connect_timeout,
        )

    async def close(self) -> None:
        """End all connections; open streams break."""
        await self._pool.close()
        await self._streams.close()

    async def send(self, request: Request) -> bytes:
        """The body of a successful answer."""
        return (await self._accepted(request, self._whole)).body

    @asynccontextmanager
    async def open(self, request: Request, *, idle: float | None) -> AsyncIterator[Stream]:
        """A successful answer whose body is read as it comes."""

        async def begin(request: Request, authorization: str | None) -> Begun:
            async with asyncio.timeout(idle):
                return await self._begun(request, authorization)

        response = (await self._accepted(request, begin)).response
        try:
            yield Stream(response, idle=idle, title=request.title)
        finally:
            response.close()

    async def _accepted(
        self, request: Request, exchange: Callable[[Request, str | None], Awaitable[A]]
    ) -> A:
        """A successful answer, after as many sends as it took."""
        attempt = 0
        while True:
            authorization = await self._authorization(request)
            if self._throttle is not None:
                await self._throttle.take()
            request.check()
            try:
                answer = await self._told(request, exchange(request, authorization))
            except NETWORK_FAULTS as fault:
                raise failure(fault, request.title) from fault
            if answer.status < 300:
                return answer
            error = errors.from_answer(
                answer.status,
                answer.body,
                request=request.title,
                retry_after=answer.retry_after,
            )
            await self._before_resend(request, error, authorization, attempt=attempt)
            attempt += 1

    async def _told(self, request: Request, exchange: Awaitable[A]) -> A:
        started = self._timing.clock()
        status = 0
        try:
            answer = await exchange
            status = answer.status
        finally:
            if self._on_request is not None:
                seconds = self._timing.clock() - started
                self._on_request(request.verb, resource_in(request.path), status, seconds)
        return answer

    async def _begun(self, request: Request, authorization: str | None) -> Begun:
        return await self._streams.begin(request, authorization)

    async def _whole(self, request: Request, authorization: str | None) -> Answer:
        if self._config.proxy is not None:
            return await self._streams.whole(request, authorization)
        try:
            message = self._messages.encode(
                request.method,
                f"{request.path}{request.query}",
                authorization=authorization,
                content_type=request.content_type,
                body=request.body,
            )
        except ConfigError as fault:
            raise errors.Unauthorized(str(fault), request=request.title) from fault
        async with asyncio.timeout(self._tuning.timeout):
            return await self._pool.exchange(
                message, is_harmless=request.method in _HARMLESS, check=request.check
            )

    async def _authorization(self, request: Request) -> str | None:
        try:
            return await self._config.credentials.header()
        except ConfigError as fault:
            raise errors.Unauthorized(str(fault), request=request.title) from fault

    async def _before_resend(
        self, request: Request, error: errors.ApiError, refused: str | None, *, attempt: int
    ) -> None:
        """Wait as the server asked; raise when sending again would be wrong or too much."""
        if isinstance(error, errors.Unauthorized):
            if attempt > 1 or not self._config.credentials.renew(refused):
                raise error
            return
        wait = self._wait(request, error, attempt=attempt)
        if wait is None or wait > self._tuning.longest_wait or attempt + 1 >= self._tuning.tries:
            raise error
        await self._timing.sleep(lengthened(wait, self._timing.chance))

    def _wait(self, request: Request, error: errors.ApiError, *, attempt: int) -> float | None:
        asked = float(error.details.retry_after_seconds)
        if isinstance(error, errors.TooManyRequests):
            return asked or exponential(attempt, first=0.5, longest=self._tuning.longest_wait)
        if error.status == 503 and asked and request.is_repeatable:
            return asked
        return None
