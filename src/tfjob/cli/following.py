"""Follows one job to its end: tells each change, passes log lines on, gives the verdict.

A client like any other: all it knows comes from the API server.
"""

import asyncio
from enum import Enum, auto
from typing import Final

from tfjob.cli import jobs
from tfjob.cli.cluster import Cluster
from tfjob.cli.jobs import Found
from tfjob.cli.screen import ReplicaLine, Screen
from tfjob.client.errors import ApiError
from tfjob.client.resource import PODS
from tfjob.client.wire import LineBuffer
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.core.status import ConditionType
from tfjob.k8s.pod import Phase, Pod

_LOOK_EVERY: Final = 0.1
_LAST_LINES: Final = 20


class Verdict(Enum):
    SUCCEEDED = auto()
    FAILED = auto()
    TIMED_OUT = auto()
    INTERRUPTED = auto()


class Follower:
    def __init__(self, cluster: Cluster, found: Found, *, screen: Screen, logs: str) -> None:
        self._cluster = Cluster(api=cluster.api, namespace=found.namespace)
        self._found = found
        self._screen = screen
        self._logs = logs
        self._readers: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._last: dict[str, list[str]] = {}
        self._first_failure: tuple[str, Pod] | None = None

    async def run(self, *, limit: float | None, stop: asyncio.Event) -> Verdict:
        """Until the job has ended, the time is over, or somebody asks to stop."""
        following = asyncio.create_task(self._until_finished())
        stopping = asyncio.create_task(stop.wait())
        done, _ = await asyncio.wait(
            [following, stopping], timeout=limit, return_when=asyncio.FIRST_COMPLETED
        )
        stopping.cancel()
        if following in done:
            following.result()
            await self._drain()
            return self._finish()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        verdict = Verdict.INTERRUPTED if stop.is_set() else Verdict.TIMED_OUT
        await self._end_job(verdict)
        return verdict

    async def _until_finished(self) -> None:
        told: set[str] = set()
        while True:
            self._found = await jobs.find(self._cluster, self._found.name)
            pods = await jobs.pods_of(self._cluster, self._found)
            for condition in self._found.status.conditions:
                if condition.is_true and condition.message not in told:
                    told.add(condition.message)
                    self._screen.tell(condition.message)
            self._look_at(pods)
            if self._found.status.is_finished:
                return
            await asyncio.sleep(_LOOK_EVERY)

    def _look_at(self, pods: list[Pod]) -> None:
        lines = []
        for pod in pods:
            replica = jobs.replica_name(self._found, pod)
            lines.append(_line(replica, pod))
            if pod.phase is Phase.FAILED and self._first_failure is None:
                self._first_failure = (replica, pod)
            run = _run_of(pod)
            if run is not None and (pod.metadata.uid, run) not in self._readers:
                reading = self._read(pod, replica)
                self._readers[pod.metadata.uid, run] = asyncio.create_task(reading)
        self._screen.show(lines, state=self._found.state)

    async def _read(self, pod: Pod, replica: str) -> None:
        """Pass the lines of one pod on; the last of them are kept for the end."""
        path = PODS.item(pod.metadata.name, pod.metadata.namespace, subresource="log")
        params = {"container": TRAINING_CONTAINER, "follow": "true"}
        buffer, kept = LineBuffer(), self._last.setdefault(replica, [])
        try:
            async with self._cluster.api.stream(path, params=params) as chunks:
                async for chunk in chunks:
                    for line in buffer.feed(chunk):
                        text = line.decode(errors="replace")
                        del kept[: -_LAST_LINES + 1]
                        kept.append(text)
                        if self._is_wanted(replica):
                            self._screen.log(replica, text)
        except ApiError as error:
            self._screen.log(replica, f"(log ended: {error.message})")

    def _is_wanted(self, replica: str) -> bool:
        return self._logs in {"all", replica, replica.rpartition("-")[0]}

    async def _drain(self) -> None:
        """Lines that are on their way still come, but nobody waits for a stream that goes on."""
        if self._readers:
            await asyncio.wait(self._readers.values(), timeout=1.0)
        for reader in self._readers.values():
            reader.cancel()
        await asyncio.gather(*self._readers.values(), return_exceptions=True)

    def _finish(self) -> Verdict:
        succeeded = self._found.status.is_true(ConditionType.SUCCEEDED)
        message = self._found.status.conditions[-1].message
        if not succeeded and self._first_failure is not None:
            replica, pod = self._first_failure
            ended = pod.terminated(TRAINING_CONTAINER)
            code = f"exit code {ended.exit_code}" if ended else pod.status.reason or "no exit code"
            self._screen.failure(replica, code, self._last.get(replica, []))
        self._screen.verdict(message, is_good=succeeded)
        return Verdict.SUCCEEDED if succeeded else Verdict.FAILED

    async def _end_job(self, verdict: Verdict) -> None:
        why = "interrupted" if verdict is Verdict.INTERRUPTED else "the time is over"
        self._screen.verdict(f"{self._found.name}: {why}; the job is being ended", is_good=False)
        await self._drain()


def _run_of(pod: Pod) -> int | None:
    """Which run of the training container has begun; None before the first."""
    for status in pod.status.container_statuses:
        if status.name == TRAINING_CONTAINER and (status.state.running or status.state.terminated):
            return status.restart_count
    return None


def _line(replica: str, pod: Pod) -> ReplicaLine:
    phase = "Terminating" if pod.metadata.is_terminating else str(pod.phase)
    why = ""
    for status in pod.status.container_statuses:
        if status.name == TRAINING_CONTAINER and status.state.waiting is not None:
            why = status.state.waiting.reason
        if status.name == TRAINING_CONTAINER and status.state.terminated is not None:
            why = f"exit code {status.state.terminated.exit_code}"
    if not why and pod.phase is Phase.PENDING:
        why = next((each.message for each in pod.status.conditions if each.status == "False"), "")
    return ReplicaLine(replica=replica, phase=phase, restarts=pod.restart_count, why=why)
