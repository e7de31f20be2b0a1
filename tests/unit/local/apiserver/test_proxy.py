"""Requests that are forwarded to pods."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tfjob.local.apiserver.handlers.proxy import ANNOTATION, proxy_request
from tfjob.local.apiserver.server import ApiServer

Json = dict[str, Any]
SERVICES = "/api/v1/namespaces/default/services"
PODS = "/api/v1/namespaces/default/pods"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


async def echo(request: web.Request) -> web.Response:
    """What the pod received, and whether it got the token."""
    body = (await request.read()).decode()
    received = f"{request.method} {request.rel_url} {body} {request.headers.get('Authorization')}"
    return web.Response(text=received, status=202, content_type="text/html")


@pytest.fixture
async def pod_url() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    async with ApiServer(tmp_path, tls=False) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(server.url, headers=headers) as session:
            yield session


async def board(client: aiohttp.ClientSession, *, url: str, status: Json) -> None:
    """A service and the pod behind it."""
    spec = {"selector": {"app": "b"}, "ports": [{"name": "web", "port": 80}]}
    pod = {"labels": {"app": "b"}, "annotations": {ANNOTATION: url} if url else {}}
    bodies: list[tuple[str, Json]] = [
        (SERVICES, {"metadata": {"name": "b"}, "spec": spec}),
        (
            PODS,
            {
                "metadata": {"name": "p", **pod},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            },
        ),
    ]
    for path, body in bodies:
        async with client.post(path, json=body) as answer:
            assert answer.status == 201, await answer.text()
    headers = {"Content-Type": "application/merge-patch+json"}
    async with client.patch(f"{PODS}/p/status", json={"status": status}, headers=headers) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "path", [f"{SERVICES}/b:80", f"{SERVICES}/b:web", f"{SERVICES}/http:b:80", f"{PODS}/p"]
)
async def test_a_pod_that_listens_is_reached_by_name(
    client: aiohttp.ClientSession, pod_url: str, path: str
) -> None:
    await board(client, url=pod_url, status=READY)
    async with client.post(f"{path}/proxy/data/x?tag=a%20b", data=b"hello") as answer:
        assert (answer.status, answer.content_type) == (202, "text/html")
        assert await answer.text() == "POST /data/x?tag=a+b hello None"


async def test_a_path_without_a_trailing_slash_is_redirected(
    client: aiohttp.ClientSession, pod_url: str
) -> None:
    await board(client, url=pod_url, status=READY)
    async with client.get(f"{SERVICES}/b:80/proxy", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (301, f"{SERVICES}/b:80/proxy/")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("services/b:81", 'no service port 81 found for service "b"'),
        ("services/b:80", 'no endpoints available for service "b"'),
        ("pods/p", 'pod "p" serves nothing'),
    ],
)
@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("", READY),
        ("http://127.0.0.1:1/", {"phase": "Pending"}),
        ("http://10.0.0.1:80/", READY),
        ("http://127.0.0.1:80@example.com:80/", READY),
    ],
)
async def test_a_pod_without_a_local_address_is_not_reached(
    client: aiohttp.ClientSession, name: str, words: str, url: str, status: Json
) -> None:
    await board(client, url=url, status=status)
    async with client.get(f"/api/v1/namespaces/default/{name}/proxy/") as answer:
        assert (answer.status, words in (await answer.json())["message"]) == (503, True)


async def test_a_server_that_no_longer_listens_is_named(client: aiohttp.ClientSession) -> None:
    await board(client, url="http://127.0.0.1:1/", status=READY)
    async with client.get(f"{SERVICES}/b/proxy/") as answer:
        body = await answer.json()
    assert (answer.status, body["reason"]) == (503, "ServiceUnavailable")
    assert "http://127.0.0.1:1/" in body["message"]


async def test_an_unknown_service_is_not_found(client: aiohttp.ClientSession) -> None:
    async with client.get(f"{SERVICES}/none:80/proxy/") as answer:
        assert (answer.status, (await answer.json())["reason"]) == (404, "NotFound")


async def test_a_request_without_the_token_is_not_forwarded(
    client: aiohttp.ClientSession, pod_url: str
) -> None:
    await board(client, url=pod_url, status=READY)
    headers = {"Authorization": "Bearer wrong"}
    async with client.get(f"{SERVICES}/b:80/proxy/", headers=headers) as answer:
        assert answer.status == 401


@pytest.mark.parametrize("path", [f"{SERVICES}/b", "/api/v1/nodes/n/proxy/", f"{PODS}/p/log"])
def test_other_paths_are_not_proxied(path: str) -> None:
    assert proxy_request(path) is None
