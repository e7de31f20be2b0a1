"""A made-up API of jobs is served from creation to success: a dialect is all that it takes."""

import asyncio
import logging

import pytest

from tests.support.simulation.world import DEFINITIONS, end
from tests.support.tfjobs import tfjob
from tests.support.toy_dialect import JOBS, ToyDialect, board_crd, toy_job
from tests.support.toy_world import BATCH, CORE, ToyWorld, played
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.app import Operator

KUBEFLOW = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
BOARDS = "/apis/boards.example/v1/namespaces/default/boards"
LONG = "a-job-with-a-name-that-is-longer-than-any-label-may-be-which-is-63-letters"


async def started(world: ToyWorld) -> tuple[Operator, asyncio.Task[None]]:
    await world.start(KubeflowV1(), ToyDialect())
    operator = world.operator()
    return operator, asyncio.create_task(operator.run())


async def stopped(operator: Operator, running: asyncio.Task[None]) -> None:
    operator.stop()
    await running


def a_world() -> ToyWorld:
    return ToyWorld(fates={"toy-": [0], "j-": [0]})


def test_job_goes_from_creation_to_success_beside_a_job_of_another_dialect() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job())
        await world.ask("POST", KUBEFLOW, tfjob("W1"))
        await asyncio.sleep(120)
        job = await world.job()
        token = job["spec"]["id"]
        assert job["status"]["phase"] == "Done"
        assert await world.names(BATCH) == [f"toy-{token}-0", f"toy-{token}-1"]
        assert await world.names(f"{CORE}/services") == sorted(
            [f"beside-{token}", "j-worker-0", f"toy-{token}-0", f"toy-{token}-1"]
        )
        assert f"beside-{token}" in await world.names(f"{CORE}/configmaps")
        other = await world.ask("GET", f"{KUBEFLOW}/j")
        assert other["status"]["conditions"][-1]["type"] == "Succeeded"
        await stopped(operator, running)

    played(act, a_world)


def test_nothing_is_made_before_the_completed_spec_is_stored() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(10)
        about = [each for each in world.changes if each[1] not in {"events", "pods"}]
        own = [(kind, resource) for kind, resource, name in about if "toyjobs" in resource]
        assert own[:2] == [("ADDED", "toyjobs.toy.example"), ("MODIFIED", "toyjobs.toy.example")]
        place = about.index(("MODIFIED", "toyjobs.toy.example", "t"))
        assert not {"jobs.batch", "configmaps"} & {each[1] for each in about[:place]}
        await stopped(operator, running)

    played(act, a_world)


def test_job_that_cannot_be_read_is_neither_completed_nor_served() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job(replicas=0))
        await asyncio.sleep(30)
        job = await world.job()
        assert (job["status"]["phase"], "id" in job["spec"]) == ("Broken", False)
        assert await world.names(BATCH) == []
        await stopped(operator, running)

    played(act, a_world)


@pytest.mark.parametrize("is_over", [True, False])
def test_quiet_job_is_not_written_to_however_often_it_is_looked_at(*, is_over: bool) -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(120)
        status = (await world.job())["status"]
        assert (status["phase"], status["active"]) == (("Done", 0) if is_over else ("Working", 2))
        before = world.store.revision, world.writes()
        for _ in range(20):
            operator.controllers[1].enqueue_all()
            await asyncio.sleep(1)
        assert (world.store.revision, world.writes()) == before
        await stopped(operator, running)

    played(act, a_world if is_over else ToyWorld)


def test_status_follows_the_children_where_the_neutral_one_stays_the_same() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(60)
        assert (await world.job())["status"]["beside"] == ["ConfigMap", "Service"]
        await world.ask("POST", DEFINITIONS, board_crd())
        await asyncio.sleep(60)
        assert (await world.job())["status"]["beside"] == ["Board", "ConfigMap", "Service"]
        await stopped(operator, running)

    played(act, ToyWorld)


def test_optional_kind_is_made_once_there_and_kept_as_the_job_says_also_after_its_end() -> None:
    async def act(world: ToyWorld) -> None:
        await world.start(KubeflowV1(), ToyDialect())
        await world.ask("POST", DEFINITIONS, board_crd())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(120)
        job = await world.job()
        assert job["status"]["phase"] == "Done"
        path = f"{BOARDS}/beside-{job['spec']['id']}"
        assert (await world.ask("GET", path))["spec"] == {"suspend": False}
        job["spec"]["boardAsleep"] = True
        await world.ask("PUT", f"{JOBS}/t", job)
        await asyncio.sleep(10)
        assert (await world.ask("GET", path))["spec"] == {"suspend": True}
        await stopped(operator, running)

    played(act, a_world)


