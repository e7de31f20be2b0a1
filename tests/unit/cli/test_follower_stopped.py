"""A followed job that the user or its time limit ends."""

import asyncio
from typing import Any

import pytest

from tests.support.local_apiserver.serving import ended, running
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tests.unit.cli.followed_job import Play
from tfjob.cli.follower import Outcome
from tfjob.client.errors import ApiError
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.resource import PODS
from tfjob.sdk.connection import Cluster


@pytest.mark.parametrize(
    ("options", "outcome", "end"),
    [
        ({}, Outcome.INTERRUPTED, "are killed"),
        ({"keeps_cluster": True}, Outcome.INTERRUPTED, "are killed"),
        ({"limit": 0.01}, Outcome.TIMED_OUT, "are killed"),
        (
            {"limit": 0.01, "keeps_cluster": True},
            Outcome.TIMED_OUT,
            "keep running until the cluster ends",
        ),
    ],
)
async def test_a_job_that_cannot_be_deleted_says_what_becomes_of_its_processes(
    bare_cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    outcome: Outcome,
    end: str,
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise ApiError("the disk is full", status=500)

    monkeypatch.setattr(Api, "delete", full)
    play = await Play.of(bare_cluster, tfjob("W2"), **options)
    if outcome is Outcome.INTERRUPTED:
        play.interrupts.hear()
    assert await play.begin() is outcome
    message = f"j: cannot be deleted, its processes {end}: the disk is full"
    assert play.screen.messages[-1] == message
    assert [is_good for _, is_good in play.screen.verdicts] == [False]
    assert (play.screen.state == "Stopped") is (end == "are killed")


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


async def test_a_second_interrupt_does_not_wait_for_pods(play: Play) -> None:
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


async def test_the_time_limit_ends_the_job_and_names_the_grace_period(
    bare_cluster: Cluster,
) -> None:
    play = await Play.of(bare_cluster, tfjob("W1"), limit=0.01)
    assert await play.begin() is Outcome.TIMED_OUT
    assert play.screen.messages[0].startswith("j is ended at ")
    assert play.screen.messages[1:] == [
        "j: not finished within 0.01 s; its processes have 30 s to end (Ctrl-C kills them now)"
    ]
    assert play.screen.verdicts == [("j: not finished within 0.01 s", False)]
