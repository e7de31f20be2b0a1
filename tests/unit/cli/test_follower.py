import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import (
    Lines,
    api_server_in_loop,
    ended,
    running,
)
from tests.support.other_jobs import old_job
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tests.unit.cli.followed_job import Play
from tfjob.cli import replica_logs
from tfjob.cli.follower import Outcome
from tfjob.cli.replica_logs import ReplicaLogs
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.pager import Scope
from tfjob.client.resource import PODS, Resource
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import Changed, Replaced
from tfjob.k8s.pod import Pod
from tfjob.sdk.connection import Cluster

Json = dict[str, Any]


class FirstRunOnly(Lines):
    """Lines of a container until it is restarted; then none."""

    def __init__(self) -> None:
        self.asked_again = asyncio.Event()

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        if pod["status"]["containerStatuses"][0].get("restartCount"):
            self.asked_again.set()
            return
        async for part in super().read(pod, options):
            yield part


class Late(Lines):
    """A first line of worker-0, and a last one when the test says so; none of others."""

    def __init__(self) -> None:
        self.are_complete = asyncio.Event()

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:  # noqa: ARG002
        name = pod["metadata"]["name"]
        if name == "j-worker-0":
            yield f"first of {name}\n".encode()
            await self.are_complete.wait()
            yield f"last of {name}\n".encode()


class Endless(Lines):
    """Lines without end."""

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:  # noqa: ARG002
        while True:
            yield b"more\n" * 100
            await asyncio.sleep(0)


def again_after(code: int) -> Json:
    """The status of a pod whose container ended with this code and runs again."""
    status = running()
    [container] = status["containerStatuses"]
    last = {"lastState": ended(code)["containerStatuses"][0]["state"]}
    return {**status, "containerStatuses": [{**container, **last, "restartCount": 1}]}


@pytest.mark.scenario("R45")
async def test_a_successful_job_shows_every_line_of_every_replica(play: Play) -> None:
    following = play.begin()
    await play.pod(0, running())
    await play.pod(1, ended(0))
    await play.screen.until("last of j-worker-0")
    await play.screen.until("last of j-worker-1")
    await play.end("Succeeded", "well done")
    assert await following is Outcome.SUCCEEDED
    assert play.screen.verdicts == [("well done", True)]
    assert play.screen.messages == []
    assert play.screen.rows == [
        "worker-0 Stopped the job has ended",
        "worker-1 Succeeded exit code 0",
    ]
    assert "worker-0 first of j-worker-0" in play.screen.logs
    assert "worker-0 " in play.screen.logs


async def test_the_address_and_the_end_of_tensorboard_are_printed_once(
    bare_cluster: Cluster,
) -> None:
    play = await Play.of(bare_cluster, old_job(tensorboard={"logDir": "/logs"}))
    following = play.begin()
    body: Json = {
        "metadata": {
            "name": "tensorboard-76no-x",
            "labels": {"tf_job_name": "j", "app": "tensorboard"},
            "annotations": {"tfjob.dev/url": "http://127.0.0.1:7007/"},
        },
        "spec": {"containers": [{"name": "tensorflow", "image": "x"}]},
    }
    await bare_cluster.api.create(PODS.collection("default"), body, decode=PartialObjectMetadata)
    await play.screen.until("TensorBoard: http")
    path = PODS.item("tensorboard-76no-x", "default", subresource="status")
    for status in (running(), ended(127)):
        await bare_cluster.api.patch(path, {"status": status}, decode=PartialObjectMetadata)
    await play.screen.until("does not run")
    play.interrupts.hear()
    assert await following is Outcome.INTERRUPTED
    assert [each for each in play.screen.messages if "TensorBoard" in each] == [
        "TensorBoard: http://127.0.0.1:7007/",
        "TensorBoard: tensorflow does not run: exit code 127",
    ]
    assert play.screen.rows == []


async def test_detaching_does_not_end_the_job(bare_cluster: Cluster) -> None:
    play = await Play.of(bare_cluster, tfjob("W1"), detaches=True)
    following = play.begin()
    await play.pod(0, running())
    await play.screen.until("worker-0 Running")
    play.interrupts.hear()
    assert await following is Outcome.INTERRUPTED
    assert play.screen.messages[-1] == "j keeps running; `tfjob attach j` follows it again"
    left = await bare_cluster.api.get(play.found.path, decode=PartialObjectMetadata)
    assert not left.metadata.is_terminating


