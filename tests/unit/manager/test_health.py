"""The metrics and probe servers: their responses, and errors for bad addresses."""

import socket

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from tfjob.manager import health
from tfjob.manager.health import AddressError, Server


async def answered(server: Server, path: str) -> tuple[int, str]:
    host, port = server.addresses[0][:2]
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{host}:{port}{path}") as response,
    ):
        return response.status, await response.text()


async def test_liveness_and_readiness_are_separate_probes() -> None:
    ready: list[bool] = []
    server = await health.serve(health.probes_app(lambda: bool(ready)), "127.0.0.1:0")
    assert server is not None
    try:
        assert await answered(server, "/healthz") == (200, "ok")
        assert await answered(server, "/readyz") == (503, "informers have not synced yet")
        ready.append(True)
        assert await answered(server, "/readyz") == (200, "ok")
        assert (await answered(server, "/other"))[0] == 404
    finally:
        await server.cleanup()


async def test_probe_that_fails_by_a_bug_is_logged_and_does_not_stop_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers = iter([ZeroDivisionError("a bug of ours")])

    def is_ready() -> bool:
        for each in answers:
            raise each
        return True

    server = await health.serve(health.probes_app(is_ready), "127.0.0.1:0")
    assert server is not None
    try:
        assert (await answered(server, "/readyz"))[0] == 500
        assert await answered(server, "/readyz") == (200, "ok")
    finally:
        await server.cleanup()
    assert any(
        each.exc_info and "a bug of ours" in str(each.exc_info[1]) for each in caplog.records
    )


async def test_metrics_are_those_of_the_registry() -> None:
    registry = CollectorRegistry()
    Counter("things", "Things", registry=registry).inc(2)
    server = await health.serve(health.metrics_app(registry), "127.0.0.1:0")
    assert server is not None
    try:
        code, text = await answered(server, "/metrics")
        assert code == 200
        assert "things_total 2.0" in text
    finally:
        await server.cleanup()


@pytest.mark.parametrize("address", ["", "0"])
async def test_server_can_be_off(address: str) -> None:
    assert await health.serve(health.probes_app(lambda: True), address) is None


@pytest.mark.parametrize("address", ["8080x", "localhost", "127.0.0.1:", ":99999", "a:b:c"])
async def test_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(AddressError, match="is not an address; use :8080"):
        await health.serve(health.probes_app(lambda: True), address)


async def test_port_in_use_is_rejected() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AddressError, match=f"cannot listen on {address}: "):
            await health.serve(health.probes_app(lambda: True), address)
