"""Follows one job until it finishes: prints what changes and its logs, and returns the outcome.

It is an ordinary API client: everything it knows comes from the API server.
"""

import asyncio
from contextlib import aclosing
from enum import Enum, auto
from typing import Any, Final

import msgspec

from tfjob.cli import signals, tensorboard, time_limit
from tfjob.cli.first_failure import Failure, Failures, exit_text, hint_for, memory_text
from tfjob.cli.replica_logs import ReplicaLogs
from tfjob.cli.replica_rows import ENDED_PHASES, row_for
from tfjob.cli.run_output import ReplicaRow, Screen
from tfjob.cli.signals import Interrupts, first_of
from tfjob.client.errors import ApiError, Conflict, NotFound
from tfjob.client.pager import Scope
from tfjob.client.resource import PODS
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import Changed, Deleted, Replaced
from tfjob.core.diagnosis.causes import BLOCKING, CATALOGUE, DISRUPTIONS, Cause
from tfjob.core.status import Condition, ConditionType
from tfjob.k8s.pod import Pod, Terminated
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.blocked_check import allocatable_of
from tfjob.sdk.blocked_job import blocked_reason, is_refusal, is_unschedulable
from tfjob.sdk.condition_text import condition_text
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_events import WARNING, JobEvent, watch_events
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.run_folder import RunFolder

_POLL_INTERVAL: Final = 0.1
_TOLD_BY_THE_LOG: Final = frozenset({Cause.PROGRAM_FAILED, Cause.PYTHON_ERROR})
"""Causes that only refer to the last lines, which are printed."""
_SIZE_REMEDY: Final = "lower the request, or run the job with --fit"
_FINAL: Final = frozenset({ConditionType.SUCCEEDED, ConditionType.FAILED})


class Outcome(Enum):
    SUCCEEDED = auto()
    FAILED = auto()
    TIMED_OUT = auto()
    BLOCKED = auto()
    INTERRUPTED = auto()


EXIT_CODES: Final = {
    Outcome.SUCCEEDED: 0,
    Outcome.FAILED: 1,
    Outcome.TIMED_OUT: 3,
    Outcome.BLOCKED: 5,
    Outcome.INTERRUPTED: signals.EXIT_CODE,
}


class FollowOptions(msgspec.Struct, frozen=True, kw_only=True):
    logs: str = "all"
    """The replicas whose lines are shown: all, none, a replica type or one replica."""
    limit: float | None = None
    """Seconds until the job is ended."""
    waits_if_blocked: bool = False
    keeps_cluster: bool = False
    detaches: bool = False
    """At an interrupt or the limit the job goes on; only the following ends."""
    python: str = ""
    blocked_after: float = 2.0
    """Seconds that a job stays blocked before it is ended: its other pods may still appear."""


