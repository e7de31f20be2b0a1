"""The operator's two small web servers: metrics, and probes for the kubelet."""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_OFF: Final = frozenset({"", "0"})
_HIGHEST_PORT: Final = 65535
UNFILLED: Final = "the caches are not filled yet"
Server = web.AppRunner
Handler = Callable[[web.Request], Awaitable[web.Response]]


class AddressError(ValueError):
    """An address that cannot be listened on; the message names the flag's value and why."""


def metrics_app(registry: CollectorRegistry) -> web.Application:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    return _app({"/metrics": metrics})


def probes_app(
    is_ready: Callable[[], bool], *, why: Callable[[], str] = lambda: UNFILLED
) -> web.Application:
    """`why` says what keeps it from being ready."""

    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def ready(_: web.Request) -> web.Response:
        if is_ready():
            return web.Response(text="ok")
        return web.Response(text=why(), status=503)

    return _app({"/healthz": alive, "/readyz": ready})


async def serve(app: web.Application, address: str) -> Server | None:
    """Listen on `[host]:port`; None where the address is `0`, which means off."""
    if address in _OFF:
        return None
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > _HIGHEST_PORT:
        raise AddressError(f"{address!r} is no address; write :8080, 127.0.0.1:8080 or 0 for off")
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