@pytest.mark.scenario("R45")
async def test_a_failed_job_names_the_first_failed_replica_with_its_last_lines(play: Play) -> None:
    following = play.begin()
    await play.pod(1, ended(3))
    await play.screen.until("last of j-worker-1")
    await play.pod(0, ended(1))
    await play.end("Failed", "it broke")
    assert await following is Outcome.FAILED
    assert play.screen.failures == [
        ("worker-1", "exit code 3", ["first of j-worker-1", "", "last of j-worker-1"])
    ]
    assert play.screen.verdicts == [("it broke", False)]


async def test_lines_of_the_failed_run_remain_while_the_next_run_is_silent(
    tmp_path: Path,
) -> None:
    logs = FirstRunOnly()
    async with api_server_in_loop(tmp_path, logs=logs) as cluster:
        play = await Play.of(cluster, tfjob("W2"))
        following = play.begin()
        await play.pod(0, running())
        await play.screen.until("last of j-worker-0")
        await play.report(0, again_after(3))
        await asyncio.wait_for(logs.asked_again.wait(), PATIENCE)
        await play.end("Failed", "it broke")
        assert await following is Outcome.FAILED
    lines = ["first of j-worker-0", "", "last of j-worker-0"]
    assert play.screen.failures == [("worker-0", "exit code 3", lines)]


@pytest.mark.parametrize("is_interrupted", [False, True])
async def test_no_log_line_is_printed_after_the_verdict(
    tmp_path: Path, *, is_interrupted: bool
) -> None:
    async with api_server_in_loop(tmp_path, logs=Endless()) as cluster:
        play = await Play.of(cluster, tfjob("W2"))
        following = play.begin()
        await play.pod(0, running())
        await play.screen.until("more")
        if is_interrupted:
            play.interrupts.hear()
            play.interrupts.hear()
        else:
            await play.end("Succeeded", "well done")
        await following
    assert play.screen.logs == play.screen.logs_at_verdict


async def test_a_pod_that_changes_at_the_end_leaves_the_last_table_consistent(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = ReplicaLogs.close

    async def close_while_a_pod_changes(logs: ReplicaLogs) -> None:
        play.follower._show()
        await close(logs)

    monkeypatch.setattr(ReplicaLogs, "close", close_while_a_pod_changes)
    at_verdict: list[str] = []
    monkeypatch.setattr(
        play.screen, "verdict", lambda *_, **__: at_verdict.extend(play.screen.rows)
    )
    following = play.begin()
    await play.pod(0, running())
    await play.screen.until("worker-0 Running")
    await play.end("Succeeded", "well done")
    assert await following is Outcome.SUCCEEDED
    assert at_verdict == ["worker-0 Stopped the job has ended"]


async def test_the_end_of_a_replica_is_shown_after_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_logs, "_DRAIN_TIMEOUT", PATIENCE)
    logs, job = Late(), tfjob("W2")
    async with api_server_in_loop(tmp_path, logs=logs) as cluster:
        play = await Play.of(cluster, job)
        following = play.begin()
        await play.pod(0, running())
        await play.screen.until("first of j-worker-0")
        await play.report(0, ended(0))
        await play.pod(1, running())
        await play.screen.until("worker-1 Running")
        assert play.screen.rows[0] == "worker-0 Running"
        logs.are_complete.set()
        await play.screen.until("worker-0 Succeeded exit code 0")
        assert play.screen.logs[-1] == "worker-0 last of j-worker-0"
        await play.end("Succeeded", "well done")
        await following


async def test_a_log_that_does_not_end_holds_the_end_of_its_replica_back_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_logs, "_DRAIN_TIMEOUT", 0.0)
    job = tfjob("W2")
    async with api_server_in_loop(tmp_path, logs=Late()) as cluster:
        play = await Play.of(cluster, job)
        following = play.begin()
        await play.pod(0, ended(3))
        await play.screen.until("worker-0 Failed exit code 3")
        await play.end("Failed", "it broke")
        assert await following is Outcome.FAILED


async def test_a_pod_that_was_cleaned_up_is_still_shown(play: Play) -> None:
    following = play.begin()
    await play.pod(0, ended(3))
    await play.screen.until("last of j-worker-0")
    path = PODS.item("j-worker-0", "default")
    await play.cluster.api.delete(path, grace_seconds=0)
    await play.end("Failed", "it broke")
    assert await following is Outcome.FAILED
    assert play.screen.rows == ["worker-0 Failed exit code 3"]
    assert play.screen.failures[0][0] == "worker-0"


