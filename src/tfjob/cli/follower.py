"""Follows one job to its end: tells each change, passes log lines on, gives the verdict.

A client like any other: all it knows comes from the API server.
"""

import asyncio
from contextlib import aclosing, suppress
from enum import Enum, auto
from typing import Any, Final

from tfjob.cli import job_lookup, jobs, tensorboard
from tfjob.cli.cluster import Cluster
from tfjob.cli.condition_text import told
from tfjob.cli.first_failure import Failures
from tfjob.cli.jobs import Found
from tfjob.cli.pod_logs import log_lines
from tfjob.cli.run_output import ReplicaLine, Screen
from tfjob.cli.signals import Interrupts, first_of
from tfjob.client.errors import ApiError, NotFound
from tfjob.client.pager import Scope
from tfjob.client.resource import PODS
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import Changed, Deleted, Replaced
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.core.status import ConditionType
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Waiting

_LOOK_EVERY: Final = 0.1
_LAST_LINES: Final = 20
_LATE_LINES: Final = 1.0
_OVER: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED})


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
        self._pods: dict[str, Pod] = {}
        self._gone: set[str] = set()
        self._readers: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._last: dict[str, list[str]] = {}
        self._failures = Failures()
        self._boards: set[str] = set()

    async def run(self, *, limit: float | None, interrupts: Interrupts) -> Verdict:
        """Until the job has ended, the time is over, or somebody asks to stop."""
        watching = asyncio.create_task(self._watch_pods())
        following = asyncio.create_task(self._until_finished())
        asked = asyncio.create_task(interrupts.asked.wait())
        tasks: list[asyncio.Task[Any]] = [watching, following, asked]
        try:
            done, _ = await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if following in done:
                return self._finish()
            verdict = Verdict.INTERRUPTED if asked in done else Verdict.TIMED_OUT
            await self._end_job(verdict, interrupts)
            return verdict
        finally:
            for task in [*tasks, *self._readers.values()]:
                task.cancel()
            await asyncio.gather(*tasks, *self._readers.values(), return_exceptions=True)

    async def _until_finished(self) -> None:
        known: set[tuple[str, str, str]] = set()
        while True:
            self._found = await job_lookup.refreshed(self._cluster, self._found)
            for condition in self._found.status.conditions:
                sentence = told(self._found, condition)
                news = (condition.type, sentence, str(condition.last_transition))
                if condition.is_true and news not in known:
                    known.add(news)
                    self._screen.tell(sentence)
            if self._found.status.is_finished:
                break
            self._show()
            await asyncio.sleep(_LOOK_EVERY)
        for pod in await jobs.pods_of(self._cluster, self._found):
            self._see(pod)
        self._show()
        await self._drain()

    async def _watch_pods(self) -> None:
        """Events rather than looks now and then: a pod may be deleted as soon as it has ended."""
        scope = Scope(
            resource=PODS,
            namespace=self._found.namespace,
            labels=jobs.pods_selector(self._found),
        )
        async with aclosing(Watch(self._cluster.api, scope, decode=Pod).events()) as events:
            async for event in events:
                match event:
                    case Replaced():
                        self._gone |= set(self._pods)
                        for pod in event.objects:
                            self._see(pod)
                    case Changed():
                        self._see(event.object)
                    case Deleted():
                        self._gone.add(event.key[1])

    def _see(self, pod: Pod) -> None:
        if not jobs.in_order(self._found, [pod]):
            self._tell_board(pod)
            return
        self._pods[pod.metadata.name] = pod
        self._gone.discard(pod.metadata.name)
        replica = jobs.replica_name(self._found, pod)
        self._failures.see(replica, pod)
        status = _training(pod)
        if status is None or not (status.state.running or status.state.terminated):
            return
        run = (pod.metadata.uid, status.restart_count)
        if run not in self._readers:
            self._readers[run] = asyncio.create_task(self._read(pod, replica))

    def _tell_board(self, pod: Pod) -> None:
        """Where TensorBoard can be looked at, or why it cannot, once for each sentence."""
        for news in (
            tensorboard.url_of(self._found, pod),
            tensorboard.trouble_of(self._found, pod),
        ):
            if news and news not in self._boards:
                self._boards.add(news)
                self._screen.tell(f"TensorBoard: {news}")

    def _show(self) -> None:
        pods = jobs.in_order(self._found, self._pods.values())
        lines = [
            _line(jobs.replica_name(self._found, pod), pod, is_gone=pod.metadata.name in self._gone)
            for pod in pods
        ]
        self._screen.show(lines, state=self._found.state)

    async def _read(self, pod: Pod, replica: str) -> None:
        """Pass the lines of one run on; the last of them are kept for the end.

        Those of the run before are kept until this one has said something.
        """
        params = {"container": TRAINING_CONTAINER, "follow": "true"}
        kept: list[str] = []
        try:
            async for line in log_lines(self._cluster.api, pod, params):
                del kept[: -_LAST_LINES + 1]
                kept.append(line)
                self._last[replica] = kept
                if self._is_wanted(replica):
                    self._screen.log(replica, line)
        except ApiError as error:
            if self._is_wanted(replica):
                self._screen.log(replica, f"(log ended: {error.message})")

    def _is_wanted(self, replica: str) -> bool:
        return self._logs in {"all", replica, replica.rpartition("-")[0]}

    async def _drain(self) -> None:
        """Lines of ended pods still come; nobody waits for a pod that goes on."""
        over = {pod.metadata.uid for pod in self._pods.values() if pod.phase in _OVER}
        late = [reader for (uid, _), reader in self._readers.items() if uid in over]
        if late:
            await asyncio.wait(late, timeout=_LATE_LINES)

    def _finish(self) -> Verdict:
        succeeded = self._found.status.is_true(ConditionType.SUCCEEDED)
        failure = None if succeeded else self._failures.first()
        if failure is not None:
            self._screen.failure(failure.replica, failure.why, self._last.get(failure.replica, []))
        sentence = told(self._found, self._found.status.conditions[-1])
        self._screen.verdict(sentence, is_good=succeeded)
        return Verdict.SUCCEEDED if succeeded else Verdict.FAILED

    async def _end_job(self, verdict: Verdict, interrupts: Interrupts) -> None:
        """Delete the job, so that its pods have their grace period; an impatient user cuts it."""
        is_interrupted = verdict is Verdict.INTERRUPTED
        why = "interrupted" if is_interrupted else "the time is over"
        name = self._found.name
        self._screen.tell(f"{name}: {why}; its processes are told to end (Ctrl-C: at once)")
        impatience = interrupts.urged if is_interrupted else interrupts.asked
        await first_of(self._until_gone(), impatience.wait())
        self._screen.verdict(f"{name}: {why}", is_good=False)

    async def _until_gone(self) -> None:
        with suppress(NotFound):  # somebody else may have deleted it
            await self._cluster.api.delete(
                self._found.path, uid=self._found.job.owner.uid, propagation="Background"
            )
        while await jobs.pods_of(self._cluster, self._found):
            self._show()
            await asyncio.sleep(_LOOK_EVERY)
        self._show()


def _training(pod: Pod) -> ContainerStatus | None:
    for status in pod.status.container_statuses:
        if status.name == TRAINING_CONTAINER:
            return status
    return None


def _line(replica: str, pod: Pod, *, is_gone: bool) -> ReplicaLine:
    phase, status = str(pod.phase), _training(pod)
    if pod.phase not in _OVER and (is_gone or pod.metadata.is_terminating):
        phase = "Deleted" if is_gone else "Terminating"
    why = ""
    if status is not None and status.state.waiting is not None:
        why = _waits_for(status.state.waiting)
    if status is not None and status.state.terminated is not None:
        why = f"exit code {status.state.terminated.exit_code}"
    if not why and pod.phase is Phase.PENDING:
        why = next((each.message for each in pod.status.conditions if each.status == "False"), "")
    return ReplicaLine(replica=replica, phase=phase, restarts=pod.restart_count, why=why)


def _waits_for(waiting: Waiting) -> str:
    """The message of a container that is started again only says so, and for how long."""
    if not waiting.message or waiting.reason == "CrashLoopBackOff":
        return waiting.reason
    return f"{waiting.reason}: {waiting.message}"
