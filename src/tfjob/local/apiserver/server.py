"""The HTTP server: loopback only, one token, one data folder.

What was acknowledged is on disk, and a kill at any moment does not lose it. The server can be
started again on the same folder.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tfjob.local import data_folder
from tfjob.local.apiserver import auth, bootstrap, credentials, status
from tfjob.local.apiserver.backend import Backend, Clock, PodLogs, PodMetrics, system_clock
from tfjob.local.apiserver.deployment_controller import DeploymentController
from tfjob.local.apiserver.garbage_collector import GarbageCollector
from tfjob.local.apiserver.job_controller import JobController
from tfjob.local.apiserver.replicaset_controller import ReplicaSetController
from tfjob.local.apiserver.request import Answer, Stream
from tfjob.local.apiserver.router import HttpRequest, answer, refused
from tfjob.local.apiserver.store import KEPT_REVISIONS, Store

Json = dict[str, Any]
_log = logging.getLogger(__name__)
BODY_LIMIT = 3 * 1024 * 1024
HOST = "127.0.0.1"
_SHUTDOWN_SECONDS = 2.0
_PIECE = 256 * 1024


class ApiServer:
    """A Kubernetes API server on this machine.

    `port` 0 means the port of the last start if it is free, else any free one. `tls` off is for
    clients in the same program: kubectl sends its token over TLS only. With `has_node`, as
    part of a whole cluster, pods get the volume of their token, and a namespace is created with the
    first object that a person submits to it. `on_write_health` is called with a reason when writes
    to the disk begin to fail, and with "" when they work again.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        clock: Clock = system_clock,
        logs: PodLogs | None = None,
        tls: bool = True,
        kept_revisions: int = KEPT_REVISIONS,
    ) -> None:
        self._dir = Path(data_dir)
        self._asked_port = port
        self._clock = clock
        self._logs = logs
        self._tls = tls
        self._kept = kept_revisions
        self.has_node = False
        self.metrics: PodMetrics | None = None
        self.on_write_health: Callable[[str], None] = lambda _fault: None
        self._tasks: list[asyncio.Task[None]] = []
        self._runner: web.AppRunner | None = None
        self._backend: Backend | None = None
        self.port = 0
        self.token = ""

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{HOST}:{self.port}"

    @property
    def kubeconfig_path(self) -> Path:
        return self._dir / "kubeconfig"

    @property
    def certificate_path(self) -> Path:
        """The certificate that clients trust."""
        return self._dir / "apiserver.crt"

    @property
    def backend(self) -> Backend:
        if self._backend is None:
            raise RuntimeError("the API server is not started: call start() first")
        return self._backend

    async def start(self) -> None:
        """Open the data folder and listen."""
        data_folder.prepare(self._dir)
        store = Store(
            self._dir / "objects.sqlite",
            kept_revisions=self._kept,
            on_write_health=self.on_write_health,
        )
        try:
            self.token = credentials.load_token(self._dir / "token")
            self._backend = Backend(store, clock=self._clock, logs=self._logs, metrics=self.metrics)
            self._backend.provisions_namespaces = self.has_node
            self._backend.mounts_tokens = self.has_node
            bootstrap.ensure(self._backend)
            await self._listen()
        except BaseException:
            if self._runner is not None:
                await self._runner.cleanup()
            store.close()
            self._backend = None
            raise
        self._spawn(GarbageCollector(self._backend).run(), "garbage collector")
        for controller in (JobController, ReplicaSetController, DeploymentController):
            work = controller(self._backend)
            self._spawn(work.run(), f"{work.kind} controller")
        credentials.write_kubeconfig(
            self.kubeconfig_path, url=self.url, token=self.token, ca=self._ca()
        )

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_report_death)
        self._tasks.append(task)

    async def stop(self) -> None:
        """End watches, stop listening and close the data folder."""
        if self._backend is None:
            return
        self._backend.is_closing = True
        self._backend.watches.wake_all()
        for task in self._tasks:
            task.cancel()
        # Errors of tasks were logged when they ended.
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        if self._runner is not None:
            await self._runner.cleanup()
        self._backend.store.close()
        self._backend = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def _ca(self) -> bytes | None:
        return self.certificate_path.read_bytes() if self._tls else None

    async def _listen(self) -> None:
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS, handle_signals=False
        )
        await self._runner.setup()
        context = self._tls_context()
        port = self._asked_port or credentials.last_port(self.kubeconfig_path)
        try:
            await web.TCPSite(self._runner, HOST, port, ssl_context=context).start()
        except OSError:
            if self._asked_port or not port:
                raise
            await web.TCPSite(self._runner, HOST, 0, ssl_context=context).start()
        self.port = int(self._runner.addresses[0][1])

    def _tls_context(self) -> ssl.SSLContext | None:
        if not self._tls:
            return None
        chain, key = credentials.load_certificate(self._dir, now=self._clock())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        return context

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        try:
            auth.check(http.headers, path=http.path, token=self.token)
            body = await _body(http)
        except status.StatusError as refusal:
            return _whole(refused(refusal))
        incoming = HttpRequest(
            method=http.method,
            path=http.rel_url.raw_path,
            query=http.rel_url.query,
            body=body,
            content_type=http.headers.get("Content-Type", ""),
            accept=http.headers.get("Accept", ""),
            address=http.host,
        )
        found = await answer(self.backend, incoming)
        if isinstance(found, Stream):
            return await _streamed(http, found)
        if len(found.body) > _PIECE and found.code == 200:
            # Long lists are written in pieces: TLS would copy a single write as a whole.
            pieces = Stream(chunks=_pieces(found.body), content_type=found.content_type)
            return await _streamed(http, pieces)
        return _whole(found)


def _report_death(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.critical(
            "a controller died", extra={"task": task.get_name()}, exc_info=task.exception()
        )


async def _body(http: web.Request) -> bytes:
    if (http.content_length or 0) > BODY_LIMIT:
        raise status.too_large()
    if not http.can_read_body:
        return b""
    try:
        return await http.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise status.too_large() from error


def _whole(found: Answer) -> web.Response:
    response = web.Response(status=found.code, body=found.body)
    response.headers["Content-Type"] = found.content_type
    response.headers["Cache-Control"] = "no-cache, private"
    response.headers.extend(found.headers)
    for text in found.warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
    return response


async def _streamed(http: web.Request, found: Stream) -> web.StreamResponse:
    response = web.StreamResponse()
    response.headers["Content-Type"] = found.content_type
    response.headers["Cache-Control"] = "no-cache, private"
    response.enable_chunked_encoding()
    async with contextlib.aclosing(_relayed(found.chunks)) as chunks:
        try:
            await response.prepare(http)
            async for chunk in chunks:
                await response.write(chunk)
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            # The client disconnected.
            return response
    return response


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), _PIECE):
        yield body[at : at + _PIECE]


async def _relayed(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    async for chunk in chunks:
        yield chunk
