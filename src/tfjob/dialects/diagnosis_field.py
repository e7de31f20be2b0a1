"""The field `status.diagnosis`, which is the same in all dialects: schema, encoding, decoding.

Decoding is lenient: a diagnosis without a cause or a time is none, and an unknown code of a newer
operator reads as Unknown.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from tfjob.core import indexes
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import MAX_INCIDENTS, Diagnosis, Incident, fitted, render
from tfjob.core.job import MAX_REPLICAS
from tfjob.core.status import JobStatus
from tfjob.dialects.definition import column
from tfjob.dialects.schema import Schema, array, integer, moment, record, text
from tfjob.dialects.stored_values import mapping, mappings, number
from tfjob.dialects.stored_values import text as read_text
from tfjob.k8s import time

NAME = "diagnosis"
WHY = column("Why", ".status.diagnosis.cause", is_wide=True)
_MAX_TYPES = 5
_CAUSES = {str(cause): cause for cause in Cause}


def schema() -> Schema:
    return record(
        "Why the job does not run, or failed. Kept after clean-up.",
        {
            "cause": text("Code of the dominant cause."),
            "message": text("What happened, in a sentence."),
            "remedy": text("What to do about it."),
            "replica": text("The replica concerned, such as worker-1."),
            "node": text("Its node."),
            "reason": text("The reason that the cluster gave."),
            "exitCode": _code(),
            "since": moment("When it happened or began."),
            "lastLines": text("The end of its output."),
            "incidentCount": integer("Incidents so far."),
            "incidents": array("The first incident and the latest ones.", _incident()),
        },
        keeps_unknown=True,
    )


def encoded(status: JobStatus) -> dict[str, Any] | None:
    return None if status.diagnosis is None else render(status.diagnosis)


def decoded(stored: Mapping[str, Any]) -> Diagnosis | None:
    given = mapping(stored.get(NAME))
    cause, since = read_text(given.get("cause")), time.parse(given.get("since"))
    if not cause or since is None:
        return None
    found = (_read_incident(each) for each in mappings(given.get("incidents")))
    incidents = tuple(islice((each for each in found if each is not None), MAX_INCIDENTS))
    return fitted(
        Diagnosis(
            cause=_CAUSES.get(cause, Cause.UNKNOWN),
            message=read_text(given.get("message")),
            since=since,
            replica=read_text(given.get("replica")),
            node=read_text(given.get("node")),
            reason=read_text(given.get("reason")),
            exit_code=_read_code(given.get("exitCode")),
            last_lines=read_text(given.get("lastLines")),
            incidents=incidents,
            incident_count=max(number(given.get("incidentCount")), len(incidents)),
        )
    )


def _code() -> Schema:
    return integer("Exit code.", at_least=-(2**31))


def _incident() -> Schema:
    return record(
        "One failure with a cause of its own.",
        {
            "key": text("UID of the pod, and the run of its container."),
            "cause": text("Code of the cause."),
            "replica": text("The replica that failed."),
            "node": text("Its node."),
            "exitCode": _code(),
            "reason": text("The reason that the cluster gave."),
            "detail": text("What the evidence says."),
            "time": moment("When it failed."),
            "until": moment("When the last replica ended that followed."),
            "consequences": _replicas("Replicas that only followed, by type."),
            "alike": _replicas("Replicas that failed of the same cause, by type."),
            "alikeUntil": moment("When the last of them failed."),
        },
        keeps_unknown=True,
    )


def _replicas(about: str) -> Schema:
    return {
        "description": about,
        "type": "object",
        "additionalProperties": {"type": "string"},
    }


def _read_incident(stored: Mapping[str, Any]) -> Incident | None:
    kind, _, index = read_text(stored.get("replica")).rpartition("-")
    at, key = time.parse(stored.get("time")), read_text(stored.get("key"))
    if at is None or not key or not kind or not (index.isascii() and index.isdigit()):
        return None
    return Incident(
        key=key,
        cause=_CAUSES.get(read_text(stored.get("cause")), Cause.UNKNOWN),
        kind=kind,
        index=int(index[:9]),
        at=at,
        until=time.parse(stored.get("until")),
        node=read_text(stored.get("node")),
        exit_code=_read_code(stored.get("exitCode")),
        reason=read_text(stored.get("reason")),
        detail=read_text(stored.get("detail")),
        consequences=_read_replicas(stored.get("consequences")),
        alike=_read_replicas(stored.get("alike")),
        alike_until=time.parse(stored.get("alikeUntil")),
    )


def _read_replicas(stored: object) -> dict[str, frozenset[int]]:
    given = islice(mapping(stored).items(), _MAX_TYPES)
    found = {kind: indexes.parse(each, below=MAX_REPLICAS) for kind, each in given}
    return {kind: each for kind, each in found.items() if each}


def _read_code(value: object) -> int | None:
    is_code = isinstance(value, int) and not isinstance(value, bool)
    return value if is_code and isinstance(value, int) else None
