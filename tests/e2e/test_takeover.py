"""Jobs move from the Go training-operator to ours and back, and their pods are not touched."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.controlplane.cluster import ControlPlane, PlaneStarter
from tests.support.controlplane.toolchain import Toolchain
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.go_operator import GoOperator
from tests.support.job_fixture import JobFixture, conditions_of, counts_of, job_fixture_in
from tfjob.dialects.kubeflow.v1 import KubeflowV1

Json = dict[str, Any]
FINISHED = ("done", "lost")
LEGAL = {"Created", "Running", "Restarting", "Succeeded", "Failed", "Suspended"}


@pytest.fixture
def plane(start_control_plane: PlaneStarter) -> ControlPlane:
    return start_control_plane()


@pytest.fixture
def go_operator(plane: ControlPlane) -> Iterator[GoOperator]:
    """The Go operator with everything it needs, not started yet."""
    found = GoOperator(plane, Toolchain(os.environ))
    found.prepare()
    yield found
    found.close()


@pytest.fixture
def shared(plane: ControlPlane, go_operator: GoOperator) -> Iterator[Environment]:
    """A cluster of the Go operator, ours not started yet."""
    plane.install_crds([go_operator.crd("pytorchjobs")])
    env = Environment("kubernetes", plane, crd=go_operator.crd())
    yield env
    env.close()


async def uids(fixture: JobFixture) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}


async def service_uids(fixture: JobFixture) -> dict[str, str]:
    return {name: each["metadata"]["uid"] for name, each in (await fixture.services()).items()}


async def finished(fixture: JobFixture) -> list[Json]:
    return [(await fixture.job(name))["status"] for name in FINISHED]


async def are_legal(fixture: JobFixture, *names: str) -> None:
    """No condition twice, no two that exclude each other, and an end that says when."""
    for name in names:
        job = await fixture.job(name)
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


async def start_jobs(fixture: JobFixture) -> None:
    """One job of each kind of life, brought there by whoever is in charge."""
    fixture.kubelet.script("done-*", runs, exits(0))
    fixture.kubelet.script("lost-*", runs, exits(1))
    fixture.kubelet.script("again-worker-0", runs)
    fixture.kubelet.script("*", runs)
    await fixture.submit("C1 P1 W2", name="runs", restart="ExitCode")
    await fixture.submit("W1", name="done")
    await fixture.submit("W1", name="lost")
    await fixture.submit("W2", name="again", restart="ExitCode")
    await fixture.submit("W1", name="held", run_policy={"suspend": True})
    await fixture.until("runs", lambda job: counts_of(job) == {"active": 2}, name="runs")
    await fixture.until("again", lambda job: counts_of(job) == {"active": 2}, name="again")
    await fixture.comes_to("Succeeded", name="done")
    await fixture.comes_to("Failed", name="lost")
    await fixture.comes_to("Suspended", name="held")
    await fixture.comes_to("Running", name="runs")
    first = fixture.kubelet.pods["again-worker-1"]
    await fixture.kubelet.finish("again-worker-1", exit_code=137)
    await fixture.kubelet.gone(first)
    await fixture.kubelet.appears("again-worker-1")
    await fixture.comes_to("Running", name="again")
    await fixture.until("again", lambda job: counts_of(job) == {"active": 2}, name="again")


JOBS = ("runs", "again", "held", *FINISHED)


@pytest.mark.timeout(300, func_only=True)
async def test_jobs_of_the_go_operator_continue_under_ours_and_back(
    shared: Environment, go_operator: GoOperator
) -> None:
    await asyncio.to_thread(go_operator.start)
    async with job_fixture_in(shared) as fixture:
        await start_jobs(fixture)
        pods, services, ends = (
            await uids(fixture),
            await service_uids(fixture),
            await finished(fixture),
        )
        go_operator.kill()

        shared.replace_crd(KubeflowV1().crd())
        await asyncio.to_thread(shared.operator.start)
        await fixture.settled()
        assert await uids(fixture) == pods
        assert await service_uids(fixture) == services
        assert await finished(fixture) == ends
        await are_legal(fixture, *JOBS)
        assert conditions_of(await fixture.job("runs")) == ["Created", "Running"]

        # Ours carries on: a restart, a resumption, an end, and a new job.
        first = fixture.kubelet.pods["again-worker-1"]
        await fixture.kubelet.finish("again-worker-1", exit_code=137)
        await fixture.kubelet.gone(first)
        await fixture.kubelet.appears("again-worker-1")
        await fixture.patch({"runPolicy": {"suspend": False}}, name="held")
        await fixture.comes_to("Running", name="held")
        await fixture.kubelet.finish("runs-chief-0", exit_code=0)
        await fixture.comes_to("Succeeded", name="runs")
        await fixture.submit("C1 W1", name="new", restart="ExitCode")
        await fixture.comes_to("Running", name="new")
        await fixture.until("again", lambda job: counts_of(job) == {"active": 2}, name="again")
        await are_legal(fixture, *JOBS, "new")

        pods, services, ends = (
            await uids(fixture),
            await service_uids(fixture),
            await finished(fixture),
        )
        ended = (await fixture.job("runs"))["status"]["conditions"]
        assert await asyncio.to_thread(shared.operator.stop) == 0
        shared.replace_crd(go_operator.crd())
        await asyncio.to_thread(go_operator.start)
        # A job of its own shows that the Go operator has seen everything there was before.
        await fixture.submit("W1", name="marker")
        await fixture.comes_to("Running", name="marker")
        now = await uids(fixture)
        assert now.pop("marker-worker-0")
        assert now == pods
        assert [each["conditions"] for each in await finished(fixture)] == [
            each["conditions"] for each in ends
        ]
        assert (await fixture.job("runs"))["status"]["conditions"] == ended
        assert conditions_of(await fixture.job("new"))[:2] == ["Created", "Running"]
        await fixture.kubelet.finish("new-chief-0", exit_code=0)
        await fixture.comes_to("Succeeded", name="new")
        await are_legal(fixture, "new", "again", "held", *FINISHED)