async def test_only_the_logs_of_the_chosen_replicas_are_shown(bare_cluster: Cluster) -> None:
    play = await Play.of(bare_cluster, tfjob("W2"), logs="worker-1")
    following = play.begin()
    await play.pod(0, ended(4))
    await play.pod(1, ended(0))
    await play.screen.until("last of j-worker-1")
    await play.end("Failed", "it broke")
    await following
    assert {each.split()[0] for each in play.screen.logs} == {"worker-1"}
    assert play.screen.failures[0][0] == "worker-0"


async def test_warnings_about_the_job_and_its_pods_are_printed_once(play: Play) -> None:
    following = play.begin()
    await play.pod(0, running())
    stored = await play.cluster.api.get(
        PODS.item("j-worker-0", "default"), decode=PartialObjectMetadata
    )
    uid = stored.metadata.uid
    await play.warn(name="j-worker-9", uid="other", reason="Other", message="of another job")
    await play.warn(name="j-worker-0", uid=uid, reason="Odd", message="an odd thing")
    await play.screen.until("warning: worker-0: Odd: an odd thing")
    await play.warn_about_job("Odder", "an odder thing")
    await play.screen.until("warning: j: Odder: an odder thing")
    await play.warn_about_job("Again", "pod j-worker-0: an odd thing")
    await play.warn_about_job("PythonError", "worker-0 ended: read the last lines")
    await play.end("Failed", "it broke")
    assert await following is Outcome.FAILED
    assert len([each for each in play.screen.messages if "warning" in each]) == 2


async def test_a_recreated_replica_counts_as_restarted_and_is_named_as_the_cause(
    play: Play,
) -> None:
    following = play.begin()
    await play.pod(1, ended_at("00:10", code=137))
    await play.screen.until("worker-1 Failed exit code 137")
    await play.cluster.api.delete(PODS.item("j-worker-1", "default"), grace_seconds=0)
    await play.pod(1, running())
    await play.screen.until("worker-1 Running")
    assert play.screen.restarts["worker-1"] == 1
    await play.pod(0, ended_at("00:12", code=1))
    await play.screen.until("worker-0 Failed")
    await play.end("Failed", "it broke")
    assert await following is Outcome.FAILED
    assert play.screen.failures[0][:2] == ("worker-1", "exit code 137")


def ended_at(moment: str, *, code: int) -> Json:
    status = ended(code)
    status["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = f"2026-01-01T00:{moment}Z"
    return status


async def test_pods_seen_before_their_job_names_them_are_shown_later(bare_cluster: Cluster) -> None:
    job = old_job()
    del job["spec"]["RuntimeId"]
    play = await Play.of(bare_cluster, job)
    following = play.begin()
    labels = {"tf_job_name": "j", "job_type": "MASTER", "task_index": "0", "runtime_id": "76no"}
    containers = [{"name": "tensorflow", "image": "x"}]
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": containers, "restartPolicy": "Never"},
    }
    batch = {"metadata": {"name": "master-76no-0"}, "spec": {"template": template}}
    batch_jobs = Resource("batch", "v1", "jobs").collection("default")
    await bare_cluster.api.create(batch_jobs, batch, decode=PartialObjectMetadata)
    scope = Scope(resource=PODS, namespace="default", labels="tf_job_name=j")
    async with aclosing(Watch(bare_cluster.api, scope, decode=Pod).events()) as changes:
        async for change in changes:
            if isinstance(change, Changed) or (isinstance(change, Replaced) and change.objects):
                break
    assert play.screen.rows == []
    await bare_cluster.api.patch(
        play.found.path, {"spec": {"RuntimeId": "76no"}}, decode=PartialObjectMetadata
    )
    await play.screen.until("master-0 Pending")
    play.interrupts.hear()
    play.interrupts.hear()
    assert await following is Outcome.INTERRUPTED


async def test_a_missing_module_gives_a_hint(tmp_path: Path) -> None:
    async with api_server_in_loop(tmp_path, logs=MissingModule()) as cluster:
        play = await Play.of(cluster, tfjob("W1"), python="/venv/bin/python")
        following = play.begin()
        await play.pod(0, ended(1))
        await play.screen.until("No module")
        await play.end("Failed", "it broke")
        await following
    assert play.screen.messages[-1].startswith("hint: numpy is not installed for /venv/bin/python")


class MissingModule(Lines):
    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:  # noqa: ARG002 - protocol
        yield b"ModuleNotFoundError: No module named 'numpy'\n"
