"""A wave of jobs at a server that is slower than the operator: no status waits for children.

A real operator and a real API server under virtual time; only the speed of the server is played.
"""

import asyncio
import math
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.support.fake_kubelet.random_kubelet import PODS
from tests.support.local_apiserver.in_memory import JOBS, InMemoryApiServer
from tests.support.simulation import virtual_time
from tests.support.simulation.cluster import end
from tests.support.simulation.connection import Connection, FaultInjector, SlowServer
from tests.support.tfjobs import tfjob
from tfjob.client.config import Config
from tfjob.controller.pacing import PacingConfig
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver.store import Change
from tfjob.manager.app import Environment, Operator
from tfjob.manager.settings import Settings

WAVE = 120
ROLES = "P1 W3"
LATENCY, AT_ONCE = 0.04, 4
"""A server that needs 10 s for the children of all jobs."""
STARTING = 0.5
"""Seconds that a pod takes to start."""
BETWEEN = 2.0
"""Seconds between two batches of jobs."""
PROMISE = 5.0
PACED, UNPACED = PacingConfig(), PacingConfig(is_on=False)


class Seen(msgspec.Struct):
    """What the server's log says, and when."""

    first_condition: dict[str, float] = {}
    shown_running: dict[str, float] = {}
    last_start: dict[str, float] = {}
    last_child: float = 0.0
    writes: dict[str, int] = {}

    def change(self, change: Change) -> None:
        now = asyncio.get_running_loop().time()
        item, name = change.object, change.key.name
        status = item.get("status", {})
        if change.key.resource == "pods":
            if change.type == "ADDED":
                self.last_child = now
            elif status.get("phase") == "Running":
                self.last_start[item["metadata"]["labels"]["training.kubeflow.org/job-name"]] = now
        elif change.key.resource.startswith("tfjobs.") and status:
            self.writes[name] = self.writes.get(name, 0) + 1
            held = {each["type"] for each in status["conditions"] if each["status"] == "True"}
            self.first_condition.setdefault(name, now)
            if "Running" in held:
                self.shown_running.setdefault(name, now)


class Nodes:
    """Starts each pod a while after it was made."""

    def __init__(self, server: InMemoryApiServer) -> None:
        self._server = server
        self._starting: set[asyncio.Task[None]] = set()

    def change(self, change: Change) -> None:
        if change.key.resource == "pods" and change.type == "ADDED":
            task = asyncio.get_running_loop().create_task(self._start(change.key.name))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _start(self, name: str) -> None:
        await asyncio.sleep(STARTING)
        pod = await self._server.ask("GET", f"{PODS}/{name}")
        pod["status"] = {**pod.get("status", {}), "phase": "Running"}
        answer = await self._server.ask("PUT", f"{PODS}/{name}/status", pod)
        assert answer["code"] == 200, answer


async def _wave(pacing: PacingConfig, *batches: Sequence[dict[str, Any]]) -> tuple[Seen, Any]:
    """Submit one batch of jobs after the other, and see what becomes of them."""
    server, seen = InMemoryApiServer(clock=virtual_time.now), Seen()
    await server.start(KubeflowV1())
    for listener in (seen.change, Nodes(server).change):
        server.store.listen(listener)
    chance = random.Random(1)  # noqa: S311 - a run must be repeatable
    slow = SlowServer(LATENCY, at_once=AT_ONCE)
    injector = FaultInjector(chance=chance, is_calm=True, server=slow)
    operator = Operator(
        Config(server="http://played.invalid"),
        Settings(metrics_address="0", health_address="0", pacing=pacing),
        dialects=[KubeflowV1()],
        identity="me",
        environment=Environment(
            connect=Connection(server.backend, injector).connect,
            timing=virtual_time.timing(chance.random),
            now=virtual_time.now,
        ),
    )
    running = asyncio.create_task(operator.run())
    await asyncio.sleep(10.0)
    began = asyncio.get_running_loop().time()
    for batch in batches:
        for manifest in batch:
            await server.make(JOBS, manifest)
        await asyncio.sleep(BETWEEN)
    await asyncio.sleep(200.0)
    jobs = await server.listed(JOBS)
    operator.stop()
    await running
    await end(running)
    await server.close()
    for moments in (seen.first_condition, seen.shown_running, seen.last_start):
        for name in moments:
            moments[name] -= began
    seen.last_child -= began
    return seen, jobs


def wave(pacing: PacingConfig) -> tuple[Seen, Any]:
    jobs = [tfjob(ROLES, name=f"j{number}") for number in range(WAVE)]
    return virtual_time.run(_wave(pacing, jobs))


def p99(values: Sequence[float]) -> float:
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


@pytest.fixture(scope="module")
def paced() -> tuple[Seen, Any]:
    return wave(PACED)


@pytest.mark.scenario("R40")
def test_every_job_has_its_first_condition_long_before_all_children_exist(
    paced: tuple[Seen, Any],
) -> None:
    seen, _ = paced
    assert len(seen.first_condition) == WAVE
    assert seen.last_child > 1.5 * PROMISE
    assert p99(list(seen.first_condition.values())) <= PROMISE


def test_every_job_says_in_time_that_it_runs(paced: tuple[Seen, Any]) -> None:
    seen, _ = paced
    assert len(seen.shown_running) == WAVE
    late = [seen.shown_running[name] - moment for name, moment in seen.last_start.items()]
    assert p99(late) <= PROMISE


def test_job_that_starts_undisturbed_costs_three_writes_of_its_status_at_most(
    paced: tuple[Seen, Any],
) -> None:
    seen, _ = paced
    assert max(seen.writes.values()) <= 3
    assert sum(seen.writes.values()) <= 2.5 * WAVE


def test_all_jobs_end_up_the_same_without_pacing(paced: tuple[Seen, Any]) -> None:
    seen, jobs = wave(UNPACED)
    assert [_end_state(each) for each in jobs] == [_end_state(each) for each in paced[1]]
    assert p99(list(seen.first_condition.values())) <= PROMISE


@pytest.mark.scenario("R41")
def test_first_condition_does_not_wait_for_wide_jobs_that_keep_all_workers_busy() -> None:
    wide = [tfjob("W30", name=f"wide-{number}") for number in range(Settings().threads)]
    seen, _ = virtual_time.run(_wave(PACED, wide, [tfjob("W1", name="late")]))
    assert seen.last_child > BETWEEN + PROMISE
    assert seen.first_condition["late"] - BETWEEN < 1.0


def _end_state(job: dict[str, Any]) -> Any:
    """All of a job but its times and versions."""
    status = job["status"]
    conditions = [(each["type"], each["status"], each["reason"]) for each in status["conditions"]]
    return job["metadata"]["name"], conditions, status["replicaStatuses"]
