"""A job that has not changed since there was nothing to do is not decided on again."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager as Opened
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from tests.support.builders import a_pod
from tests.support.played_api import CORE
from tests.unit.controller.conftest import KEY, Desk
from tfjob.controller.pacing import Pacer, PacingConfig
from tfjob.controller.reconciler import Outcome
from tfjob.controller.snapshot import Snapshot
from tfjob.core.observe import Children
from tfjob.core.plan import Plan


class Watched:
    """An operator that remembers, and how often it has decided."""

    def __init__(self, world: Desk, config: PacingConfig | None = None) -> None:
        self.world, self.decisions = world, 0
        self.pacer = Pacer(config, clock=lambda: 0.0)
        self.reconciler = world.reconciler_with(self.pacer)
        self._decide = self.reconciler._decide
        self.reconciler._decide = self._counted  # type: ignore[method-assign]  # a test's own door

    def _counted(self, snapshot: Snapshot) -> Plan:
        self.decisions += 1
        return self._decide(snapshot)

    async def run(self) -> Outcome:
        await self.world.look()
        return await self.reconciler.reconcile(KEY)

    async def start(self, **fields: Any) -> None:
        """A job of which all pods run and are told to run."""
        await self.world.submit("W2", **fields)
        await self.run()
        await self.run()
        for name in ("j-worker-0", "j-worker-1"):
            await self.set_phase(name, "Running")
        await self.run()
        assert await self.world.conditions() == ["Created", "Running"]
        self.decisions = 0

    async def set_phase(self, name: str, phase: str) -> None:
        pod = await self.world.server.ask("GET", f"{CORE}/pods/{name}")
        pod["status"]["phase"] = phase
        answer = await self.world.server.ask("PUT", f"{CORE}/pods/{name}/status", pod)
        assert answer["code"] == 200


@asynccontextmanager
async def running(desk: Opened[Desk], **fields: Any) -> AsyncIterator[tuple[Desk, Watched]]:
    async with desk as world:
        watched = Watched(world)
        await watched.start(**fields)
        yield world, watched


async def test_job_whose_status_tells_all_needs_no_more(desk: Opened[Desk]) -> None:
    async with running(desk) as (_, watched):
        outcome = await watched.run()
        assert watched.decisions == 0
        assert (outcome.errors, outcome.versions, outcome.wake_at) == ([], {}, None)


@pytest.mark.parametrize("change", ["pod", "service", "orphan", "job", "forgotten", "woken"])
async def test_whatever_changes_is_looked_at(desk: Opened[Desk], change: str) -> None:
    async with running(desk) as (world, watched):
        match change:
            case "pod":
                await watched.set_phase("j-worker-0", "Failed")
            case "service":
                await world.server.ask("DELETE", f"{CORE}/services/j-worker-0")
            case "orphan":
                await _add_orphan(world)
            case "job":
                path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/j"
                job = await world.server.ask("GET", path)
                job["metadata"]["labels"] = {"changed": "yes"}
                assert (await world.server.ask("PUT", path, job))["code"] == 200
            case "forgotten":
                watched.pacer.forget()
            case "woken":
                watched.pacer.recheck_all()
        outcome = await watched.run()
        # An orphan is adopted first, and decided on by the next pass.
        is_orphan = change == "orphan"
        assert (watched.decisions, outcome.is_waiting) == (0 if is_orphan else 1, is_orphan)


async def test_moment_that_was_asked_for_is_not_slept_through(desk: Opened[Desk]) -> None:
    async with running(desk, run_policy={"activeDeadlineSeconds": 60}) as (world, watched):
        outcome = await watched.run()
        assert watched.decisions == 0
        assert outcome.wake_at is not None
        assert outcome.wake_at <= world.time + timedelta(seconds=61)
        world.time = outcome.wake_at
        await watched.run()
        assert watched.decisions == 1
        assert "Failed" in await world.conditions()


async def test_clock_that_was_set_back_is_no_reason_to_rest(desk: Opened[Desk]) -> None:
    async with running(desk) as (world, watched):
        world.time -= timedelta(hours=1)
        await watched.run()
        assert watched.decisions == 1


async def test_decision_on_a_job_that_was_read_afresh_is_made_again_when_it_is_seen(
    desk: Opened[Desk],
) -> None:
    policy = {"ttlSecondsAfterFinished": 60, "cleanPodPolicy": "All"}
    async with running(desk, run_policy=policy) as (world, watched):
        await world.look()
        old = world.stores.jobs.get(KEY)
        assert old is not None
        for name in ("j-worker-0", "j-worker-1"):
            await world.end_pod(name, 0)
        await watched.run()
        await watched.run()
        assert "Succeeded" in await world.conditions()
        assert await world.server.names("pods") == []
        world.time += timedelta(seconds=61)
        await world.look()
        world.stores.jobs.put(old)
        await watched.reconciler.reconcile(KEY)
        assert (await world.job())["code"] == 200
        await watched.run()
        assert (await world.job())["code"] == 404


async def test_end_of_a_job_has_consequences_and_is_looked_at_again(desk: Opened[Desk]) -> None:
    async with running(desk) as (world, watched):
        for name in ("j-worker-0", "j-worker-1"):
            await world.end_pod(name, 0)
        await watched.run()
        assert "Succeeded" in await world.conditions()
        await watched.run()
        assert watched.decisions == 2


async def test_job_that_is_gone_leaves_nothing_behind(desk: Opened[Desk]) -> None:
    async with running(desk) as (world, watched):
        await world.look()
        stored = world.stores.jobs.get(KEY)
        assert stored is not None
        watched.pacer.forget_job(stored)
        await watched.run()
        assert watched.decisions == 1


async def test_job_is_always_decided_on_when_pacing_is_off(desk: Opened[Desk]) -> None:
    async with desk as world:
        watched = Watched(world, PacingConfig(is_on=False))
        await watched.start()
        await watched.run()
        await watched.run()
        assert watched.decisions == 2


async def test_job_with_a_pod_on_its_way_out_does_not_rest(desk: Opened[Desk]) -> None:
    async with running(desk) as (world, _):
        gathered = await world.reader.read(KEY)
        assert gathered is not None
        assert world.reader.is_plain(gathered)
        gathered.children = Children(pods=[a_pod(deleted=-5)])
        assert not world.reader.is_plain(gathered)


async def _add_orphan(world: Desk) -> None:
    pod = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
    meta = {"name": "stray", "labels": pod["metadata"]["labels"]}
    await world.server.make(f"{CORE}/pods", {"metadata": meta, "spec": pod["spec"]})
