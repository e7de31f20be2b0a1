"""Jobs pass from the Go training-operator to ours and back, and nobody in them notices."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.controlplane.cluster import ControlPlane, PlaneStarter
from tests.support.controlplane.puppet import exits, runs
from tests.support.controlplane.toolchain import Toolchain
from tests.support.peer import Peer
from tests.support.scene import Scene, conditions_of, counts_of, scene_in
from tests.support.worlds import World
from tfjob.dialects.kubeflow.v1 import KubeflowV1

Json = dict[str, Any]
FINISHED = ("done", "lost")
LEGAL = {"Created", "Running", "Restarting", "Succeeded", "Failed", "Suspended"}


@pytest.fixture
def plane(start_control_plane: PlaneStarter) -> ControlPlane:
    return start_control_plane()


@pytest.fixture
def peer(plane: ControlPlane) -> Iterator[Peer]:
    """The Go operator with everything it needs, not started yet."""
    found = Peer(plane, Toolchain(os.environ))
    found.prepare()
    yield found
    found.close()


@pytest.fixture
def shared(plane: ControlPlane, peer: Peer) -> Iterator[World]:
    """A cluster of the Go operator, ours not started yet."""
    plane.install_crds([peer.crd("pytorchjobs")])
    world = World("kubernetes", plane, crd=peer.crd())
    yield world
    world.close()


async def uids(scene: Scene) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in (await scene.pods()).items()}


async def service_uids(scene: Scene) -> dict[str, str]:
    return {name: each["metadata"]["uid"] for name, each in (await scene.services()).items()}


async def finished(scene: Scene) -> list[Json]:
    return [(await scene.job(name))["status"] for name in FINISHED]


async def are_legal(scene: Scene, *names: str) -> None:
    """No condition twice, no two that exclude each other, and an end that says when."""
    for name in names:
        job = await scene.job(name)
        found = conditions_of(job)
        kinds = [each.removesuffix("=F") for each in found]
        assert len(kinds) == len(set(kinds))
        assert set(kinds) <= LEGAL
        assert kinds[0] == "Created"
        assert not {"Running", "Restarting"} <= set(found)
        assert not {"Succeeded", "Failed"} <= set(found)
        if {"Succeeded", "Failed"} & set(found):
            assert "Running" not in found
            assert "completionTime" in job["status"]


async def start_jobs(scene: Scene) -> None:
    """One job of each kind of life, brought there by whoever is in charge."""
    scene.puppet.play("done-*", runs, exits(0))
    scene.puppet.play("lost-*", runs, exits(1))
    scene.puppet.play("again-worker-0", runs)
    scene.puppet.play("*", runs)
    await scene.submit("C1 P1 W2", name="runs", restart="ExitCode")
    await scene.submit("W1", name="done")
    await scene.submit("W1", name="lost")
    await scene.submit("W2", name="again", restart="ExitCode")
    await scene.submit("W1", name="held", run_policy={"suspend": True})
    await scene.until("runs", lambda job: counts_of(job) == {"active": 2}, name="runs")
    await scene.until("again", lambda job: counts_of(job) == {"active": 2}, name="again")
    await scene.comes_to("Succeeded", name="done")
    await scene.comes_to("Failed", name="lost")
    await scene.comes_to("Suspended", name="held")
    await scene.comes_to("Running", name="runs")
    first = scene.puppet.pods["again-worker-1"]
    await scene.puppet.finish("again-worker-1", exit_code=137)
    await scene.puppet.gone(first)
    await scene.puppet.appears("again-worker-1")
    await scene.comes_to("Running", name="again")
    await scene.until("again", lambda job: counts_of(job) == {"active": 2}, name="again")


JOBS = ("runs", "again", "held", *FINISHED)


@pytest.mark.timeout(300, func_only=True)
async def test_jobs_of_the_go_operator_go_on_under_ours_and_back(shared: World, peer: Peer) -> None:
    await asyncio.to_thread(peer.start)
    async with scene_in(shared) as scene:
        await start_jobs(scene)
        pods, services, ends = await uids(scene), await service_uids(scene), await finished(scene)
        peer.kill()

        shared.replace_crd(KubeflowV1().crd())
        await asyncio.to_thread(shared.operator.start)
        await scene.settled()
        assert await uids(scene) == pods
        assert await service_uids(scene) == services
        assert await finished(scene) == ends
        await are_legal(scene, *JOBS)
        assert conditions_of(await scene.job("runs")) == ["Created", "Running"]

        # Ours carries on: a restart, a resumption, an end, and a new job.
        first = scene.puppet.pods["again-worker-1"]
        await scene.puppet.finish("again-worker-1", exit_code=137)
        await scene.puppet.gone(first)
        await scene.puppet.appears("again-worker-1")
        await scene.patch({"runPolicy": {"suspend": False}}, name="held")
        await scene.comes_to("Running", name="held")
        await scene.puppet.finish("runs-chief-0", exit_code=0)
        await scene.comes_to("Succeeded", name="runs")
        await scene.submit("C1 W1", name="new", restart="ExitCode")
        await scene.comes_to("Running", name="new")
        await scene.until("again", lambda job: counts_of(job) == {"active": 2}, name="again")
        await are_legal(scene, *JOBS, "new")

        pods, services, ends = await uids(scene), await service_uids(scene), await finished(scene)
        ended = (await scene.job("runs"))["status"]["conditions"]
        assert await asyncio.to_thread(shared.operator.stop) == 0
        shared.replace_crd(peer.crd())
        await asyncio.to_thread(peer.start)
        # A job of the peer's own shows that it has looked at what there was before.
        await scene.submit("W1", name="marker")
        await scene.comes_to("Running", name="marker")
        now = await uids(scene)
        assert now.pop("marker-worker-0")
        assert now == pods
        assert [each["conditions"] for each in await finished(scene)] == [
            each["conditions"] for each in ends
        ]
        assert (await scene.job("runs"))["status"]["conditions"] == ended
        assert conditions_of(await scene.job("new"))[:2] == ["Created", "Running"]
        await scene.puppet.finish("new-chief-0", exit_code=0)
        await scene.comes_to("Succeeded", name="new")
        await are_legal(scene, "new", "again", "held", *FINISHED)
