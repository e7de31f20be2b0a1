"""A followed job that the user or its time limit ends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import api_server_in_loop, ended, running
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tests.unit.cli.followed_job import Play
from tfjob.cli.follower import Outcome
from tfjob.client.errors import ApiError
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.resource import PODS
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with api_server_in_loop(tmp_path) as cluster:
        yield cluster


@pytest.fixture
async def play(cluster: Cluster) -> Play:
    job = tfjob("W2")
    return Play(cluster, await apply_all(cluster, [job], job=job))


async def test_an_interrupted_job_that_cannot_be_deleted_ends_all_the_same(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise ApiError("the disk is full", status=500)

    monkeypatch.setattr(Api, "delete", full)
    following = play.begin()
    await play.pod(0, running())
    await play.screen.until("last of j-worker-0")
    play.interrupts.hear()
    assert await following is Outcome.INTERRUPTED
    told = "j: cannot be deleted, its processes are killed: the disk is full"
    assert play.screen.messages[-1] == told
    assert play.screen.verdicts == [("j: interrupted", False)]


async def test_an_interrupt_deletes_the_job_and_waits_for_its_pods(play: Play) -> None:
    following = play.begin()
    await play.pod(0, ended(0))
    await play.screen.until("worker-0")
    play.interrupts.hear()
    assert await asyncio.wait_for(following, PATIENCE) is Outcome.INTERRUPTED
    assert play.screen.verdicts == [("j: interrupted", False)]
    assert not (await play.cluster.api.get(PODS.collection("default"), decode=dict))["items"]


async def test_an_interrupted_job_and_the_replicas_that_it_ends_are_stopped_and_not_failed(
    play: Play,
) -> None:
    following = play.begin()
    await play.pod(0, ended(3))
    await play.pod(1, running())
    path = PODS.item("j-worker-1", "default")
    keeps = {"metadata": {"finalizers": ["example.com/keep"]}}
    await play.cluster.api.patch(path, keeps, decode=PartialObjectMetadata)
    await play.screen.until("worker-0 Failed")
    play.interrupts.hear()
    await play.screen.until("worker-1 Terminating")
    assert play.screen.state == "Stopping"
    await play.report(1, ended(143))
    await play.screen.until("worker-1 Stopped exit code 143")
    released = {"metadata": {"finalizers": None}}
    await play.cluster.api.patch(path, released, decode=PartialObjectMetadata)
    assert await asyncio.wait_for(following, PATIENCE) is Outcome.INTERRUPTED
    assert play.screen.state == "Stopped"
    assert play.screen.rows == ["worker-0 Failed exit code 3", "worker-1 Stopped exit code 143"]


async def test_a_second_interrupt_waits_for_nobody(play: Play) -> None:
    following = play.begin()
    await play.pod(0, running())
    keeps = {"metadata": {"finalizers": ["example.com/keep"]}}
    path = PODS.item("j-worker-0", "default")
    await play.cluster.api.patch(path, keeps, decode=PartialObjectMetadata)
    await play.screen.until("worker-0")
    play.interrupts.hear()
    await play.screen.until("to end (Ctrl-C kills them now)")
    play.interrupts.hear()
    assert await asyncio.wait_for(following, PATIENCE) is Outcome.INTERRUPTED
    left = await play.cluster.api.get(path, decode=PartialObjectMetadata)
    assert left.metadata.is_terminating
    assert (play.screen.state, play.screen.rows) == (
        "Stopped",
        ["worker-0 Stopped the job has ended"],
    )


async def test_the_time_limit_ends_the_job_and_names_the_grace_period(cluster: Cluster) -> None:
    job = tfjob("W1")
    play = Play(cluster, await apply_all(cluster, [job], job=job), limit=0.01)
    assert await play.begin() is Outcome.TIMED_OUT
    assert play.screen.messages[0].startswith("j is ended at ")
    assert play.screen.messages[1:] == [
        "j: not finished within 0.01 s; its processes have 30 s to end (Ctrl-C kills them now)"
    ]
    assert play.screen.verdicts == [("j: not finished within 0.01 s", False)]
