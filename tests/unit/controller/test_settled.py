"""A settled job is not reconciled again until it changes."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager as Opened
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.builders import a_pod
from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.local_apiserver.in_memory import CORE
from tfjob.controller.pacing import Pacer, PacingConfig
from tfjob.controller.result import Result
from tfjob.controller.snapshot import Snapshot
from tfjob.core.observe import Children
from tfjob.core.plan import Plan


class Watched:
    """A reconciler with pacing, and the number of its decisions."""

    def __init__(self, harness: ControllerHarness, config: PacingConfig | None = None) -> None:
        self.harness, self.decisions = harness, 0
        self.pacer = Pacer(config, clock=lambda: 0.0)
        self.reconciler = harness.reconciler_with(self.pacer)
        self._decide = self.reconciler._decide
        self.reconciler._decide = self._counted  # type: ignore[method-assign]  # a test's own door

    def _counted(self, snapshot: Snapshot) -> Plan:
        self.decisions += 1
        return self._decide(snapshot)

    async def run(self) -> Result:
        await self.harness.look()
        return await self.reconciler.reconcile(KEY)

    async def start(self, **fields: Any) -> None:
        """A job whose pods all run, with a status that says so."""
        await self.harness.submit("W2", **fields)
        await self.run()
        await self.run()
        for name in ("j-worker-0", "j-worker-1"):
            await self.set_phase(name, "Running")
        await self.run()
        assert await self.harness.conditions() == ["Created", "Running"]
        self.decisions = 0

    async def set_phase(self, name: str, phase: str) -> None:
        pod = await self.harness.server.ask("GET", f"{CORE}/pods/{name}")
        pod["status"]["phase"] = phase
        answer = await self.harness.server.ask("PUT", f"{CORE}/pods/{name}/status", pod)
        assert answer["code"] == 200


@asynccontextmanager
async def running(
    controller: Opened[ControllerHarness], **fields: Any
) -> AsyncIterator[tuple[ControllerHarness, Watched]]:
    async with controller as harness:
        watched = Watched(harness)
        await watched.start(**fields)
        yield harness, watched


async def test_settled_job_is_not_reconciled_again(
    controller: Opened[ControllerHarness],
) -> None:
    async with running(controller) as (_, watched):
        result = await watched.run()
        assert watched.decisions == 0
        assert (result.errors, result.versions, result.requeue_at) == ([], {}, None)


@pytest.mark.parametrize("change", ["pod", "service", "orphan", "job", "forgotten", "woken"])
async def test_any_change_is_reconciled(controller: Opened[ControllerHarness], change: str) -> None:
    async with running(controller) as (harness, watched):
        match change:
            case "pod":
                await watched.set_phase("j-worker-0", "Failed")
            case "service":
                await harness.server.ask("DELETE", f"{CORE}/services/j-worker-0")
            case "orphan":
                await _add_orphan(harness)
            case "job":
                path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/j"
                job = await harness.server.ask("GET", path)
                job["metadata"]["labels"] = {"changed": "yes"}
                assert (await harness.server.ask("PUT", path, job))["code"] == 200
            case "forgotten":
                watched.pacer.forget()
            case "woken":
                watched.pacer.clear_settled()
        result = await watched.run()
        # The orphan is adopted first; the next reconcile decides.
        is_orphan = change == "orphan"
        assert (watched.decisions, result.retries_soon) == (0 if is_orphan else 1, is_orphan)


async def test_settled_job_is_reconciled_at_its_requeue_time(
    controller: Opened[ControllerHarness],
) -> None:
    async with running(controller, run_policy={"activeDeadlineSeconds": 60}) as (harness, watched):
        result = await watched.run()
        assert watched.decisions == 0
        assert result.requeue_at is not None
        assert result.requeue_at <= harness.time + timedelta(seconds=61)
        harness.time = result.requeue_at
        await watched.run()
        assert watched.decisions == 1
        assert "Failed" in await harness.conditions()


async def test_settled_state_does_not_hold_after_the_clock_was_set_back(
    controller: Opened[ControllerHarness],
) -> None:
    async with running(controller) as (harness, watched):
        harness.time -= timedelta(hours=1)
        await watched.run()
        assert watched.decisions == 1


async def test_decision_on_a_job_read_from_the_server_is_repeated_when_the_informer_delivers_it(
    controller: Opened[ControllerHarness],
) -> None:
    policy = {"ttlSecondsAfterFinished": 60, "cleanPodPolicy": "All"}
    async with running(controller, run_policy=policy) as (harness, watched):
        await harness.look()
        old = harness.stores.jobs.get(KEY)
        assert old is not None
        for name in ("j-worker-0", "j-worker-1"):
            await harness.end_pod(name, 0)
        await watched.run()
        await watched.run()
        assert "Succeeded" in await harness.conditions()
        assert await harness.server.names("pods") == []
        harness.time += timedelta(seconds=61)
        await harness.look()
        harness.stores.jobs.put(old)
        await watched.reconciler.reconcile(KEY)
        assert (await harness.job())["code"] == 200
        await watched.run()
        assert (await harness.job())["code"] == 404


async def test_finished_job_is_reconciled_again(
    controller: Opened[ControllerHarness],
) -> None:
    async with running(controller) as (harness, watched):
        for name in ("j-worker-0", "j-worker-1"):
            await harness.end_pod(name, 0)
        await watched.run()
        assert "Succeeded" in await harness.conditions()
        await watched.run()
        assert watched.decisions == 2


async def test_deleted_job_leaves_no_state(
    controller: Opened[ControllerHarness],
) -> None:
    async with running(controller) as (harness, watched):
        await harness.look()
        stored = harness.stores.jobs.get(KEY)
        assert stored is not None
        watched.pacer.forget_job(stored)
        await watched.run()
        assert watched.decisions == 1


async def test_every_reconcile_decides_when_pacing_is_off(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        watched = Watched(harness, PacingConfig(is_on=False))
        await watched.start()
        await watched.run()
        await watched.run()
        assert watched.decisions == 2


async def test_job_with_a_terminating_pod_or_pods_unlike_the_cache_is_not_settled(
    controller: Opened[ControllerHarness],
) -> None:
    async with running(controller) as (harness, _):
        snapshot = await harness.reader.read(KEY)
        assert snapshot is not None
        assert harness.reader.is_covered_by_fingerprint(snapshot)
        changes: list[dict[str, Any]] = [
            {"children": Children(pods=[a_pod(deleted=-5)])},
            {"has_fresh_pods": True},
            {"ended_pods": {"u": a_pod(uid="u")}},
        ]
        for each in changes:
            changed = msgspec.structs.replace(snapshot, **each)
            assert not harness.reader.is_covered_by_fingerprint(changed)


async def _add_orphan(harness: ControllerHarness) -> None:
    pod = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
    meta = {"name": "stray", "labels": pod["metadata"]["labels"]}
    await harness.server.make(f"{CORE}/pods", {"metadata": meta, "spec": pod["spec"]})
