"""The controller of one dialect, with APIs that are served, missing or added later."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tests.support.fake_dialect import JOBS, FakeDialect, board_crd, fake_job
from tests.support.local_apiserver.in_memory import CORE, DEFINITIONS
from tests.support.local_apiserver.in_memory import JOBS as TFJOBS
from tests.support.permissive_crd import permissive
from tests.support.simulation.cluster import BATCH, QUIET, SimulatedCluster, simulated
from tests.support.tfjobs import tfjob
from tfjob.client.request import Request
from tfjob.core.job import FINALIZER
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver.request import Answer

PODS = f"{CORE}/pods"
ELECTED = msgspec.structs.replace(QUIET, is_leader_elected=True, lease_namespace="kube-system")


def test_controller_is_ready_if_its_api_is_not_served() -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1())
        operator = world.operator()
        world.connections[-1].is_cut = True
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(60)
        assert [each.is_ready for each in operator.controllers] == [False, False]
        world.connections[-1].is_cut = False
        await asyncio.sleep(60)
        assert [each.is_ready for each in operator.controllers] == [True, True]
        assert [each.informers is None for each in operator.controllers] == [False, True]
        operator.stop()
        await running

    simulated(act, SimulatedCluster)


def test_every_controller_starts_work_when_its_operator_becomes_leader() -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        one, two = world.operator(ELECTED, "one"), world.operator(ELECTED, "two")
        first = asyncio.create_task(one.run())
        await asyncio.sleep(5)
        second = asyncio.create_task(two.run())
        await asyncio.sleep(5)
        one.stop()
        await first
        await world.ask("POST", JOBS, fake_job())
        await asyncio.sleep(30)
        assert len(await world.names(BATCH)) == 2
        labels = {"job_namespace": "default", "framework": "tensorflow"}
        name = "training_operator_jobs_created_total"
        found = [each.metrics.registry.get_sample_value(name, labels) for each in (one, two)]
        assert found == [None, 1]
        two.stop()
        await second

    simulated(act, SimulatedCluster)


def test_stray_pod_is_released_by_the_next_leader() -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1())
        one, two = world.operator(ELECTED, "one"), world.operator(ELECTED, "two")
        first = asyncio.create_task(one.run())
        await asyncio.sleep(5)
        second = asyncio.create_task(two.run())
        await asyncio.sleep(5)
        world.connections[-2].is_cut = True
        labels = {
            "training.kubeflow.org/operator-name": "tfjob-controller",
            "training.kubeflow.org/job-name": "gone",
        }
        meta = {"name": "p", "labels": labels, "finalizers": [FINALIZER]}
        spec = {"containers": [{"name": "tensorflow", "image": "x"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        await world.ask("POST", PODS, pod)
        await world.ask("DELETE", f"{PODS}/p")
        assert await world.names(PODS) == ["p"]
        await asyncio.sleep(60)
        assert await world.names(PODS) == []
        for operator, running in ((one, first), (two, second)):
            operator.stop()
            await running

    simulated(act, SimulatedCluster)


def test_operator_that_starts_anew_lists_no_pods_for_each_job() -> None:
    """It lists all pods after the jobs, so they are new enough for the decisions about those."""

    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1())
        one, two = world.operator(identity="one"), world.operator(identity="two")
        first = asyncio.create_task(one.run())
        await world.ask("POST", TFJOBS, tfjob("W1", name="t", restart="ExitCode"))
        names: list[str] = []
        while not names:
            await asyncio.sleep(1)
            names = await world.names(PODS)
        one.stop()
        await first
        second = asyncio.create_task(two.run())
        status: dict[str, Any] = {}
        while not status.get("completionTime"):
            await asyncio.sleep(1)
            status = (await world.ask("GET", f"{TFJOBS}/t"))["status"]
        assert status["replicaStatuses"]["Worker"]["restarts"] == 2
        asked = world.connections[-1].requests
        assert [name for name in asked if name.startswith("list default/pods")] == []
        two.stop()
        await second

    simulated(act, lambda: SimulatedCluster(exit_codes={"t-worker": [137, 137, 0]}))


def test_resync_reconciles_the_jobs_of_every_controller() -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await world.ask("POST", JOBS, fake_job())
        await asyncio.sleep(100)
        labels = {"controller": "toy-controller", "result": "success"}
        count = operator.metrics.registry.get_sample_value
        before = count("controller_runtime_reconcile_total", labels) or 0
        await asyncio.sleep(1300)
        assert (count("controller_runtime_reconcile_total", labels) or 0) >= before + 2
        operator.stop()
        await running

    simulated(act, SimulatedCluster)


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_unknown_fields_are_logged_once_at_debug_level(
    caplog: pytest.LogCaptureFixture, level: int
) -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await world.ask("POST", JOBS, fake_job(colour="red", size=3))
        await asyncio.sleep(30)
        operator.stop()
        await running

    caplog.set_level(level, logger="tfjob.manager.controller")
    simulated(act, SimulatedCluster)
    logged = [record for record in caplog.records if record.message.startswith("unknown fields")]
    fields = [record.__dict__["fields"] for record in logged]
    assert fields == (["spec.colour, spec.size"] if level == logging.DEBUG else [])


def test_optional_api_that_is_installed_later_is_logged_and_watched(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(60)
        informers = operator.controllers[1].informers
        assert informers is not None
        assert "Board" not in informers.all
        await world.ask("POST", DEFINITIONS, board_crd())
        await asyncio.sleep(60)
        assert "Board" in informers.all
        assert operator.is_ready
        operator.stop()
        await running

    with caplog.at_level(logging.INFO):
        simulated(act, SimulatedCluster)
    told = [each for each in caplog.records if each.getMessage() == "optional API is now served"]
    assert [vars(each)["api"] for each in told] == ["boards.example/v1/boards"]


def test_optional_api_without_permission_is_logged_and_blocks_no_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(request: Request) -> Answer | None:
        status = {"kind": "Status", "reason": "Forbidden", "message": "boards is forbidden"}
        is_board = request.path.startswith("/apis/boards.example/v1/")
        return Answer(code=403, body=msgspec.json.encode(status)) if is_board else None

    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        await world.ask("POST", DEFINITIONS, board_crd())
        operator = world.operator()
        world.connections[-1].refuse = refuse
        running = asyncio.create_task(operator.run())
        await world.ask("POST", JOBS, fake_job())
        await asyncio.sleep(120)
        assert operator.is_ready
        assert len(await world.names(BATCH)) == 2
        world.connections[-1].refuse = lambda _: None
        await asyncio.sleep(60)
        watches = operator.controllers[1].informers
        assert watches is not None
        assert "Board" in watches.all
        operator.stop()
        await running

    with caplog.at_level(logging.WARNING):
        simulated(act, SimulatedCluster)
    told = [each for each in caplog.records if "optional API not permitted" in each.getMessage()]
    assert [vars(each)["fault"] for each in told] == ["boards is forbidden"]


def test_bug_in_a_watch_stops_the_operator_with_its_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())

        async def broken(_: object) -> None:
            await asyncio.sleep(5)
            raise LookupError("a bug of ours")

        monkeypatch.setattr("tfjob.client.informer.Informer.run", broken)
        with pytest.raises(LookupError):
            await world.operator().run()
        assert await world.names(f"{CORE}/pods") == []

    simulated(act, SimulatedCluster)


def test_api_that_disappears_and_returns_is_served_again() -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await world.ask("POST", JOBS, fake_job("first"))
        await asyncio.sleep(30)
        assert len(await world.names(BATCH)) == 2
        await world.ask("DELETE", f"{DEFINITIONS}/{FakeDialect.plural}.{FakeDialect.group}")
        await asyncio.sleep(120)
        assert await world.names(BATCH) == []
        await world.ask("POST", TFJOBS, tfjob("W1", name="meanwhile"))
        await asyncio.sleep(30)
        assert await world.names(f"{CORE}/pods") == ["meanwhile-worker-0"]
        await world.ask("POST", DEFINITIONS, permissive(FakeDialect().crd()))
        await world.ask("POST", JOBS, fake_job("second"))
        await asyncio.sleep(120)
        assert len(await world.names(BATCH)) == 2
        assert operator.is_ready
        assert not running.done()
        operator.stop()
        await running

    simulated(act, SimulatedCluster)