def test_trouble_with_a_child_is_shown_while_it_lasts() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        taken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside-mine"}}
        await world.ask("POST", f"{CORE}/configmaps", taken)
        await world.ask("POST", JOBS, toy_job(id="mine"))
        await asyncio.sleep(30)
        assert "already exists" in (await world.job())["status"]["trouble"]
        before = world.store.revision
        await asyncio.sleep(60)
        changes = [each for each in world.changes if "toyjobs" in each[1]]
        await world.ask("DELETE", f"{CORE}/configmaps/beside-mine")
        await asyncio.sleep(400)
        assert (await world.job())["status"]["trouble"] == ""
        assert world.store.revision > before
        assert len(changes) < 8
        await stopped(operator, running)

    played(act, ToyWorld)


def test_events_name_the_dialect_that_tells_them() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job())
        await world.ask("POST", KUBEFLOW, tfjob("W1"))
        await asyncio.sleep(60)
        await stopped(operator, running)
        events = (await world.ask("GET", f"{CORE}/events"))["items"]
        tellers = {
            each["involvedObject"]["kind"]: each["source"]["component"]
            for each in events
            if each["involvedObject"]["kind"] in {"ToyJob", "TFJob"}
        }
        assert tellers == {"ToyJob": "toy-controller", "TFJob": "tfjob-controller"}

    played(act, ToyWorld)


def test_news_of_pods_reach_a_job_whose_name_is_longer_than_a_label() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job(name=LONG))
        await asyncio.sleep(120)
        assert (await world.job(LONG))["status"]["phase"] == "Done"
        await stopped(operator, running)

    played(act, a_world)


def test_missing_api_is_said_once_and_served_once_it_is_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(world: ToyWorld) -> None:
        await world.start(KubeflowV1())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(100)
        assert operator.is_ready
        await world.ask("POST", DEFINITIONS, ToyDialect().crd())
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(150)
        assert operator.is_ready
        assert (await world.job())["status"]["phase"] == "Done"
        count = operator.metrics.registry.get_sample_value
        labels = {"job_namespace": "default", "framework": "tensorflow"}
        assert count("training_operator_jobs_successful_total", labels) == 1
        assert count("workqueue_depth", {"name": "toy-controller"}) == 0
        await stopped(operator, running)

    with caplog.at_level(logging.WARNING):
        played(act, a_world)
    missing = [each for each in caplog.records if "API not there" in each.getMessage()]
    assert [vars(each)["kind"] for each in missing] == ["ToyJob.toy.example"]


def test_operator_without_any_api_ends_at_once_when_told() -> None:
    async def act(world: ToyWorld) -> None:
        await world.start()
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(30)
        before = asyncio.get_running_loop().time()
        await stopped(operator, running)
        assert asyncio.get_running_loop().time() - before < 1

    played(act, ToyWorld)


def test_deleted_job_takes_everything_with_it() -> None:
    async def act(world: ToyWorld) -> None:
        operator, running = await started(world)
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(30)
        await world.ask("DELETE", f"{JOBS}/t")
        await asyncio.sleep(60)
        assert await world.names(BATCH) == []
        assert await world.names(f"{CORE}/pods") == []
        assert await world.names(f"{CORE}/services") == []
        await stopped(operator, running)

    played(act, ToyWorld)


@pytest.mark.parametrize("seed", range(12))
def test_job_ends_right_and_is_made_once_in_any_weather(seed: int) -> None:
    async def act(world: ToyWorld) -> None:
        await world.start(KubeflowV1(), ToyDialect())
        world.weather.is_calm, world.weather.mishaps = False, 0.2
        operating = asyncio.create_task(world.operate())
        await world.ask("POST", JOBS, toy_job())
        await asyncio.sleep(300)
        world.weather.is_calm = True
        await asyncio.sleep(900)
        job = await world.job()
        token = job["spec"]["id"]
        made = [name for kind, where, name in world.changes if (kind, where) == ADDED_BATCH_JOB]
        assert job["status"]["phase"] == "Done"
        # The first of them decides alone, and may have ended before the other could be made.
        assert f"toy-{token}-0" in made
        assert set(made) <= {f"toy-{token}-0", f"toy-{token}-1"}
        assert len(made) == len(set(made))
        before = world.store.revision, world.writes()
        await asyncio.sleep(60)
        assert (world.store.revision, world.writes()) == before
        await end(operating)

    played(act, lambda: ToyWorld(seed, fates={"toy-": [137, 0]}))


ADDED_BATCH_JOB = ("ADDED", "jobs.batch")
