"""A followed job on an API server without operator and node, and a screen that records."""

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from tests.support.local_apiserver.serving import put_status
from tests.support.patience import PATIENCE
from tfjob.cli.follower import Follower, FollowOptions, Outcome
from tfjob.cli.run_output import ReplicaRow
from tfjob.cli.signals import Interrupts
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import EVENTS, PODS
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob

Json = dict[str, Any]


class Notes:
    """A screen that records its output, and wakes tests that wait for a word on it."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.logs: list[str] = []
        self.rows: list[str] = []
        self.state = ""
        self.restarts: dict[str, int] = {}
        self.failures: list[tuple[str, str, list[str]]] = []
        self.verdicts: list[tuple[str, bool]] = []
        self.logs_at_verdict: list[str] = []
        self._changed = asyncio.Event()

    def message(self, text: str) -> None:
        self.messages.append(text)
        self._changed.set()

    def log(self, replica: str, line: str) -> None:
        self.logs.append(f"{replica} {line}")
        self._changed.set()

    def progress(self, replica: str, text: str) -> None:
        self.logs.append(f"{replica} {text}")
        self._changed.set()

    def show(self, rows: Sequence[ReplicaRow], *, state: str) -> None:
        self.state = state
        self.rows = [f"{each.replica} {each.phase} {each.why}".strip() for each in rows]
        self.restarts = {each.replica: each.restarts for each in rows}
        self._changed.set()

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self.failures.append((replica, why, list(lines)))

    def verdict(self, text: str, *, is_good: bool) -> None:
        self.verdicts.append((text, is_good))
        self.logs_at_verdict = self.logs[:]

    async def until(self, word: str) -> None:
        """Whether a row, a log line or a message contains this word."""
        async with asyncio.timeout(PATIENCE):
            while not any(word in each for each in (*self.messages, *self.logs, *self.rows)):
                self._changed.clear()
                await self._changed.wait()


class Play:
    """A job on a cluster without operator and node: the test acts as both."""

    def __init__(self, cluster: Cluster, found: ClusterJob, **options: Any) -> None:
        self.cluster, self.found, self.screen = cluster, found, Notes()
        self.interrupts = Interrupts(exit_now=lambda _: None)
        chosen = FollowOptions(**{"blocked_after": 0.0, **options})
        self.follower = Follower(cluster, found, screen=self.screen, options=chosen)

    @classmethod
    async def of(cls, cluster: Cluster, job: Json, **options: Any) -> Self:
        """A play of this job, which is created."""
        return cls(cluster, await apply_all(cluster, [job], job=job), **options)

    def begin(self) -> "asyncio.Task[Outcome]":
        return asyncio.create_task(self.follower.run(self.interrupts))

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
        await self.cluster.api.create(
            PODS.collection("default"), body, decode=PartialObjectMetadata
        )
        await self.report(index, status)

    async def report(self, index: int, status: Json) -> None:
        """Report a status of a pod, as a node does."""
        path = PODS.item(f"j-worker-{index}", "default", subresource="status")
        await self.cluster.api.patch(path, {"status": status}, decode=PartialObjectMetadata)

    async def warn(self, *, name: str, uid: str, reason: str, message: str) -> None:
        body = {
            "metadata": {"name": f"{name}.{reason.lower()}"},
            "involvedObject": {"name": name, "namespace": "default", "uid": uid},
            "type": "Warning",
            "reason": reason,
            "message": message,
        }
        await self.cluster.api.create(
            EVENTS.collection("default"), body, decode=PartialObjectMetadata
        )

    async def warn_about_job(self, reason: str, message: str) -> None:
        uid = self.found.job.owner.uid
        await self.warn(name="j", uid=uid, reason=reason, message=message)

    async def end(self, kind: str, message: str) -> None:
        await put_status(self.cluster, "j", kind, message)
