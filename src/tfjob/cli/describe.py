"""`tfjob describe JOB`: what a job is, where it stands, and why it does not go on."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from tfjob.cli import cluster, job_lookup, jobs, printing, tensorboard, why_deleted
from tfjob.cli.cluster import Cluster
from tfjob.cli.condition_text import reason_of, state_of, told
from tfjob.cli.jobs import Found
from tfjob.client.resource import EVENTS
from tfjob.k8s import time
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerStatus, Pod, Terminated


class _Event(msgspec.Struct, rename="camel"):
    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: str | None = None


class _Events(msgspec.Struct):
    items: list[_Event] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB")
    parser.add_argument(
        "--why", metavar="POD", help="only say which rule deleted or replaced this pod of the job"
    )
    job_lookup.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        events = await _events(connected, found)
        if arguments.why:
            return _tell_why(found, arguments.why, events)
        pods = await jobs.pods_of(connected, found)
        board = await tensorboard.where(connected, found)
        sys.stdout.write("\n".join(_lines(found, pods, events, board=board)) + "\n")
        return 0

    return cluster.run(arguments, work)


def _tell_why(found: Found, pod: str, events: Sequence[_Event]) -> int:
    known = list(why_deleted.lines(pod, events, now=datetime.now(tz=UTC)))
    if not known:
        sys.stderr.write(why_deleted.unknown(found.name, pod) + "\n")
        return 1
    sys.stdout.write("\n".join(known) + "\n")
    return 0


async def _events(connected: Cluster, found: Found) -> list[_Event]:
    params = {"fieldSelector": f"involvedObject.uid={found.job.owner.uid}"}
    path = EVENTS.collection(found.namespace)
    answer = await connected.api.get(path, decode=_Events, params=params)
    return sorted(answer.items or (), key=lambda each: each.last_timestamp or "")


def _lines(
    found: Found, pods: Sequence[Pod], events: Sequence[_Event], *, board: str
) -> Iterator[str]:
    now = datetime.now(tz=UTC)
    for name, value in _head(found, now, board=board):
        if value:
            yield f"{name + ':':<13}{printing.plain_line(value)}"
    yield from _section("Conditions", _conditions(found, now))
    yield from _section("Pods", _pods(found, pods))
    yield from _section("Events", _event_table(events, now))


def _head(found: Found, now: datetime, *, board: str) -> Iterator[tuple[str, str]]:
    status = found.status
    yield "Name", found.name
    yield "Namespace", found.namespace
    yield "API", f"{found.dialect.group}/{found.dialect.version} {found.dialect.kind}"
    yield "State", state_of(found) or "not seen by an operator yet"
    yield "Reason", reason_of(found)
    yield "Replicas", jobs.replicas_text(found) or "none that can be read"
    yield "Age", printing.age(found.created, now)
    yield "Started", time.render(status.start_time) if status.start_time else ""
    yield "Finished", time.render(status.completion_time) if status.completion_time else ""
    yield "TensorBoard", board


def _section(title: str, body: str) -> Iterator[str]:
    yield ""
    yield f"{title}:"
    for line in (body or "none").splitlines():
        yield f"  {line}"


def _conditions(found: Found, now: datetime) -> str:
    conditions = found.status.conditions
    if not conditions:
        return ""
    rows = [
        [each.type, each.status, _since(each.last_transition, now), told(found, each)]
        for each in conditions
    ]
    return printing.table(["TYPE", "STATUS", "SINCE", "MESSAGE"], rows)


def _since(moment: datetime | None, now: datetime) -> str:
    """Some APIs keep no time of what they say."""
    return "-" if moment is None else printing.age(moment, now)


def _pods(found: Found, pods: Sequence[Pod]) -> str:
    if not pods:
        return ""
    rows = [
        [
            jobs.replica_name(found, pod),
            pod.metadata.name,
            "Terminating" if pod.metadata.is_terminating else str(pod.phase),
            str(pod.restart_count),
            pod.spec.node_name or "-",
            _trouble(pod),
        ]
        for pod in pods
    ]
    return printing.table(["REPLICA", "POD", "PHASE", "RESTARTS", "NODE", "WHY"], rows)


def _trouble(pod: Pod) -> str:
    """The one thing that keeps a pod from running, or how it ended."""
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        text = _container_trouble(status)
        if text:
            return text
    for condition in pod.status.conditions:
        if condition.status == "False" and condition.message:
            return f"{condition.reason}: {condition.message}"
    return pod.status.reason


def _container_trouble(status: ContainerStatus) -> str:
    waiting, ended = status.state.waiting, status.state.terminated
    before = status.last_state.terminated
    if ended is not None:
        return f"{status.name}: {_ending(ended)}"
    if waiting is None or waiting.reason in {"", "ContainerCreating"}:
        return ""
    if before is not None:
        return f"{status.name}: {waiting.reason} after {_ending(before)}"
    return f"{status.name}: {waiting.reason} {waiting.message}".strip()


def _ending(ended: Terminated) -> str:
    return f"{ended.reason or 'ended'}, exit code {ended.exit_code}"


def _event_table(events: Sequence[_Event], now: datetime) -> str:
    if not events:
        return ""
    rows = [
        [
            each.type,
            each.reason,
            printing.age(time.parse(each.last_timestamp), now),
            each.message + (f" (x{each.count})" if (each.count or 1) > 1 else ""),
        ]
        for each in events
    ]
    return printing.table(["TYPE", "REASON", "AGE", "MESSAGE"], rows)
