"""The HTTP servers for metrics and for the kubelet's probes."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_OFF: Final = frozenset({"", "0"})
_MAX_PORT: Final = 65535
NOT_SYNCED: Final = "informers have not synced yet"
Server = web.AppRunner
Review = Callable[[str], Awaitable[int]]
_REFUSALS: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "send a bearer token that the API server accepts",
    HTTPStatus.FORBIDDEN: "the permission to get the non-resource URL /metrics is missing",
    HTTPStatus.SERVICE_UNAVAILABLE: "the API server cannot review the token; try again later",
}
Handler = Callable[[web.Request], Awaitable[web.Response]]


class AddressError(ValueError):
    """The address is invalid or in use; the message names it and says why."""


def metrics_app(registry: CollectorRegistry, *, review: Review | None = None) -> web.Application:
    """`review` returns the HTTP status for an Authorization header; without it, anyone may read."""

    async def metrics(request: web.Request) -> web.Response:
        if review is not None:
            status = await review(request.headers.get("Authorization", ""))
            if status != HTTPStatus.OK:
                return web.Response(text=_REFUSALS[status], status=status)
        return web.Response(
            body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    return _app({"/metrics": metrics})


def probes_app(
    is_ready: Callable[[], bool], *, why: Callable[[], str] = lambda: NOT_SYNCED
) -> web.Application:
    """`why` returns the reason for not being ready."""

    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def ready(_: web.Request) -> web.Response:
        if is_ready():
            return web.Response(text="ok")
        return web.Response(text=why(), status=503)

    return _app({"/healthz": alive, "/readyz": ready})


async def serve(app: web.Application, address: str) -> Server | None:
    """Listen on `[host]:port`; None if the address is `0`, which disables the server."""
    if address in _OFF:
        return None
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > _MAX_PORT:
        raise AddressError(
            f"{address!r} is not an address; use :8080, 127.0.0.1:8080, or 0 to disable"
        )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host.strip("[]") or None, int(port)).start()
    except OSError as error:
        await runner.cleanup()
        raise AddressError(f"cannot listen on {address}: {error.strerror}") from error
    return runner


def _app(routes: dict[str, Handler]) -> web.Application:
    app = web.Application()
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    return app
