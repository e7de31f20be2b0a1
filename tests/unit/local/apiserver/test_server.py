"""The HTTP server: authentication, limits, restarts."""

import asyncio
import contextlib
import errno
import io
import json
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tfjob.local.apiserver.server import BODY_LIMIT, ApiServer
from tfjob.local.apiserver.store import StoreError

Json = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"


class Lines:
    """Logs of a pod that was never run."""

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        if options.get("previous") == "true":
            raise LookupError(f"previous container of {pod['metadata']['name']} not found")
        yield b"one\n"
        yield f"tail {options.get('tailLines', 'all')}\n".encode()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(tmp_path, tls=False, logs=Lines()) as server:
        yield server


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(server.url, headers=headers) as session:
        yield session


async def test_without_the_token_nothing_is_returned(server: ApiServer) -> None:
    async with aiohttp.ClientSession(server.url) as stranger:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
            async with stranger.get("/api/v1/secrets", headers=headers) as answer:
                assert answer.status == 401
                assert (await answer.json())["reason"] == "Unauthorized"


async def test_health_needs_no_token(server: ApiServer) -> None:
    async with aiohttp.ClientSession(server.url) as stranger, stranger.get("/readyz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok")


async def test_a_host_that_is_not_loopback_is_rejected(client: aiohttp.ClientSession) -> None:
    async with client.get(MAPS, headers={"Host": "evil.example.com:80"}) as answer:
        assert answer.status == 403


async def test_a_request_from_another_origin_is_rejected(client: aiohttp.ClientSession) -> None:
    for origin in ("https://evil.example.com", "null", "http://127.0.0.1.evil.example.com"):
        async with client.post(MAPS, data="{}", headers={"Origin": origin}) as answer:
            assert answer.status == 403


async def test_a_huge_body_is_rejected(client: aiohttp.ClientSession) -> None:
    async with client.post(MAPS, data=io.BytesIO(b" " * (BODY_LIMIT + 1))) as answer:
        assert answer.status == 413
        assert (await answer.json())["reason"] == "RequestEntityTooLarge"


async def test_a_path_with_encoded_or_parent_segments_is_rejected(server: ApiServer) -> None:
    paths = [
        f"{MAPS}/..",
        f"{MAPS}/%2e%2e",
        f"{MAPS}/a%2fb",
        f"{MAPS}/../secrets/x",
        f"{MAPS}/a%25b",
    ]
    for path in paths:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        writer.write(f"{head}Authorization: Bearer {server.token}\r\n\r\n".encode())
        text = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        assert " 400 " in text.splitlines()[0], path


@pytest.mark.parametrize(
    ("subresource", "hint"),
    [
        ("exec", "its volumes are folders"),
        ("attach", "its volumes are folders"),
        ("portforward", "tfjob.dev/url"),
        ("eviction", "delete the pod"),
    ],
)
async def test_unsupported_subresources_are_rejected_by_name(
    client: aiohttp.ClientSession, subresource: str, hint: str
) -> None:
    async with client.post(f"/api/v1/namespaces/default/pods/a/{subresource}") as answer:
        body = await answer.json()
    assert (body["code"], body["reason"]) == (501, "NotImplemented")
    assert f"pods/{subresource} is not supported" in body["message"]
    assert hint in body["message"]


