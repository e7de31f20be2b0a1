import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import (
    Lines,
    api_server_in_loop,
    ended,
    put_status,
    running,
)
from tests.support.other_jobs import old_job
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tfjob.cli.apply import apply_all
from tfjob.cli.cluster import Cluster
from tfjob.cli.follower import Follower, Verdict
from tfjob.cli.jobs import Found
from tfjob.cli.run_output import ReplicaLine
from tfjob.cli.signals import Interrupts
from tfjob.client.http import Stored
from tfjob.client.resource import PODS

Json = dict[str, Any]


class Notes:
    """A screen that remembers, and wakes whoever waits for a word on it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.logs: list[str] = []
        self.rows: list[str] = []
        self.failures: list[tuple[str, str, list[str]]] = []
        self.verdicts: list[tuple[str, bool]] = []
        self._changed = asyncio.Event()

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)
        self._changed.set()

    def log(self, replica: str, line: str) -> None:
        self.logs.append(f"{replica} {line}")
        self._changed.set()

    def show(self, lines: Sequence[ReplicaLine], *, state: str) -> None:  # noqa: ARG002 - as asked
        self.rows = [f"{each.replica} {each.phase} {each.why}".strip() for each in lines]
        self._changed.set()

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self.failures.append((replica, why, list(lines)))

    def verdict(self, sentence: str, *, is_good: bool) -> None:
        self.verdicts.append((sentence, is_good))

    async def until(self, word: str) -> None:
        """A row, a line of a log or a sentence holds this word."""
        async with asyncio.timeout(PATIENCE):
            while not any(word in each for each in (*self.told, *self.logs, *self.rows)):
                self._changed.clear()
                await self._changed.wait()


class Play:
    """A job on a cluster without operator and node: the test plays both."""

    def __init__(self, cluster: Cluster, found: Found, *, logs: str = "all") -> None:
        self.cluster, self.found, self.screen = cluster, found, Notes()
        self.interrupts = Interrupts(leave=lambda _: None)
        self.follower = Follower(cluster, found, screen=self.screen, logs=logs)

    def begin(self, limit: float | None = None) -> "asyncio.Task[Verdict]":
        return asyncio.create_task(self.follower.run(limit=limit, interrupts=self.interrupts))

    async def pod(self, index: int, status: Json) -> None:
        name = f"j-worker-{index}"
        labels = {
            "training.kubeflow.org/job-name": "j",
            "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": str(index),
        }
        owner = self.found.job.owner.reference()
        body = {
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "tensorflow", "image": "x"}]},
        }
        await self.cluster.api.create(PODS.collection("default"), body, decode=Stored)
        await self.turn(index, status)

    async def turn(self, index: int, status: Json) -> None:
        """What a node would say of a pod."""
        path = PODS.item(f"j-worker-{index}", "default", subresource="status")
        await self.cluster.api.patch(path, {"status": status}, decode=Stored)

    async def end(self, kind: str, message: str) -> None:
        await put_status(self.cluster, "j", kind, message)


class FirstRunOnly(Lines):
    """Lines of a container until it is started again; then none."""

    def __init__(self) -> None:
        self.asked_again = asyncio.Event()

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        if pod["status"]["containerStatuses"][0].get("restartCount"):
            self.asked_again.set()
            return
        async for part in super().read(pod, options):
            yield part


def again_after(code: int) -> Json:
    """The status of a pod whose container ended with this code and runs again."""
    status = running()
    [container] = status["containerStatuses"]
    last = {"lastState": ended(code)["containerStatuses"][0]["state"]}
    return {**status, "containerStatuses": [{**container, **last, "restartCount": 1}]}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with api_server_in_loop(tmp_path) as cluster:
        yield cluster


@pytest.fixture
async def play(cluster: Cluster) -> Play:
    job = tfjob("W2")
    return Play(cluster, await apply_all(cluster, [job], job=job))


@pytest.mark.scenario("R45")
async def test_success_is_told_with_every_line_of_every_replica(play: Play) -> None:
    following = play.begin()
    await play.pod(0, running())
    await play.pod(1, ended(0))
    await play.screen.until("last of j-worker-0")
    await play.screen.until("last of j-worker-1")
    await play.end("Succeeded", "well done")
    assert await following is Verdict.SUCCEEDED
    assert play.screen.verdicts == [("well done", True)]
    assert play.screen.told == ["well done"]
    assert play.screen.rows == ["worker-0 Running", "worker-1 Succeeded exit code 0"]
    assert "worker-0 first of j-worker-0" in play.screen.logs
    assert "worker-0 " in play.screen.logs


async def test_address_of_the_board_is_told_once(cluster: Cluster) -> None:
    job = old_job(tensorboard={"logDir": "/logs"})
    play = Play(cluster, await apply_all(cluster, [job], job=job))
    following = play.begin()
    body: Json = {
        "metadata": {
            "name": "tensorboard-76no-x",
            "labels": {"tf_job_name": "j", "app": "tensorboard"},
            "annotations": {"tfjob.dev/url": "http://127.0.0.1:7007/"},
        },
        "spec": {"containers": [{"name": "tensorboard", "image": "x"}]},
    }
    await cluster.api.create(PODS.collection("default"), body, decode=Stored)
    await play.screen.until("TensorBoard")
    path = PODS.item("tensorboard-76no-x", "default", subresource="status")
    await cluster.api.patch(path, {"status": running()}, decode=Stored)
    play.interrupts.hear()
    assert await following is Verdict.INTERRUPTED
    told = [each for each in play.screen.told if "TensorBoard" in each]
    assert told == ["TensorBoard: http://127.0.0.1:7007/"]
    assert play.screen.rows == []


async def test_board_that_does_not_run_is_told(cluster: Cluster) -> None:
    job = old_job(tensorboard={"logDir": "/logs"})
    play = Play(cluster, await apply_all(cluster, [job], job=job))
    following = play.begin()
    labels = {"tf_job_name": "j", "app": "tensorboard"}
    body: Json = {
        "metadata": {"name": "tensorboard-76no-x", "labels": labels},
        "spec": {"containers": [{"name": "tensorflow", "image": "x"}]},
    }
    await cluster.api.create(PODS.collection("default"), body, decode=Stored)
    path = PODS.item("tensorboard-76no-x", "default", subresource="status")
    await cluster.api.patch(path, {"status": ended(127)}, decode=Stored)
    await play.screen.until("TensorBoard: tensorflow does not run: exit code 127")
    play.interrupts.hear()
    assert await following is Verdict.INTERRUPTED


async def test_replica_that_waits_says_for_what(play: Play) -> None:
    following = play.begin()
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}
    container = {"name": "tensorflow", "state": {"waiting": waiting}}
    await play.pod(0, {"phase": "Pending", "containerStatuses": [container]})
    await play.screen.until('worker-0 Pending CreateContainerConfigError: secret "s" not found')
    play.interrupts.hear()
    play.interrupts.hear()
    assert await following is Verdict.INTERRUPTED


@pytest.mark.scenario("R45")
async def test_failure_names_who_failed_first_with_its_last_lines(play: Play) -> None:
    following = play.begin()
    await play.pod(1, ended(3))
    await play.screen.until("last of j-worker-1")
    await play.pod(0, ended(1))
    await play.end("Failed", "it broke")
    assert await following is Verdict.FAILED
    assert play.screen.failures == [
        ("worker-1", "exit code 3", ["first of j-worker-1", "", "last of j-worker-1"])
    ]
    assert play.screen.verdicts == [("it broke", False)]


async def test_lines_of_the_failure_are_told_while_the_next_run_is_silent(tmp_path: Path) -> None:
    logs, job = FirstRunOnly(), tfjob("W2")
    async with api_server_in_loop(tmp_path, logs=logs) as cluster:
        play = Play(cluster, await apply_all(cluster, [job], job=job))
        following = play.begin()
        await play.pod(0, running())
        await play.screen.until("last of j-worker-0")
        await play.turn(0, again_after(3))
        await asyncio.wait_for(logs.asked_again.wait(), PATIENCE)
        await play.end("Failed", "it broke")
        assert await following is Verdict.FAILED
    lines = ["first of j-worker-0", "", "last of j-worker-0"]
    assert play.screen.failures == [("worker-0", "exit code 3", lines)]


async def test_a_pod_that_was_cleaned_up_is_still_shown(play: Play) -> None:
    following = play.begin()
    await play.pod(0, ended(3))
    await play.screen.until("last of j-worker-0")
    path = PODS.item("j-worker-0", "default")
    await play.cluster.api.delete(path, grace_seconds=0)
    await play.end("Failed", "it broke")
    assert await following is Verdict.FAILED
    assert play.screen.rows == ["worker-0 Failed exit code 3"]
    assert play.screen.failures[0][0] == "worker-0"


async def test_only_the_wanted_lines_are_passed_on(cluster: Cluster) -> None:
    job = tfjob("W2")
    play = Play(cluster, await apply_all(cluster, [job], job=job), logs="worker-1")
    following = play.begin()
    await play.pod(0, ended(4))
    await play.pod(1, ended(0))
    await play.screen.until("last of j-worker-1")
    await play.end("Failed", "it broke")
    await following
    assert {each.split()[0] for each in play.screen.logs} == {"worker-1"}
    assert play.screen.failures[0][0] == "worker-0"


async def test_an_interrupt_deletes_the_job_and_waits_for_its_pods(play: Play) -> None:
    following = play.begin()
    await play.pod(0, ended(0))
    await play.screen.until("worker-0")
    play.interrupts.hear()
    assert await asyncio.wait_for(following, PATIENCE) is Verdict.INTERRUPTED
    assert play.screen.verdicts == [("j: interrupted", False)]
    assert not (await play.cluster.api.get(PODS.collection("default"), decode=dict))["items"]


async def test_a_second_interrupt_waits_for_nobody(play: Play) -> None:
    following = play.begin()
    await play.pod(0, running())
    keeps = {"metadata": {"finalizers": ["example.com/keep"]}}
    path = PODS.item("j-worker-0", "default")
    await play.cluster.api.patch(path, keeps, decode=Stored)
    await play.screen.until("worker-0")
    play.interrupts.hear()
    await play.screen.until("told to end")
    play.interrupts.hear()
    assert await asyncio.wait_for(following, PATIENCE) is Verdict.INTERRUPTED
    left = await play.cluster.api.get(path, decode=Stored)
    assert left.metadata.is_terminating


async def test_time_that_is_over_ends_the_job(play: Play) -> None:
    assert await play.begin(limit=0.01) is Verdict.TIMED_OUT
    assert play.screen.verdicts == [("j: the time is over", False)]
