"""How an operator process starts, ends and reports what waits."""

import asyncio

import pytest

from tests.support.local_apiserver.in_memory import CORE, JOBS, InMemoryApiServer
from tests.support.tfjobs import tfjob
from tests.support.virtual_operator import operator, simulated, with_
from tfjob.client.errors import ApiError, Forbidden, Unreachable
from tfjob.client.request import Request
from tfjob.controller.pacing import PacingConfig
from tfjob.dialects.base import Settings as JobSettings
from tfjob.local.apiserver.store import Change
from tfjob.manager.app import MAX_CHILD_WRITES_PER_JOB, StartError
from tfjob.manager.health import AddressError


def test_missing_pod_group_crd_is_a_start_error() -> None:
    async def act(server: InMemoryApiServer) -> None:
        settings = with_(jobs=JobSettings(gang_scheduler_name="volcano"))
        with pytest.raises(StartError, match=r"install crd: podgroups.scheduling.volcano.sh"):
            await operator(server, settings).run()

    simulated(act)


def test_missing_native_pod_group_api_is_a_start_error() -> None:
    async def act(server: InMemoryApiServer) -> None:
        settings = with_(jobs=JobSettings(gang_scheduler_name="kubernetes"))
        with pytest.raises(StartError, match=r"podgroups.scheduling.k8s.io: .*GangScheduling"):
            await operator(server, settings).run()

    simulated(act)


def test_failed_discovery_of_the_pod_group_version_is_a_start_error() -> None:
    async def act(server: InMemoryApiServer) -> None:
        settings = with_(jobs=JobSettings(gang_scheduler_name="kubernetes"))
        server.connection.is_cut = True
        with pytest.raises(StartError, match=r"podgroups.scheduling.k8s.io: cannot find out"):
            await operator(server, settings).run()
        server.connection.is_cut = False

    simulated(act)


def test_failed_discovery_of_pod_groups_is_a_start_error() -> None:
    async def act(server: InMemoryApiServer) -> None:
        settings = with_(jobs=JobSettings(gang_scheduler_name="volcano"))
        server.connection.is_cut = True
        with pytest.raises(StartError, match=r"podgroups.scheduling.volcano.sh: cannot find out"):
            await operator(server, settings).run()
        server.connection.is_cut = False

    simulated(act)


def test_unusable_address_is_a_start_error() -> None:
    async def act(server: InMemoryApiServer) -> None:
        with pytest.raises(AddressError, match="nonsense"):
            await operator(server, with_(health_address="nonsense")).run()

    simulated(act)


def test_cancelled_operator_leaves_no_task() -> None:
    async def act(server: InMemoryApiServer) -> None:
        running = asyncio.create_task(operator(server).run())
        await asyncio.sleep(5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    simulated(act)


def test_write_in_progress_is_finished_before_shutdown() -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server)
        running = asyncio.create_task(one.run())
        await asyncio.sleep(5)

        def stop_at_first_pod(change: Change) -> None:
            if change.key.resource == "pods":
                one.stop()

        server.backend.store.listen(stop_at_first_pod)
        await server.make(JOBS, tfjob("W20"))
        await running
        assert len(await server.names("pods")) == 20
        assert len(await server.names("services")) == 20
        assert (await server.ask("GET", f"{CORE}/events"))["items"]

    simulated(act)


def test_dropped_events_are_counted() -> None:
    async def act(server: InMemoryApiServer) -> None:
        def refuse(request: Request) -> ApiError | None:
            return Forbidden("no events") if request.path.endswith("/events") else None

        server.refuse = refuse
        one = operator(server, connect=lambda *_, **__: server.api)
        running = asyncio.create_task(one.run())
        await server.make(JOBS, tfjob())
        await asyncio.sleep(5)
        assert (one.metrics.registry.get_sample_value("tfjob_events_dropped_total") or 0) >= 2
        assert await server.names("pods") == ["j-worker-0"]
        one.stop()
        await running

    simulated(act)


def test_background_task_that_fails_ends_the_operator_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server)

        async def broken() -> None:
            raise Unreachable("a bug of ours")

        monkeypatch.setattr(one, "_update_gauges", broken)
        with pytest.raises(Unreachable):
            await one.run()

    simulated(act)


def test_deferred_writes_are_shown_with_their_age() -> None:
    async def act(server: InMemoryApiServer) -> None:
        one = operator(server, with_(pacing=PacingConfig(status_delay=3600.0)))
        running, gate = asyncio.create_task(one.run()), asyncio.Event()
        await server.make(JOBS, tfjob("W2"))
        await asyncio.sleep(10)
        children = [
            asyncio.create_task(one._pool.run("other", gate.wait))
            for _ in range(MAX_CHILD_WRITES_PER_JOB + 1)
        ]
        pod = await server.ask("GET", f"{CORE}/pods/j-worker-0")
        pod["status"]["phase"] = "Running"
        await server.ask("PUT", f"{CORE}/pods/j-worker-0/status", pod)
        await asyncio.sleep(5)
        labels = {"controller": "tfjob-controller"}
        value = one.metrics.registry.get_sample_value
        assert value("tfjob_statuses_deferred", labels) == 1
        assert 2.0 <= (value("tfjob_statuses_deferred_oldest_seconds", labels) or 0.0) <= 5.0
        assert (value("tfjob_events_deferred"), value("tfjob_events_deferred_oldest_seconds")) == (
            0,
            0,
        )
        await server.make(JOBS, tfjob("W9", name="k"))
        await asyncio.sleep(5)
        assert (value("tfjob_events_deferred") or 0) > 0
        assert (value("tfjob_events_deferred_oldest_seconds") or 0.0) > 0.5
        gate.set()
        await asyncio.gather(*children)
        one.stop()
        await running

    simulated(act)
