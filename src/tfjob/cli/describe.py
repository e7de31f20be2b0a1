"""`tfjob describe JOB`: a job's state, pods and events, and why it is not progressing."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from tfjob.cli import cluster, job_arguments, printing, tensorboard, why_deleted
from tfjob.cli.first_failure import OUT_OF_MEMORY
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerStatus, Pod, Terminated
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.condition_text import condition_text, reason_of, silence_of, state_of
from tfjob.sdk.connection import Cluster
from tfjob.sdk.explanation import explained
from tfjob.sdk.job_events import JobEvent, events_of
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.template_changes import changed_templates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "--why", metavar="POD", help="print only which rule deleted or replaced this pod of the job"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        events = await events_of(connected, found)
        if arguments.why:
            return _print_why(found, arguments.why, events)
        manifests = await jobs.pod_manifests(connected, found)
        pods = jobs.read_pods(found, manifests)
        board = await tensorboard.address_of(connected, found)
        why = explained(found, pods, events, now=datetime.now(tz=UTC)).sentence
        changed = connected.with_flags("; ".join(changed_templates(found, manifests)))
        facts = {"Why": why, "Template": changed, "TensorBoard": board}
        sys.stdout.write("\n".join(_lines(found, pods, events, facts)) + "\n")
        return 0

    return cluster.run(arguments, work, looks_at=[arguments.job])


def _print_why(found: ClusterJob, pod: str, events: Sequence[JobEvent]) -> int:
    known = list(why_deleted.lines(pod, events, now=datetime.now(tz=UTC)))
    if not known:
        sys.stderr.write(why_deleted.unknown(found.name, pod) + "\n")
        return 1
    sys.stdout.write("\n".join(known) + "\n")
    return 0


def _lines(
    found: ClusterJob, pods: Sequence[Pod], events: Sequence[JobEvent], facts: Mapping[str, str]
) -> Iterator[str]:
    now = datetime.now(tz=UTC)
    for name, value in _head(found, now, facts):
        if value:
            yield f"{name + ':':<13}{printing.plain_line(value)}"
    yield from _section("Conditions", _conditions(found, now))
    yield from _section("Pods", _pods(found, pods))
    yield from _section("Events", _event_table(found, events, now))


def _head(found: ClusterJob, now: datetime, facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    status = found.status
    yield "Name", found.name
    yield "Namespace", found.namespace
    yield "API", f"{found.dialect.group}/{found.dialect.version} {found.dialect.kind}"
    yield "State", state_of(found) or f"none yet: {silence_of(found)}"
    yield "Reason", reason_of(found)
    yield "Why", facts["Why"]
    yield "Template", facts["Template"]
    yield "Replicas", jobs.replicas_text(found) or "unknown: the spec is invalid"
    yield "Age", printing.age(found.created, now)
    yield "Started", time.render(status.start_time) if status.start_time else ""
    yield "Finished", time.render(status.completion_time) if status.completion_time else ""
    yield "TensorBoard", facts["TensorBoard"]


def _section(title: str, body: str) -> Iterator[str]:
    yield ""
    yield f"{title}:"
    for line in (body or "none").splitlines():
        yield f"  {line}"


def _conditions(found: ClusterJob, now: datetime) -> str:
    conditions = found.status.conditions
    if not conditions:
        return ""
    rows = [
        [each.type, each.status, _since(each.last_transition, now), condition_text(found, each)]
        for each in conditions
    ]
    return printing.table(["TYPE", "STATUS", "SINCE", "MESSAGE"], rows)


def _since(moment: datetime | None, now: datetime) -> str:
    """Conditions of some APIs have no transition time."""
    return "-" if moment is None else printing.age(moment, now)


def _pods(found: ClusterJob, pods: Sequence[Pod]) -> str:
    if not pods:
        return ""
    rows = [
        [
            jobs.replica_name(found, pod),
            pod.metadata.name,
            "Terminating" if pod.metadata.is_terminating else str(pod.phase),
            str(pod.restart_count),
            pod.spec.node_name or "-",
            _reason(pod, memory_limit=jobs.memory_limit(found, jobs.replica_name(found, pod))),
        ]
        for pod in pods
    ]
    return printing.table(["REPLICA", "POD", "PHASE", "RESTARTS", "NODE", "WHY"], rows)


def _reason(pod: Pod, *, memory_limit: str) -> str:
    """What keeps a pod from running, or how it ended."""
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        text = _container_reason(status, memory_limit)
        if text:
            return text
    for condition in pod.status.conditions:
        if condition.status == "False" and condition.message:
            return f"{condition.reason}: {condition.message}"
    return pod.status.reason


def _container_reason(status: ContainerStatus, memory_limit: str) -> str:
    waiting, ended = status.state.waiting, status.state.terminated
    before = status.last_state.terminated
    if ended is not None:
        return f"{status.name}: {_exit(ended, memory_limit)}"
    if waiting is None or waiting.reason in {"", "ContainerCreating"}:
        return ""
    if before is not None:
        return f"{status.name}: {waiting.reason} after {_exit(before, memory_limit)}"
    return f"{status.name}: {waiting.reason} {waiting.message}".strip()


def _exit(ended: Terminated, memory_limit: str) -> str:
    text = f"{ended.reason or 'ended'}, exit code {ended.exit_code}"
    if ended.reason == OUT_OF_MEMORY and memory_limit:
        text = f"{text}, memory limit {memory_limit}"
    return f"{text}: {ended.message}" if ended.message else text


def _event_table(found: ClusterJob, events: Sequence[JobEvent], now: datetime) -> str:
    if not events:
        return ""
    rows = [
        [
            each.type,
            each.reason,
            printing.age(each.last_seen, now),
            _event_message(found, each),
        ]
        for each in events
    ]
    return printing.table(["TYPE", "REASON", "AGE", "MESSAGE"], rows)


def _event_message(found: ClusterJob, event: JobEvent) -> str:
    """The message, preceded by the name of the pod if the event is about a pod."""
    involved = event.involved_object
    name = "" if involved.uid == found.job.owner.uid else f"{involved.name}: "
    count = f" (x{event.occurrences})" if event.occurrences > 1 else ""
    return f"{name}{event.message}{count}"
