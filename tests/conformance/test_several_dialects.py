"""One operator for all job APIs, even if some are missing or installed later."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.toolchain import Unavailable
from tests.support.dialect_jobs import Jobs, id_of, phase_of, tf_job, training_job
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet, runs
from tests.support.job_fixture import JobFixture
from tests.support.local_apiserver.process import ApiServerProcess
from tests.support.tfjobs import tfjob
from tfjob.sdk.jobs import stored_dialects

Json = dict[str, Any]
pytestmark = pytest.mark.timeout(func_only=True)
CRDS = {each.group: each.crd() for each in stored_dialects()}
JOBS = {
    "kubeflow.org": tfjob("W1"),
    "tensorflow.org": tf_job(),
    "batch.tensorstack.dev": training_job(),
}
MISSING = "API not served, waiting for its CRD"


@pytest.fixture(params=["kubernetes", "local"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[ControlPlane | ApiServerProcess]:
    """An API server of each kind that knows no jobs yet."""
    made = (
        ControlPlane(folder=tmp_path)
        if request.param == "kubernetes"
        else ApiServerProcess(tmp_path)
    )
    try:
        made.start()
    except Unavailable as missing:
        pytest.skip(f"NO REAL CONTROL PLANE: {missing}")
    yield made
    made.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ApiServerProcess]:
    made = ApiServerProcess(tmp_path)
    made.start()
    yield made
    made.stop()


async def runs_a_job_of(fixture: JobFixture, group: str) -> None:
    job = JOBS[group]
    jobs = Jobs(fixture, job["apiVersion"])
    await jobs.create(job)
    await jobs.comes_to("Running")
    await jobs.clear()


def told_missing(env: Environment) -> list[str]:
    """The groups of the APIs that the operator has missed, as often as it said so."""
    lines = map(json.loads, env.operator.log.read_text().splitlines())
    kinds = [each["kind"] for each in lines if each["msg"] == MISSING]
    return sorted(kind.partition(".")[2] for kind in kinds)


@asynccontextmanager
async def scene_of(env: Environment) -> AsyncIterator[JobFixture]:
    """A namespace with a kubelet, also where there are no TFJobs to be deleted in the end."""
    namespace = await asyncio.to_thread(env.server.create_namespace)
    async with (
        FakeKubelet(env.endpoint, namespace=namespace) as kubelet,
        JobFixture(env, kubelet, namespace=namespace) as fixture,
    ):
        yield fixture


def world_with(server: ControlPlane | ApiServerProcess, groups: Sequence[str]) -> Environment:
    first, *others = groups
    env = Environment("partial", server, crd=CRDS[first])
    server.install_crds([CRDS[each] for each in others])
    env.operator.start()
    return env


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
    own: ApiServerProcess, groups: list[str]
) -> None:
    env = await asyncio.to_thread(world_with, own, groups)
    async with scene_of(env) as fixture:
        fixture.kubelet.script("*", runs)
        for group in groups:
            await runs_a_job_of(fixture, group)
        assert told_missing(env) == sorted(CRDS.keys() - set(groups))
    env.close()


async def test_api_that_is_installed_later_is_taken_up(
    server: ControlPlane | ApiServerProcess,
) -> None:
    env = await asyncio.to_thread(world_with, server, ["tensorflow.org"])
    async with scene_of(env) as fixture:
        fixture.kubelet.script("*", runs)
        await runs_a_job_of(fixture, "tensorflow.org")
        later = sorted(CRDS.keys() - {"tensorflow.org"})
        await asyncio.to_thread(server.install_crds, [CRDS[each] for each in later])
        for group in later:
            await runs_a_job_of(fixture, group)
        assert told_missing(env) == later
    env.close()


async def test_jobs_of_all_apis_run_side_by_side_and_under_one_name(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    every = [Jobs(fixture, job["apiVersion"]) for job in JOBS.values()]
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
    shown = fixture.env.kubectl("get", "tfjobs.tensorflow.org,tj", "-n", fixture.namespace)
    assert "tfjob.tensorflow.org/j" in shown
    assert "tensorflowtrainingjob.batch.tensorstack.dev/j" in shown
    await every[1].delete()
    await every[1].has("services", names - {f"master-{old}-0"})
    assert [phase_of(await every[index].get()) for index in (0, 2)] == ["Running", "Running"]
    for jobs in every:
        await jobs.clear()
