"""A made-up API of jobs is served from creation to success: a dialect is all that it takes."""

import asyncio
import logging

import pytest

from tests.support.fake_dialect import JOBS, FakeDialect, board_crd, fake_job
from tests.support.local_apiserver.in_memory import CORE, DEFINITIONS
from tests.support.simulation.cluster import (
    BATCH,
    SimulatedCluster,
    end,
    simulated,
)
from tests.support.tfjobs import tfjob
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.app import Operator

KUBEFLOW = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
BOARDS = "/apis/boards.example/v1/namespaces/default/boards"
LONG = "a-job-with-a-name-that-is-longer-than-any-label-may-be-which-is-63-letters"


async def started(cluster: SimulatedCluster) -> tuple[Operator, asyncio.Task[None]]:
    await cluster.start(KubeflowV1(), FakeDialect())
    operator = cluster.operator()
    return operator, asyncio.create_task(operator.run())


async def stopped(operator: Operator, running: asyncio.Task[None]) -> None:
    operator.stop()
    await running


def a_world() -> SimulatedCluster:
    return SimulatedCluster(exit_codes={"toy-": [0], "j-": [0]})


def test_job_goes_from_creation_to_success_beside_a_job_of_another_dialect() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job())
        await cluster.ask("POST", KUBEFLOW, tfjob("W1"))
        await asyncio.sleep(120)
        job = await cluster.job()
        token = job["spec"]["id"]
        assert job["status"]["phase"] == "Done"
        assert await cluster.names(BATCH) == [f"toy-{token}-0", f"toy-{token}-1"]
        assert await cluster.names(f"{CORE}/services") == sorted(
            [f"beside-{token}", "j-worker-0", f"toy-{token}-0", f"toy-{token}-1"]
        )
        assert f"beside-{token}" in await cluster.names(f"{CORE}/configmaps")
        other = await cluster.ask("GET", f"{KUBEFLOW}/j")
        assert other["status"]["conditions"][-1]["type"] == "Succeeded"
        await stopped(operator, running)

    simulated(act, a_world)


def test_nothing_is_created_before_the_completed_spec_is_stored() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(10)
        about = [each for each in cluster.changes if each[1] not in {"events", "pods"}]
        own = [(kind, resource) for kind, resource, name in about if "toyjobs" in resource]
        assert own[:2] == [("ADDED", "toyjobs.toy.example"), ("MODIFIED", "toyjobs.toy.example")]
        place = about.index(("MODIFIED", "toyjobs.toy.example", "t"))
        assert not {"jobs.batch", "configmaps"} & {each[1] for each in about[:place]}
        await stopped(operator, running)

    simulated(act, a_world)


def test_job_that_cannot_be_read_is_neither_completed_nor_served() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job(replicas=0))
        await asyncio.sleep(30)
        job = await cluster.job()
        assert (job["status"]["phase"], "id" in job["spec"]) == ("Broken", False)
        assert await cluster.names(BATCH) == []
        await stopped(operator, running)

    simulated(act, a_world)


@pytest.mark.parametrize("is_over", [True, False])
def test_quiet_job_is_not_written_to_however_often_it_is_looked_at(*, is_over: bool) -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(120)
        status = (await cluster.job())["status"]
        assert (status["phase"], status["active"]) == (("Done", 0) if is_over else ("Working", 2))
        before = cluster.store.revision, cluster.writes()
        for _ in range(20):
            operator.controllers[1].enqueue_all()
            await asyncio.sleep(1)
        assert (cluster.store.revision, cluster.writes()) == before
        await stopped(operator, running)

    simulated(act, a_world if is_over else SimulatedCluster)


def test_status_follows_the_children_where_the_neutral_one_stays_the_same() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(60)
        assert (await cluster.job())["status"]["beside"] == ["ConfigMap", "Service"]
        await cluster.ask("POST", DEFINITIONS, board_crd())
        await asyncio.sleep(60)
        assert (await cluster.job())["status"]["beside"] == ["Board", "ConfigMap", "Service"]
        await stopped(operator, running)

    simulated(act, SimulatedCluster)


def test_object_of_an_optional_kind_is_created_once_served_and_updated_even_after_the_end() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start(KubeflowV1(), FakeDialect())
        await cluster.ask("POST", DEFINITIONS, board_crd())
        operator = cluster.operator()
        running = asyncio.create_task(operator.run())
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(120)
        job = await cluster.job()
        assert job["status"]["phase"] == "Done"
        path = f"{BOARDS}/beside-{job['spec']['id']}"
        assert (await cluster.ask("GET", path))["spec"] == {"suspend": False}
        job["spec"]["boardAsleep"] = True
        await cluster.ask("PUT", f"{JOBS}/t", job)
        await asyncio.sleep(10)
        assert (await cluster.ask("GET", path))["spec"] == {"suspend": True}
        await stopped(operator, running)

    simulated(act, a_world)


