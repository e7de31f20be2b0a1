"""The whole operator on a simulated API server in virtual time."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.support.local_apiserver.in_memory import JOBS, InMemoryApiServer
from tests.support.tfjobs import tfjob
from tests.support.virtual_operator import LEASE, counted, operator, simulated, with_
from tfjob.client.config import Config
from tfjob.client.http import Api
from tfjob.manager.app import Operator


def test_operator_reconciles_jobs_and_stops_on_request() -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server)
        running = asyncio.create_task(one.run())
        await asyncio.sleep(5)
        assert one.is_ready
        await server.make(JOBS, tfjob("C1 W2"))
        await asyncio.sleep(5)
        assert len(await server.names("pods")) == 3
        assert counted(one, "created") == 1
        one.stop()
        await running
        assert all(len(each.queue) == each.queue.delayed == 0 for each in one.controllers)

    simulated(act)


def test_operator_is_not_ready_before_its_informers_have_synced() -> None:
    async def act(server: InMemoryApiServer) -> None:
        server.connection.is_cut = True
        one = operator(server)
        running = asyncio.create_task(one.run())
        await asyncio.sleep(60)
        before = one.is_ready
        server.connection.is_cut = False
        await asyncio.sleep(60)
        assert (before, one.is_ready) == (False, True)
        one.stop()
        await running

    simulated(act)


def idle(one: Operator, resource: str) -> float:
    labels = {"controller": "tfjob-controller", "resource": resource}
    return one.metrics.registry.get_sample_value("tfjob_watch_idle_seconds", labels) or 0.0


def test_operator_of_a_quiet_cluster_stays_ready() -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server)
        running = asyncio.create_task(one.run())
        await asyncio.sleep(5)
        ready = []
        for _ in range(120):
            await asyncio.sleep(30)
            ready.append(one.is_ready)
        assert all(ready)
        assert max(idle(one, each) for each in ("tfjobs", "pods", "services")) < 200
        one.stop()
        await running

    simulated(act)


@pytest.mark.parametrize(
    ("limit", "is_ready"), [(timedelta(minutes=5), False), (timedelta(), True)]
)
def test_operator_is_not_ready_while_its_watches_make_no_progress(
    limit: timedelta, is_ready: bool
) -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server, with_(watch_timeout=limit))
        running = asyncio.create_task(one.run())
        await asyncio.sleep(60)
        server.connection.is_cut = True
        await asyncio.sleep(240)
        assert one.is_ready
        await asyncio.sleep(260)
        assert one.is_ready is is_ready
        assert (one._why_not_ready() == "watches make no progress: pods, services, tfjobs") is (
            not is_ready
        )
        assert min(idle(one, each) for each in ("tfjobs", "pods", "services")) > 300
        server.connection.is_cut = False
        await asyncio.sleep(60)
        assert one.is_ready
        one.stop()
        await running

    simulated(act)


def test_counters_equal_the_objects_after_a_restart() -> None:
    async def act(server: InMemoryApiServer) -> None:
        for name in ("a", "b", "c"):
            await server.make(JOBS, tfjob(name=name))
        for _ in range(2):
            one = operator(server)
            running = asyncio.create_task(one.run())
            await asyncio.sleep(5)
            assert counted(one, "created") == 3
            one.stop()
            await running

    simulated(act)


async def both_with_a_job(server: InMemoryApiServer) -> list[tuple[Operator, asyncio.Task[None]]]:
    """Two operators, of which the first one leads, and a job that it has reconciled."""
    found = []
    for name in ("one", "two"):
        each = operator(server, with_(is_leader_elected=True), name)
        found.append((each, asyncio.create_task(each.run())))
        await asyncio.sleep(5)
    await server.make(JOBS, tfjob())
    await asyncio.sleep(5)
    return found


def test_only_the_leader_works_and_the_lease_is_released_at_the_end() -> None:
    async def act(server: InMemoryApiServer) -> None:
        (one, first), (two, second) = await both_with_a_job(server)
        assert await server.names("pods") == ["j-worker-0"]
        assert (counted(one, "created"), counted(two, "created")) == (1, 0)
        one.stop()
        await first
        await server.make(JOBS, tfjob(name="k"))
        # The lease is released, so the next leader need not wait until it expires.
        await asyncio.sleep(5)
        assert await server.names("pods") == ["j-worker-0", "k-worker-0"]
        two.stop()
        await second

    simulated(act)


def test_lease_is_renewed_while_other_requests_are_throttled() -> None:
    async def act(server: InMemoryApiServer) -> None:
        slow = with_(is_leader_elected=True, qps=0.2, burst=1)
        one = operator(server, slow, "one")
        running = asyncio.create_task(one.run())
        await asyncio.sleep(60)
        await server.make(JOBS, tfjob("W40"))
        for _ in range(20):
            await asyncio.sleep(10)
            lease = await server.ask("GET", LEASE)
            assert lease["spec"]["holderIdentity"] == "one"
            assert lease["spec"]["leaseTransitions"] == 0
            assert one._is_leader
        assert len(await server.names("pods")) < 40
        one.stop()
        await running

    simulated(act)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_every_connection_is_closed_at_the_end(*, is_cancelled: bool) -> None:
    async def act(server: InMemoryApiServer) -> None:
        opened: list[Api] = []
        closed: list[Api] = []

        class Counted(Api):
            async def close(self) -> None:
                closed.append(self)
                await super().close()

        def connect(config: Config, **options: Any) -> Api:
            api = Counted(config, **options)
            api._transport = server.connection.connect(config, **options)._transport
            opened.append(api)
            return api

        slow = with_(is_leader_elected=True, qps=0.2, burst=1)
        one = operator(server, slow, connect=connect)
        running = asyncio.create_task(one.run())
        await asyncio.sleep(60)
        await server.make(JOBS, tfjob("W9"))
        await asyncio.sleep(20)
        one.stop()
        await asyncio.sleep(1)
        assert not running.done()
        if is_cancelled:
            running.cancel()
        await asyncio.wait([running])
        assert running.cancelled() == is_cancelled
        assert len(opened) == 2
        assert set(closed) == set(opened)

    simulated(act)


def test_new_leader_counts_the_jobs_it_takes_over() -> None:
    async def act(server: InMemoryApiServer) -> None:
        (one, first), (two, second) = await both_with_a_job(server)
        one.stop()
        await first
        await asyncio.sleep(5)
        assert counted(two, "created") == 1
        two.stop()
        await second

    simulated(act)


def test_operator_of_one_namespace_leaves_the_others_alone() -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server, with_(namespace="kube-public"))
        running = asyncio.create_task(one.run())
        await server.make(JOBS, tfjob())
        await asyncio.sleep(30)
        assert await server.names("pods") == []
        asked = server.connection.requests
        assert not any("/apis/kubeflow.org/v1/tfjobs" in name for name in asked)
        one.stop()
        await running

    simulated(act)


def reconciles(one: Operator) -> float:
    """How many reconciles have ended, with any result."""
    return sum(
        sample.value
        for metric in one.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "controller_runtime_reconcile_total"
    )


@pytest.mark.parametrize(("seconds", "is_healed"), [(0, False), (60, True)])
def test_resync_reconciles_jobs_without_an_event(seconds: int, *, is_healed: bool) -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server, with_(resync=timedelta(seconds=seconds)))
        running = asyncio.create_task(one.run())
        await server.make(JOBS, tfjob())
        await asyncio.sleep(10)
        before = reconciles(one)
        await asyncio.sleep(100)
        assert (reconciles(one) != before) is is_healed
        one.stop()
        await running

    simulated(act)
