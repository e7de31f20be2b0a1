"""One operator for all APIs of jobs, also where some are missing or come later."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.puppet import Puppet, runs
from tests.support.controlplane.toolchain import Unavailable
from tests.support.dialect_jobs import Jobs, id_of, phase_of, tf_job, training_job
from tests.support.own_server import OwnServer
from tests.support.scene import Scene
from tests.support.tfjobs import tfjob
from tests.support.worlds import World
from tfjob.cli.jobs import stored_dialects

Json = dict[str, Any]
pytestmark = pytest.mark.timeout(180, func_only=True)
CRDS = {each.group: each.crd() for each in stored_dialects()}
JOBS = {
    "kubeflow.org": tfjob("W1"),
    "tensorflow.org": tf_job(),
    "batch.tensorstack.dev": training_job(),
}
MISSING = "API not there: its jobs are served once it is"


@pytest.fixture(params=["kubernetes", "own"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ControlPlane | OwnServer]:
    """An API server of each kind that knows no jobs yet."""
    made = ControlPlane(folder=tmp_path) if request.param == "kubernetes" else OwnServer(tmp_path)
    try:
        made.start()
    except Unavailable as missing:
        pytest.skip(f"NO REAL CONTROL PLANE: {missing}")
    yield made
    made.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnServer]:
    made = OwnServer(tmp_path)
    made.start()
    yield made
    made.stop()


async def runs_a_job_of(scene: Scene, group: str) -> None:
    job = JOBS[group]
    jobs = Jobs(scene, job["apiVersion"])
    await jobs.create(job)
    await jobs.comes_to("Running")
    await jobs.clear()


def told_missing(world: World) -> list[str]:
    """The groups of the APIs that the operator has missed, as often as it said so."""
    lines = map(json.loads, world.operator.log.read_text().splitlines())
    kinds = [each["kind"] for each in lines if each["msg"] == MISSING]
    return sorted(kind.partition(".")[2] for kind in kinds)


@asynccontextmanager
async def scene_of(world: World) -> AsyncIterator[Scene]:
    """A namespace with a kubelet, also where there are no TFJobs to be deleted in the end."""
    namespace = await asyncio.to_thread(world.server.create_namespace)
    async with (
        Puppet(world.endpoint, namespace=namespace) as puppet,
        Scene(world, puppet, namespace=namespace) as scene,
    ):
        yield scene


def world_with(server: ControlPlane | OwnServer, groups: Sequence[str]) -> World:
    first, *others = groups
    world = World("partial", server, crd=CRDS[first])
    server.install_crds([CRDS[each] for each in others])
    world.operator.start()
    return world


@pytest.mark.parametrize(
    "groups",
    [
        ["kubeflow.org"],
        ["tensorflow.org"],
        ["batch.tensorstack.dev"],
        ["kubeflow.org", "tensorflow.org"],
        ["kubeflow.org", "batch.tensorstack.dev"],
        ["tensorflow.org", "batch.tensorstack.dev"],
    ],
    ids="+".join,
)
async def test_operator_serves_what_is_there_and_says_once_what_is_not(
    own: OwnServer, groups: list[str]
) -> None:
    world = await asyncio.to_thread(world_with, own, groups)
    async with scene_of(world) as scene:
        scene.puppet.play("*", runs)
        for group in groups:
            await runs_a_job_of(scene, group)
        assert told_missing(world) == sorted(CRDS.keys() - set(groups))
    world.close()


async def test_api_that_is_installed_later_is_taken_up(server: ControlPlane | OwnServer) -> None:
    world = await asyncio.to_thread(world_with, server, ["tensorflow.org"])
    async with scene_of(world) as scene:
        scene.puppet.play("*", runs)
        await runs_a_job_of(scene, "tensorflow.org")
        later = sorted(CRDS.keys() - {"tensorflow.org"})
        await asyncio.to_thread(server.install_crds, [CRDS[each] for each in later])
        for group in later:
            await runs_a_job_of(scene, group)
        assert told_missing(world) == later
    world.close()


async def test_jobs_of_all_apis_run_side_by_side_and_under_one_name(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    every = [Jobs(scene, job["apiVersion"]) for job in JOBS.values()]
    for jobs, job in zip(every, JOBS.values(), strict=True):
        await jobs.create(job)
    found = [await jobs.comes_to("Running") for jobs in every]
    old, new = (id_of(found[index]) for index in (1, 2))
    names = {"j-worker-0", f"master-{old}-0", f"j-{new}-worker-0"}
    assert await every[0].owned("services") == names
    owners = {
        each["metadata"]["ownerReferences"][0]["uid"]
        for each in (await every[0].objects("services")).values()
    }
    assert owners == {each["metadata"]["uid"] for each in found}
    shown = scene.world.kubectl("get", "tfjobs.tensorflow.org,tj", "-n", scene.namespace)
    assert "tfjob.tensorflow.org/j" in shown
    assert "tensorflowtrainingjob.batch.tensorstack.dev/j" in shown
    await every[1].delete()
    await every[1].has("services", names - {f"master-{old}-0"})
    assert [phase_of(await every[index].get()) for index in (0, 2)] == ["Running", "Running"]
    for jobs in every:
        await jobs.clear()
