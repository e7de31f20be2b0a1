"""The spec of such a job, read with every fault named and every default applied in memory.

Older spellings of fields are read too, and count where the newer ones are absent. The stored
object is never changed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tfjob.core.job import CleanPolicy, RestartPolicy
from tfjob.core.naming import LONGEST_NAME
from tfjob.dialects.reading import Reader
from tfjob.dialects.tensorstack import refusals, remedies, words
from tfjob.dialects.tensorstack.board import Board, read_board
from tfjob.dialects.tensorstack.modes import Modes, read_modes
from tfjob.dialects.tensorstack.template import read_template
from tfjob.k8s import field
from tfjob.k8s.names import GENERATED_SUFFIX

_SPECS = "spec.replicaSpecs"
_CLEAN_POLICIES = {
    "none": CleanPolicy.NONE,
    "all": CleanPolicy.ALL,
    "unfinished": CleanPolicy.RUNNING,
}
HIGHEST_PRIORITY = 100
INT64 = 2**63 - 1


class ReplicaSpec(msgspec.Struct, frozen=True):
    type: str
    count: int
    restart: RestartPolicy
    template: Mapping[str, Any]


class Scheduling(msgspec.Struct, frozen=True):
    """What the T9k scheduler is told."""

    queue: str
    priority: int


class Spec(msgspec.Struct, frozen=True):
    replicas: Sequence[ReplicaSpec]
    clean: CleanPolicy
    deadline: int | None
    backoff_limit: int | None
    scheduling: Scheduling | None
    modes: Modes
    board: Board | None


def read_spec(reader: Reader, manifest: Mapping[str, Any]) -> Spec:
    """The spec's meaning; worth nothing when the reader has faults afterwards."""
    metadata = reader.mapping(manifest.get("metadata"), "metadata")
    spec = reader.mapping(manifest.get("spec"), "spec")
    policy = reader.mapping(spec.get("runPolicy"), "spec.runPolicy")
    replicas = _read_replicas(reader, spec.get("replicaSpecs"))
    _check_name(reader, metadata, replicas)
    return Spec(
        replicas=replicas,
        clean=_read_clean(reader, policy),
        deadline=reader.integer(
            policy.get("activeDeadlineSeconds"),
            "spec.runPolicy.activeDeadlineSeconds",
            at_least=1,
            at_most=INT64,
        ),
        backoff_limit=reader.integer(policy.get("backoffLimit"), "spec.runPolicy.backoffLimit"),
        scheduling=_read_scheduling(reader, spec.get("scheduler")),
        modes=read_modes(reader, spec.get("runMode"), types=[each.type for each in replicas]),
        board=read_board(reader, spec.get("tensorboardSpec")),
    )


def longest_name(replicas: Sequence[ReplicaSpec]) -> int:
    """How long a job's name may be so that the names of its children fit."""
    last = max((each.count for each in replicas), default=1) - 1
    return LONGEST_NAME - len(refusals.LONGEST_SUFFIX) - len(str(max(last, 0)))


class _Name(NamedTuple):
    """A name, or the beginning of one that the API server will complete by `suffix`."""

    path: str
    text: str
    suffix: str = ""


def _check_name(
    reader: Reader, metadata: Mapping[str, Any], replicas: Sequence[ReplicaSpec]
) -> None:
    given = _Name("metadata.name", reader.text(metadata.get("name"), "metadata.name"))
    if not isinstance(metadata.get("name"), str | None):
        return
    if not given.text:
        path = "metadata.generateName"
        given = _Name(path, reader.text(metadata.get("generateName"), path), GENERATED_SUFFIX)
    if not given.text:
        rule = "name or generateName is required"
        reader.note(field.required("metadata.name", rule, remedy=remedies.NO_NAME))
        return
    longest = longest_name(replicas) - len(given.suffix)
    if len(given.text) > longest:
        rule, remedy = refusals.LONG_NAME.format(longest), remedies.LONG_NAME.format(longest)
        reader.note(field.invalid(given.path, given.text, rule, remedy=remedy))
    if re.fullmatch(words.LABEL, given.text + given.suffix) is None:
        remedy = remedies.for_name(given.text, longest=longest)
        reader.note(field.invalid(given.path, given.text, refusals.BAD_NAME, remedy=remedy))