class Follower:
    def __init__(
        self,
        cluster: Cluster,
        found: ClusterJob,
        *,
        screen: Screen,
        options: FollowOptions,
        kept: RunFolder | None = None,
    ) -> None:
        self._cluster = Cluster(api=cluster.api, namespace=found.namespace)
        self._found = found
        self._screen = screen
        self._options = options
        self._kept = kept
        record = kept.log if kept is not None else _forget
        self._logs = ReplicaLogs(cluster.api, screen, wanted=options.logs, record=record)
        self._pods: dict[str, Pod] = {}
        self._unmatched: dict[str, Pod] = {}
        self._gone: set[str] = set()
        self._uids: dict[str, list[str]] = {}
        self._failures = Failures()
        self._printed: set[tuple[str, ...]] = set()
        self._warnings: list[JobEvent] = []
        self._warned: set[str] = set()
        self._refusals: list[str] = []
        self._allocatable: dict[str, str] | None = None
        self._blocked = ""
        self._blocked_since = 0.0
        self._rows: dict[str, ReplicaRow] = {}
        self._ended_before_stop: set[str] | None = None
        """The pods that had ended when the job was stopped; None if it was not."""

    async def run(self, interrupts: Interrupts) -> Outcome:
        """Return when the job has finished, cannot run, is out of time or is interrupted."""
        watching = [
            asyncio.create_task(each) for each in (self._watch_pods(), self._watch_warnings())
        ]
        following = asyncio.create_task(self._until_settled())
        asked = asyncio.create_task(interrupts.asked.wait())
        tasks: list[asyncio.Task[Any]] = [*watching, following, asked]
        limit = self._options.limit
        announcing = asyncio.create_task(self._announce(limit))
        try:
            done, _ = await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            announcing.cancel()
            for task in done:
                task.result()
            if following in done and self._found.status.is_finished:
                await self._logs.close()  # nothing comes after the verdict
                return self._finish()
            outcome = Outcome.INTERRUPTED if asked in done else Outcome.TIMED_OUT
            if following in done:
                outcome = Outcome.BLOCKED
            if self._options.detaches:
                self._detach()
            else:
                await self._end_job(outcome, interrupts)
            return outcome
        finally:
            for task in (*tasks, announcing):
                task.cancel()
            await asyncio.gather(*tasks, announcing, return_exceptions=True)
            await self._logs.close()

    async def _announce(self, limit: float | None) -> None:
        if limit is not None:
            what = "is no longer followed" if self._options.detaches else "is ended"
            await time_limit.announce(self._screen, f"{self._found.name} {what}", limit)

    async def _until_settled(self) -> None:
        """Until the job has finished, or is known to be blocked."""
        while True:
            self._found = await job_lookup.refreshed(self._cluster, self._found)
            for pod in list(self._unmatched.values()):
                self._observe(pod)
            self._print_warnings()
            if self._kept is not None:
                self._kept.flush()
            if self._found.status.is_finished:
                break
            self._print_conditions()
            self._show()
            if not self._options.waits_if_blocked and await self._is_blocked():
                return
            await asyncio.sleep(_POLL_INTERVAL)
        for pod in await jobs.pods_of(self._cluster, self._found):
            self._observe(pod)
        drained: set[str] = set()
        while ended := self._ended_uids() - drained:
            # Another pod may end while the lines of these are read.
            await self._logs.drain(ended)
            drained |= ended
        self._print_conditions()

    def _ended_uids(self) -> set[str]:
        return {pod.metadata.uid for pod in self._pods.values() if pod.phase in ENDED_PHASES}

    def _print_conditions(self) -> None:
        """The condition that ends the job is left to the verdict, which comes last."""
        for condition in self._found.status.conditions:
            text = condition_text(self._found, condition)
            key = (condition.type, text, str(condition.last_transition))
            if condition.is_true and condition.type not in _FINAL and key not in self._printed:
                self._printed.add(key)
                self._screen.message(text)

    async def _watch_pods(self) -> None:
        """A watch rather than a poll: a pod may be deleted as soon as it has ended."""
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
                            self._observe(pod)
                    case Changed():
                        self._observe(event.object)
                        self._show()
                    case Deleted():
                        self._gone.add(event.key[1])
                        self._unmatched.pop(event.key[1], None)

    def _observe(self, pod: Pod) -> None:
        name = pod.metadata.name
        if not jobs.in_order(self._found, [pod]):
            # Some APIs write the identity of their pods to the job after creating it: the pod may
            # turn out to belong to the job when that is read back.
            self._unmatched[name] = pod
            self._print_board(pod)
            return
        self._unmatched.pop(name, None)
        self._pods[name] = pod
        self._gone.discard(name)
        replica = jobs.replica_name(self._found, pod)
        uids = self._uids.setdefault(replica, [])
        if pod.metadata.uid not in uids:
            uids.append(pod.metadata.uid)
        self._failures.observe(replica, pod)
        self._logs.follow(pod, replica)

    def _print_board(self, pod: Pod) -> None:
        """The address of TensorBoard, or why it does not run, each once."""
        for text in (
            tensorboard.url_of(self._found, pod),
            tensorboard.failure_of(self._found, pod),
        ):
            key = ("TensorBoard", text)
            if text and key not in self._printed:
                self._printed.add(key)
                self._screen.message(f"TensorBoard: {text}")

    async def _watch_warnings(self) -> None:
        stream = watch_events(self._cluster.api, self._found.namespace, fields=f"type={WARNING}")
        async with aclosing(stream) as events:
            async for event in events:
                self._warnings.append(event)

    def _print_warnings(self) -> None:
        """Print warnings about the job and its pods, each once.

        Those of unknown pods wait. What a condition, another warning or the log says already is
        left out.
        """
        printed = {condition_text(self._found, each) for each in self._found.status.conditions}
        names = {self._found.job.owner.uid: self._found.name}
        for replica, uids in self._uids.items():
            names.update(dict.fromkeys(uids, replica))
        waiting = []
        for event in self._warnings:
            name = names.get(event.involved_object.uid)
            if name is None:
                waiting.append(event)
                continue
            if is_refusal(event.reason, event.message):
                self._refusals.append(event.message)
            if event.reason in _TOLD_BY_THE_LOG:
                continue
            if not any(text in event.message for text in printed | self._warned):
                self._warned.add(event.message)
                self._screen.message(f"warning: {name}: {event.reason}: {event.message}")
        self._warnings = waiting

    async def _is_blocked(self) -> bool:
        """Whether the job has been blocked for the same reason long enough."""
        pods = jobs.in_order(self._found, self._pods.values())
        pods = [pod for pod in pods if pod.metadata.name not in self._gone]
        if self._allocatable is None and any(is_unschedulable(pod) for pod in pods):
            self._allocatable = await allocatable_of(self._cluster)
        reason = blocked_reason(
            self._found,
            {jobs.replica_name(self._found, pod): pod for pod in pods},
            refusals=self._refusals,
            allocatable=self._allocatable,
            size_remedy=_SIZE_REMEDY,
        )
        now = asyncio.get_running_loop().time()
        if reason != self._blocked:
            self._blocked, self._blocked_since = reason, now
        return bool(reason) and now - self._blocked_since >= self._options.blocked_after

    def _show(self, *, is_final: bool = False) -> None:
        """Show all replicas. The end of one is shown after its last lines."""
        pods = jobs.in_order(self._found, self._pods.values())
        ended, state = self._ended_before_stop, self._found.state
        if ended is not None:
            state = "Stopped" if is_final else "Stopping"
        for pod in pods:
            if self._logs.is_behind(pod):
                continue
            replica = jobs.replica_name(self._found, pod)
            self._rows[pod.metadata.name] = row_for(
                pod,
                replica=replica,
                recreated=len(self._uids.get(replica, ())) - 1,
                is_gone=pod.metadata.name in self._gone,
                is_stopped=ended is not None and pod.metadata.uid not in ended,
                has_job_ended=is_final,
            )
        names = [pod.metadata.name for pod in pods]
        self._screen.show([self._rows[each] for each in names if each in self._rows], state=state)

    def _finish(self) -> Outcome:
        # Just before the verdict: until then, a pod that changes is shown as it is.
        self._show(is_final=not self._options.keeps_cluster)
        succeeded = self._found.status.is_true(ConditionType.SUCCEEDED)
        failure = None if succeeded else (self._stored_failure() or self._failures.first())
        if failure is not None:
            limit = jobs.memory_limit(self._found, failure.replica)
            lines = self._logs.last_lines(failure.replica)
            self._screen.failure(failure.replica, memory_text(failure, limit), lines)
            hint = hint_for(lines, python=self._options.python)
            if hint:
                self._screen.message(f"hint: {hint}")
        self._screen.verdict(
            condition_text(self._found, _last_condition(self._found)), is_good=succeeded
        )
        return Outcome.SUCCEEDED if succeeded else Outcome.FAILED

    def _stored_failure(self) -> Failure | None:
        """The failure that the operator holds for the cause, if it has stored one."""
        found = self._found.status.diagnosis
        if found is None or not found.replica or found.cause in BLOCKING:
            return None
        cause = next((each for each in found.incidents if each.replica == found.replica), None)
        why = exit_text(Terminated(exit_code=found.exit_code or 0, reason=found.reason))
        if cause is not None and cause.cause in DISRUPTIONS:
            why = CATALOGUE[cause.cause].text
        is_out_of_memory = cause is not None and cause.cause is Cause.OUT_OF_MEMORY
        if not why:
            return None
        return Failure(found.replica, why, is_out_of_memory=is_out_of_memory)

    def _detach(self) -> None:
        name = self._found.name
        self._screen.message(f"{name} keeps running; `tfjob attach {name}` follows it again")

    async def _end_job(self, outcome: Outcome, interrupts: Interrupts) -> None:
        """Delete the job, so that its pods get their grace period; an interrupt cuts it short."""
        why = {
            Outcome.INTERRUPTED: "interrupted",
            Outcome.TIMED_OUT: f"not finished within {self._options.limit or 0:g} s",
            Outcome.BLOCKED: f"cannot run here: {self._blocked} (--wait keeps waiting)",
        }[outcome]
        name = self._found.name
        if outcome is not Outcome.BLOCKED:
            grace = jobs.grace_seconds(self._found)
            self._screen.message(
                f"{name}: {why}; its processes have {grace} s to end (Ctrl-C kills them now)"
            )
        urgent = interrupts.urged if outcome is Outcome.INTERRUPTED else interrupts.asked
        self._ended_before_stop = self._ended_uids()
        outlives = self._options.keeps_cluster and outcome is not Outcome.INTERRUPTED
        await first_of(self._until_deleted(outlives=outlives), urgent.wait())
        await self._logs.close()
        self._show(is_final=self._ended_before_stop is not None)
        self._screen.verdict(f"{name}: {why}", is_good=False)

    async def _until_deleted(self, *, outlives: bool) -> None:
        """`outlives` says whether the job goes on if it cannot be deleted."""
        try:
            await self._cluster.api.delete(
                self._found.path, uid=self._found.job.owner.uid, propagation="Background"
            )
        except (NotFound, Conflict):
            pass  # somebody else has deleted it, and may have created another of its name
        except ApiError as error:  # the disk is full, for instance
            what = "keep running until the cluster ends" if outlives else "are killed"
            self._screen.message(
                f"{self._found.name}: cannot be deleted, its processes {what}: {error.message}"
            )
            self._ended_before_stop = None if outlives else self._ended_before_stop
            return
        while await jobs.pods_of(self._cluster, self._found):
            self._show()
            await asyncio.sleep(_POLL_INTERVAL)


def _forget(_replica: str, _line: str) -> None:
    """Keep no record of a line."""


def _last_condition(found: ClusterJob) -> Condition:
    return found.status.conditions[-1]
