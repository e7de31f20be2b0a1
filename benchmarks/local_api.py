"""Benchmarks of the local API server: startup, creates, watches and memory."""

import asyncio
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.figure import Figure
from benchmarks.local_server import LocalServer
from benchmarks.process import cpu_seconds, memory_mb, peak_memory_mb

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS = 8
CREATES = 2_000
OBJECTS = 10_000
WATCHERS = 200
EVENTS = 200
STARTS = 3
_NAME = re.compile(rb'"name":"(event-\d+)"')


def figures(folder: Path) -> Iterator[Figure]:
    """All figures of the API server, with data directories below `folder`."""
    yield from _starts(folder)
    with LocalServer(folder / "load") as server:
        yield from asyncio.run(_creates(server))
        yield from asyncio.run(_memory(server))
    with LocalServer(folder / "watch") as server:
        yield from asyncio.run(_watchers(server))


def _starts(folder: Path) -> Iterator[Figure]:
    for title, places in (
        ("API server, first start on a folder", [f"first-{number}" for number in range(STARTS)]),
        ("API server, start on the folder of an earlier one", ["first-0"] * STARTS),
    ):
        found = [_start(folder / place) for place in places]
        seconds, cpu = (statistics.median(each) for each in zip(*found, strict=True))
        yield Figure(title=title, unit="s", value=seconds, by_cpu=cpu, limit=0.7)


def _start(data: Path) -> tuple[float, float]:
    with LocalServer(data) as server:
        return server.start_seconds, cpu_seconds(server.pid)


async def _creates(server: LocalServer) -> list[Figure]:
    found = []
    for title, path, spec in (("ConfigMaps", MAPS, {}), ("Pods", PODS, _pod_spec())):
        before, began = cpu_seconds(server.pid), time.monotonic()
        await _create(server, path, count=CREATES, spec=spec, prefix="create")
        wall, cpu = time.monotonic() - began, cpu_seconds(server.pid) - before
        found.append(
            Figure(
                title=f"{title} created by {CLIENTS} clients",
                unit="/s",
                value=CREATES / wall,
                by_cpu=CREATES / cpu,
                limit=500,
                is_least=True,
            )
        )
    return found


async def _create(
    server: LocalServer, path: str, *, count: int, spec: dict[str, Any], prefix: str
) -> None:
    """Create objects with a few clients, each of which sends one request at a time."""
    numbers = iter(range(count))

    async def work(client: aiohttp.ClientSession) -> None:
        for number in numbers:
            body = {"metadata": {"name": f"{prefix}-{number}"}, **spec}
            async with client.post(path, json=body) as answer:
                assert answer.status == 201, await answer.text()
                await answer.read()

    async with server.client() as client:
        await asyncio.gather(*(work(client) for _ in range(CLIENTS)))


async def _memory(server: LocalServer) -> list[Figure]:
    rest = OBJECTS - 2 * CREATES
    await _create(server, PODS, count=rest, spec=_pod_spec(), prefix="more")
    held = memory_mb(server.pid)
    async with server.client() as client:
        for path in (PODS, MAPS):
            async with client.get(path) as answer:
                await answer.read()
    title = f"memory with {OBJECTS:,} objects"
    return [
        Figure(title=title, unit="MB", value=held, limit=150),
        Figure(
            title=f"{title}, peak, all of them listed", unit="MB", value=peak_memory_mb(server.pid)
        ),
    ]


async def _watchers(server: LocalServer) -> list[Figure]:
    before, began = cpu_seconds(server.pid), time.monotonic()
    async with server.client() as client, asyncio.timeout(300):
        ready = asyncio.Semaphore(0)
        following = [asyncio.create_task(_follow(client, ready)) for _ in range(WATCHERS)]
        for _ in following:
            await ready.acquire()
        await _create(server, MAPS, count=EVENTS, spec={}, prefix="event")
        seen = await asyncio.gather(*following)
    wall, cpu = time.monotonic() - began, cpu_seconds(server.pid) - before
    lost = sum(EVENTS - len(set(each)) for each in seen)
    received = WATCHERS * EVENTS
    return [
        Figure(title=f"events lost by {WATCHERS} watchers", unit="", value=lost, limit=0),
        Figure(
            title=f"events received by {WATCHERS} watchers",
            unit="/s",
            value=received / wall,
            by_cpu=received / cpu,
        ),
    ]


async def _follow(client: aiohttp.ClientSession, ready: asyncio.Semaphore) -> list[bytes]:
    """The names that one watch receives, until it has received all events."""
    seen: list[bytes] = []
    path = f"{MAPS}?watch=1&timeoutSeconds=240"
    async with client.get(path, timeout=aiohttp.ClientTimeout(total=300)) as answer:
        ready.release()
        async for line in answer.content:
            seen.extend(_NAME.findall(line)[:1])
            if len(seen) == EVENTS:
                break
    return seen


def _pod_spec() -> dict[str, Any]:
    container = {
        "name": "tensorflow",
        "image": "tensorflow/tensorflow:2.21.0",
        "command": ["python", "train.py"],
        "env": [{"name": "TF_CONFIG", "value": '{"cluster": {"worker": ["a:1", "b:2"]}}'}],
        "ports": [{"name": "tfjob-port", "containerPort": 2222}],
    }
    return {"spec": {"containers": [container]}}