async def test_a_full_disk_is_reported_and_stops_only_writes(
    server: ApiServer, client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    database = server.backend.store._db
    database.execute("PRAGMA max_page_count = 1")
    large = {"metadata": {"name": "a"}, "data": {"x": "y" * 500_000}}
    async with client.post(MAPS, json=large) as answer:
        body = await answer.json()
    assert (answer.status, body["reason"]) == (500, "InternalError")
    assert f"the data folder {tmp_path} rejected a write" in body["message"]
    assert "full" in body["message"]
    async with client.get(MAPS) as answer:
        assert answer.status == 200
    database.execute("PRAGMA max_page_count = 100000")
    async with client.post(MAPS, json=large) as answer:
        assert answer.status == 201


async def test_a_protobuf_body_of_an_unknown_shape_is_rejected(
    client: aiohttp.ClientSession,
) -> None:
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    async with client.post(MAPS, data=b"k8s\x00\x00", headers=headers) as answer:
        assert answer.status in {400, 415}


async def test_acknowledged_writes_exist_after_a_restart(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, tls=False) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        port = server.port
        async with (
            aiohttp.ClientSession(server.url, headers=headers) as client,
            client.post(MAPS, json={"metadata": {"name": "a"}}) as answer,
        ):
            made = await answer.json()
    async with ApiServer(tmp_path, tls=False) as server:
        assert server.port == port
        async with (
            aiohttp.ClientSession(server.url, headers=headers) as client,
            client.get(f"{MAPS}/a") as answer,
        ):
            assert await answer.json() == made


async def test_a_second_server_on_the_folder_is_rejected(tmp_path: Path, server: ApiServer) -> None:
    with pytest.raises(StoreError, match="in use by another server"):
        await ApiServer(tmp_path, tls=False).start()


async def test_a_port_in_use_is_reported_and_nothing_is_left_open(
    tmp_path: Path, server: ApiServer
) -> None:
    other = ApiServer(tmp_path / "other", tls=False, port=server.port)
    with pytest.raises(OSError, match="in use") as refused:
        await other.start()
    assert refused.value.errno == errno.EADDRINUSE
    again = ApiServer(tmp_path / "other", tls=False)
    await again.start()
    await again.stop()


SERVER = """
import asyncio, sys
from pathlib import Path
from tfjob.local.apiserver.server import ApiServer
async def main():
    server = ApiServer(Path(sys.argv[1]), tls=False)
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    headers = {"Authorization": f"Bearer {(tmp_path / 'token').read_text().strip()}"}
    answered: list[Json] = []

    async def write(client: aiohttp.ClientSession, prefix: str) -> None:
        with contextlib.suppress(aiohttp.ClientError):
            for number in range(1000):
                body = {"metadata": {"name": f"{prefix}{number}"}}
                async with client.post(MAPS, json=body) as answer:
                    answered.append(await answer.json())
                if len(answered) == 100:
                    process.kill()

    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers) as client:
        await asyncio.gather(*(write(client, prefix) for prefix in "abcd"))
    await process.wait()
    assert len(answered) >= 100
    async with ApiServer(tmp_path, tls=False) as server:
        store = server.backend.store
        kept = {row.name: row.revision for row in store.page("configmaps", namespace="default")}
    assert all(
        kept[made["metadata"]["name"]] == int(made["metadata"]["resourceVersion"])
        for made in answered
    )


async def test_an_old_watch_ends_with_expired(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, tls=False, kept_revisions=5) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(server.url, headers=headers) as client:
            for number in range(30):
                async with client.post(MAPS, json={"metadata": {"name": f"n{number}"}}):
                    pass
            async with client.get(f"{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=5") as answer:
                event = json.loads(await answer.text())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert event["object"]["reason"] == "Expired"
    assert event["object"]["message"].startswith("too old resource version: 1 (")


async def test_a_list_then_a_watch_from_it_misses_nothing(client: aiohttp.ClientSession) -> None:
    async def write() -> None:
        for number in range(50):
            async with client.post(MAPS, json={"metadata": {"name": f"n{number:02}"}}):
                pass

    writing = asyncio.create_task(write())
    async with client.get(MAPS) as answer:
        listed = await answer.json()
    revision = listed["metadata"]["resourceVersion"]
    await writing
    async with client.get(f"{MAPS}?watch=1&resourceVersion={revision}&timeoutSeconds=1") as answer:
        lines = (await answer.text()).splitlines()
    seen = [item["metadata"]["name"] for item in listed["items"]]
    seen += [json.loads(line)["object"]["metadata"]["name"] for line in lines]
    assert [name for name in seen if name.startswith("n")] == [f"n{n:02}" for n in range(50)]


async def test_logs_come_from_the_node(client: aiohttp.ClientSession) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "a", "image": "b"}]}
    async with client.post(pods, json={"metadata": {"name": "p"}, "spec": spec}):
        pass
    async with client.get(f"{pods}/p/log?tailLines=3") as answer:
        assert await answer.text() == "one\ntail 3\n"
        assert answer.headers["Content-Type"] == "text/plain"
    async with client.get(f"{pods}/p/log?previous=true") as answer:
        assert (answer.status, (await answer.json())["reason"]) == (400, "BadRequest")
    async with client.get(f"{pods}/p/log?container=x") as answer:
        assert (await answer.json())["message"] == "container x is not valid for pod p"


async def test_the_certificate_is_trusted_for_loopback(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        context = ssl.create_default_context(cafile=str(server.certificate_path))
        connector = aiohttp.TCPConnector(ssl=context)
        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            aiohttp.ClientSession(server.url, headers=headers, connector=connector) as client,
            client.get("/api/v1/namespaces") as answer,
        ):
            assert answer.status == 200
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
    assert (tmp_path / "apiserver.key").stat().st_mode & 0o077 == 0
    assert server.kubeconfig_path.stat().st_mode & 0o077 == 0