def test_trouble_with_a_child_is_shown_while_it_lasts() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        taken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside-mine"}}
        await cluster.ask("POST", f"{CORE}/configmaps", taken)
        await cluster.ask("POST", JOBS, fake_job(id="mine"))
        await asyncio.sleep(30)
        assert "already exists" in (await cluster.job())["status"]["trouble"]
        before = cluster.store.revision
        await asyncio.sleep(60)
        changes = [each for each in cluster.changes if "toyjobs" in each[1]]
        await cluster.ask("DELETE", f"{CORE}/configmaps/beside-mine")
        await asyncio.sleep(400)
        assert (await cluster.job())["status"]["trouble"] == ""
        assert cluster.store.revision > before
        assert len(changes) < 8
        await stopped(operator, running)

    simulated(act, SimulatedCluster)


def test_events_name_the_dialect_that_tells_them() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job())
        await cluster.ask("POST", KUBEFLOW, tfjob("W1"))
        await asyncio.sleep(60)
        await stopped(operator, running)
        events = (await cluster.ask("GET", f"{CORE}/events"))["items"]
        tellers = {
            each["involvedObject"]["kind"]: each["source"]["component"]
            for each in events
            if each["involvedObject"]["kind"] in {"ToyJob", "TFJob"}
        }
        assert tellers == {"ToyJob": "toy-controller", "TFJob": "tfjob-controller"}

    simulated(act, SimulatedCluster)


def test_changes_of_pods_reach_a_job_whose_name_is_longer_than_a_label() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job(name=LONG))
        await asyncio.sleep(120)
        assert (await cluster.job(LONG))["status"]["phase"] == "Done"
        await stopped(operator, running)

    simulated(act, a_world)


def test_missing_api_is_said_once_and_served_once_it_is_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start(KubeflowV1())
        operator = cluster.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(100)
        assert operator.is_ready
        await cluster.ask("POST", DEFINITIONS, FakeDialect().crd())
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(150)
        assert operator.is_ready
        assert (await cluster.job())["status"]["phase"] == "Done"
        count = operator.metrics.registry.get_sample_value
        labels = {"job_namespace": "default", "framework": "tensorflow"}
        assert count("training_operator_jobs_successful_total", labels) == 1
        assert count("workqueue_depth", {"name": "toy-controller"}) == 0
        await stopped(operator, running)

    with caplog.at_level(logging.WARNING):
        simulated(act, a_world)
    missing = [each for each in caplog.records if "API not served" in each.getMessage()]
    assert [vars(each)["kind"] for each in missing] == ["ToyJob.toy.example"]


def test_operator_without_any_api_stops_immediately() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start()
        operator = cluster.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(30)
        before = asyncio.get_running_loop().time()
        await stopped(operator, running)
        assert asyncio.get_running_loop().time() - before < 1

    simulated(act, SimulatedCluster)


def test_deleted_job_takes_everything_with_it() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(30)
        await cluster.ask("DELETE", f"{JOBS}/t")
        await asyncio.sleep(60)
        assert await cluster.names(BATCH) == []
        assert await cluster.names(f"{CORE}/pods") == []
        assert await cluster.names(f"{CORE}/services") == []
        await stopped(operator, running)

    simulated(act, SimulatedCluster)


@pytest.mark.parametrize("seed", range(12))
def test_job_ends_right_and_is_created_once_under_faults(seed: int) -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start(KubeflowV1(), FakeDialect())
        cluster.injector.is_calm, cluster.injector.fault_rate = False, 0.2
        operating = asyncio.create_task(cluster.operate())
        await cluster.ask("POST", JOBS, fake_job())
        await asyncio.sleep(300)
        cluster.injector.is_calm = True
        await asyncio.sleep(900)
        job = await cluster.job()
        token = job["spec"]["id"]
        made = [name for kind, where, name in cluster.changes if (kind, where) == ADDED_BATCH_JOB]
        assert job["status"]["phase"] == "Done"
        # The first of them decides alone, and may have ended before the other could be made.
        assert f"toy-{token}-0" in made
        assert set(made) <= {f"toy-{token}-0", f"toy-{token}-1"}
        assert len(made) == len(set(made))
        before = cluster.store.revision, cluster.writes()
        await asyncio.sleep(60)
        assert (cluster.store.revision, cluster.writes()) == before
        await end(operating)

    simulated(act, lambda: SimulatedCluster(seed, exit_codes={"toy-": [137, 0]}))


ADDED_BATCH_JOB = ("ADDED", "jobs.batch")
