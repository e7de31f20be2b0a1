"""`tfjob explain JOB`: why a job does not run or why it failed, and what to do about it."""

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

from tfjob.cli import cluster, job_arguments, printing
from tfjob.cli.advice import GROUP
from tfjob.core.diagnosis.diagnosis import Diagnosis, Incident, names
from tfjob.core.job import Job, Recovery
from tfjob.core.status import ConditionType
from tfjob.k8s import time
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.condition_text import condition_text
from tfjob.sdk.connection import Cluster
from tfjob.sdk.explanation import Explanation, evidence, explain
from tfjob.sdk.job_activity import ReplicaActivity
from tfjob.sdk.job_events import WARNING, JobEvent
from tfjob.sdk.jobs import ClusterJob

_MAX_EVENTS: Final = 10
_BETWEEN: Final = 1
_RANKS: Final[Mapping[str, int]] = {
    ConditionType.CREATED: 0,
    ConditionType.SUCCEEDED: 2,
    ConditionType.FAILED: 2,
}
"""The order of what happened in the same second."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="output format (default: text)",
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        explanation, events = await explain(connected, found)
        if arguments.output == "json":
            sys.stdout.write(json.dumps(explanation.as_json(found), indent=2) + "\n")
        else:
            lines = [
                *_lines(connected, found, explanation, events),
                *_activity(explanation.activity),
            ]
            sys.stdout.write("\n".join(lines) + "\n")
        return 0

    return cluster.run(arguments, work, looks_at=[arguments.job])


def _activity(rows: Sequence[ReplicaActivity]) -> Iterator[str]:
    now = datetime.now(tz=UTC)
    yield from _section("Activity", [row.text(now) for row in rows])


def _lines(
    connected: Cluster, found: ClusterJob, explanation: Explanation, events: Sequence[JobEvent]
) -> Iterator[str]:
    yield printing.plain_line(f"{found.name}: {explanation.sentence}.")
    diagnosis = explanation.diagnosis
    yield from _section("Timeline", _timeline(found, diagnosis))
    if diagnosis is not None:
        remedy = connected.with_flags(diagnosis.remedy)
        yield from _section("Evidence", _evidence(found, diagnosis))
        yield from _section("What to do", [remedy, *_on_group(found, diagnosis)])
        yield from _section("Events", _event_lines(events, diagnosis))
    yield from _section("Template", [connected.with_flags(each) for each in explanation.template])


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield f"{title}:"
    for line in lines:
        yield f"  {printing.plain_line(line)}".rstrip()


def _timeline(found: ClusterJob, diagnosis: Diagnosis | None) -> list[str]:
    """What happened, oldest first; within a second, what became of the job comes last."""
    dated = [
        (each.last_transition, _RANKS.get(each.type, _BETWEEN), condition_text(found, each))
        for each in found.status.conditions
        if each.last_transition is not None and each.is_true
    ]
    incidents = () if diagnosis is None else diagnosis.incidents
    dated.extend((each.at, _BETWEEN, _incident_text(each)) for each in incidents)
    if diagnosis is not None and not incidents:
        dated.append((diagnosis.since, _BETWEEN, diagnosis.message))
    in_order = sorted(dated, key=itemgetter(0, 1))
    lines = [f"{time.render(moment)}  {text}" for moment, _, text in in_order]
    left_out = 0 if diagnosis is None else diagnosis.incident_count - len(diagnosis.incidents)
    return [*lines, f"({left_out} incidents between are left out)"] if left_out > 0 else lines


def _incident_text(incident: Incident) -> str:
    text = incident.sentence
    alike, followed = names(incident.alike), names(incident.consequences)
    if alike:
        text += f"; the same happened to {jobs.joined(alike)}"
    return f"{text}; {jobs.joined(followed)} followed" if followed else text


def _evidence(found: ClusterJob, diagnosis: Diagnosis) -> list[str]:
    lines = [f"{label + ':':<11}{value}" for label, value in evidence(found, diagnosis)]
    if diagnosis.last_lines:
        lines.append("Last lines:")
        lines.extend(f"  {line}" for line in diagnosis.last_lines.splitlines())
    return lines


def _on_group(found: ClusterJob, diagnosis: Diagnosis) -> list[str]:
    """Replicas that end when another one is lost train together, which the job does not say."""
    job, has_followers = found.job, any(each.consequences for each in diagnosis.incidents)
    if not isinstance(job, Job) or job.semantics.recovery is Recovery.GROUP or not has_followers:
        return []
    records = (each for replica in job.status.replicas.values() for each in replica.records)
    return [] if any(each.incident for each in records) else [GROUP]


def _event_lines(events: Sequence[JobEvent], diagnosis: Diagnosis) -> list[str]:
    """The latest warnings, oldest first, without those that repeat the timeline."""
    shown = {diagnosis.message, *(each.sentence for each in diagnosis.incidents)}
    warnings = [each for each in events if each.type == WARNING and not _is_shown(each, shown)]
    return [_event_text(each) for each in warnings[-_MAX_EVENTS:]]


def _is_shown(event: JobEvent, shown: Collection[str]) -> bool:
    """Whether the operator reports what the timeline says: the sentence, then the remedy."""
    return any(event.message.startswith(f"{each}.") for each in shown)


def _event_text(event: JobEvent) -> str:
    about = f"{event.involved_object.name}: {event.reason}: {event.message}"
    seen = "" if event.last_seen is None else time.render(event.last_seen)
    return f"{seen:<20}  {about}"