def _read_replicas(reader: Reader, value: object) -> list[ReplicaSpec]:
    if not reader.sequence(value, _SPECS):
        rule, remedy = refusals.NO_REPLICAS, remedies.NO_REPLICAS
        reader.note(field.required(_SPECS, rule, remedy=remedy))
        return []
    found = [_read_replica(reader, each, path) for path, each in reader.objects(value, _SPECS)]
    _check_types(reader, found)
    total = sum(each.count for each in found)
    if total > refusals.MOST_REPLICAS:
        rule, remedy = refusals.MANY_REPLICAS, remedies.MANY_REPLICAS
        reader.note(field.invalid(_SPECS, total, rule, remedy=remedy))
    if all(each.type for each in found) and not _has_master(found):
        rule, remedy = refusals.NO_MASTER, remedies.NO_MASTER
        reader.note(field.required(_SPECS, rule, remedy=remedy))
    return found


def _read_replica(reader: Reader, given: Mapping[str, Any], path: str) -> ReplicaSpec:
    kind = reader.choice(given.get("type"), f"{path}.type", words.TYPES)
    if given.get("type") is None:
        rule, remedy = refusals.REQUIRED, remedies.NO_TYPE
        reader.note(field.required(f"{path}.type", rule, remedy=remedy))
    most = refusals.MOST_REPLICAS
    count = reader.integer(given.get("replicas"), f"{path}.replicas", at_most=most)
    if kind == words.CHIEF and count not in {None, 1}:
        rule, remedy = refusals.ONE_CHIEF, remedies.ONE_CHIEF
        reader.note(field.invalid(f"{path}.replicas", count, rule, remedy=remedy))
    restart = reader.choice(
        given.get("restartPolicy"), f"{path}.restartPolicy", words.RESTART_POLICIES
    )
    return ReplicaSpec(
        type=kind or "",
        count=1 if count is None else count,
        restart=RestartPolicy(restart or RestartPolicy.NEVER),
        template=read_template(reader, given.get("template"), f"{path}.template"),
    )


def _check_types(reader: Reader, replicas: Sequence[ReplicaSpec]) -> None:
    seen: set[str] = set()
    for place, each in enumerate(replicas):
        if each.type and each.type in seen:
            path = f"{_SPECS}[{place}].type"
            reader.note(field.duplicate(path, each.type, remedy=remedies.TWICE))
        seen.add(each.type)


def _has_master(replicas: Sequence[ReplicaSpec]) -> bool:
    return any(each.count and each.type in {words.CHIEF, words.WORKER} for each in replicas)


def _read_clean(reader: Reader, policy: Mapping[str, Any]) -> CleanPolicy:
    """The first spelling that says something; letters may be of either case."""
    found: list[CleanPolicy] = []
    for key in ("cleanUpPolicy", "cleanPodPolicy"):
        path = f"spec.runPolicy.{key}"
        if policy.get(key) is None:
            continue
        text = reader.text(policy[key], path)
        chosen = _CLEAN_POLICIES.get(text.lower())
        if chosen is not None:
            found.append(chosen)
        elif isinstance(policy[key], str):
            allowed = ("None", "All", "Unfinished")
            reader.note(field.unsupported(path, text, allowed, remedy=remedies.CLEAN_UP))
    return found[0] if found else CleanPolicy.NONE


def _read_scheduling(reader: Reader, value: object) -> Scheduling | None:
    path = "spec.scheduler.t9kScheduler"
    scheduler = reader.mapping(value, "spec.scheduler")
    if scheduler.get("t9kScheduler") is None:
        return None
    given = reader.mapping(scheduler["t9kScheduler"], path)
    queue = reader.text(given.get("queue"), f"{path}.queue")
    if not queue:
        rule, remedy = refusals.NO_QUEUE, remedies.NO_QUEUE
        reader.note(field.required(f"{path}.queue", rule, remedy=remedy))
    priority = reader.integer(given.get("priority"), f"{path}.priority", at_most=HIGHEST_PRIORITY)
    return Scheduling(queue=queue, priority=priority or 0)
