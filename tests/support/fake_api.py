"""An API server with scripted responses, over a real connection on loopback.

A script is a function from a request to an answer. Answers can be whole, come in chunks, break off,
or wait for the test. The server knows HTTP and no Kubernetes.
"""

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec
from aiohttp import web


class Asked(msgspec.Struct, frozen=True):
    """One request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A response: chunks one by one, then the end, a broken connection, or nothing more."""

    status: int = 200
    chunks: Sequence[bytes] = ()
    headers: Mapping[str, str] = {}
    is_cut: bool = False
    hold_before: asyncio.Event | None = None
    hold_after: asyncio.Event | None = None


def whole(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A JSON answer in one piece."""
    return Answer(status=status, chunks=[json.dumps(value).encode()], headers=headers or {})


def text(body: str, *, status: int, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status=status, chunks=[body.encode()], headers=headers or {})


def refusal(
    code: int, reason: str, message: str = "no", *, details: object = None, **headers: str
) -> Answer:
    """A Kubernetes Status of a failure; `Retry_After="1"` becomes the header."""
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason}
    body = {**status, "message": message, "details": details}
    return whole(
        body, status=code, headers={name.replace("_", "-"): v for name, v in headers.items()}
    )


Script = Callable[[Asked], Answer]


class FakeApi:
    """Serves a script; `asked` lists every request in order."""

    def __init__(
        self, script: Script | Sequence[Answer], *, tls: ssl.SSLContext | None = None
    ) -> None:
        self._script = in_order(script) if isinstance(script, Sequence) else script
        self._tls = tls
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=5)
        self._ending = asyncio.Event()
        self.asked: list[Asked] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ending.set()
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = Asked(
            method=request.method,
            path=request.path,
            query=dict(request.query),
            headers=dict(request.headers),
            body=await request.read(),
        )
        self.asked.append(asked)
        return await _say(request, self._script(asked), ending=self._ending)


def in_order(answers: Sequence[Answer]) -> Script:
    """One answer after the other; a request too many gets a 418 that says so."""
    left = list(answers)

    def script(asked: Asked) -> Answer:
        if left:
            return left.pop(0)
        return text(f"no answer is left for {asked.method} {asked.path}", status=418)

    return script


async def _say(
    request: web.BaseRequest, answer: Answer, *, ending: asyncio.Event
) -> web.StreamResponse:
    await _hold(answer.hold_before, ending)
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.enable_chunked_encoding()
    await response.prepare(request)
    for chunk in answer.chunks:
        if chunk:
            await response.write(chunk)
    await _hold(answer.hold_after, ending)
    if not answer.is_cut and not ending.is_set():
        await response.write_eof()
    elif request.transport is not None:
        request.transport.close()
    return response


async def _hold(event: asyncio.Event | None, ending: asyncio.Event) -> None:
    """Wait for the test, but not longer than the server lives."""
    if event is None:
        return
    waits = [asyncio.create_task(waited.wait()) for waited in (event, ending)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
