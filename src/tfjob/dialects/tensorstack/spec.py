"""Reads the spec of these jobs: reports all faults and applies defaults in memory.

Older spellings of fields are used if the newer ones are absent. The stored object is never
changed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tfjob.core.job import TRAINING_CONTAINER, CleanPolicy, RestartPolicy
from tfjob.core.naming import MAX_NAME_LENGTH
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.schema_check import valid_part
from tfjob.dialects.tensorstack import api, hints, schema, validation_messages
from tfjob.dialects.tensorstack.run_mode import Modes, read_modes
from tfjob.dialects.tensorstack.tensorboard_spec import Board, read_board
from tfjob.k8s import field
from tfjob.k8s.names import GENERATED_SUFFIX

SPECS = "spec.replicaSpecs"
_CLEAN_POLICIES = {
    "none": CleanPolicy.NONE,
    "all": CleanPolicy.ALL,
    "unfinished": CleanPolicy.RUNNING,
}
_SPEC = schema.spec()


class ReplicaSpec(msgspec.Struct, frozen=True):
    type: str
    count: int
    restart: RestartPolicy
    template: Mapping[str, Any]


class Scheduling(msgspec.Struct, frozen=True):
    """The settings for the T9k scheduler."""

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
    """Read the spec. The result is only valid if the reader has no faults."""
    metadata = reader.mapping(manifest.get("metadata"), "metadata")
    spec = valid_part(reader, manifest.get("spec"), _SPEC, "spec") or {}
    policy = spec.get("runPolicy") or {}
    replicas = _read_replicas(reader, spec.get("replicaSpecs"))
    _check_name(reader, metadata, replicas)
    types = [each.type for each in replicas]
    return Spec(
        replicas=replicas,
        clean=_read_clean(reader, policy),
        deadline=policy.get("activeDeadlineSeconds"),
        backoff_limit=policy.get("backoffLimit"),
        scheduling=_read_scheduling(reader, spec.get("scheduler") or {}),
        modes=read_modes(reader, spec.get("runMode") or {}, types=types),
        board=read_board(reader, spec.get("tensorboardSpec")),
    )


def max_name_length(replicas: Sequence[ReplicaSpec]) -> int:
    """The longest job name for which the names of all children are valid."""
    last = max((each.count for each in replicas), default=1) - 1
    return MAX_NAME_LENGTH - len(validation_messages.MAX_SUFFIX) - len(str(max(last, 0)))


class _Name(NamedTuple):
    """A name, or a generateName with a placeholder `suffix` for what the API server appends."""

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
        reader.note(field.required("metadata.name", rule, remedy=hints.NO_NAME))
        return
    longest = max_name_length(replicas) - len(given.suffix)
    if len(given.text) > longest:
        rule, remedy = (
            validation_messages.LONG_NAME.format(longest),
            hints.LONG_NAME.format(longest),
        )
        reader.note(field.invalid(given.path, given.text, rule, remedy=remedy))
    if re.fullmatch(api.LABEL, given.text + given.suffix) is None:
        remedy = hints.for_name(given.text, longest=longest)
        reader.note(
            field.invalid(given.path, given.text, validation_messages.BAD_NAME, remedy=remedy)
        )


def _read_replicas(reader: Reader, given: Sequence[Mapping[str, Any]] | None) -> list[ReplicaSpec]:
    if not given:
        if all(fault.path != SPECS for fault in reader.faults):
            rule, remedy = validation_messages.NO_REPLICAS, hints.NO_REPLICAS
            reader.note(field.required(SPECS, rule, remedy=remedy))
        return []
    found = [_read_replica(reader, each, f"{SPECS}[{place}]") for place, each in enumerate(given)]
    _check_types(reader, found)
    total = sum(each.count for each in found)
    if total > validation_messages.MAX_REPLICAS:
        rule, remedy = validation_messages.MANY_REPLICAS, hints.MANY_REPLICAS
        reader.note(field.invalid(SPECS, total, rule, remedy=remedy))
    if all(each.type for each in found) and not _has_master(found):
        rule, remedy = validation_messages.NO_MASTER, hints.NO_MASTER
        reader.note(field.required(SPECS, rule, remedy=remedy))
    return found


def _read_replica(reader: Reader, given: Mapping[str, Any], path: str) -> ReplicaSpec:
    kind, count = given.get("type") or "", given.get("replicas")
    if kind == api.CHIEF and count not in {None, 1}:
        rule, remedy = validation_messages.ONE_CHIEF, hints.ONE_CHIEF
        reader.note(field.invalid(f"{path}.replicas", count, rule, remedy=remedy))
    template = given.get("template") or {}
    _check_containers(reader, template, f"{path}.template.spec.containers")
    return ReplicaSpec(
        type=kind,
        count=1 if count is None else count,
        restart=RestartPolicy(given.get("restartPolicy") or RestartPolicy.NEVER),
        template=template,
    )


def _check_containers(reader: Reader, template: Mapping[str, Any], path: str) -> None:
    containers = (template.get("spec") or {}).get("containers") or ()
    for place, container in enumerate(containers):
        if not container.get("image"):
            rule, remedy = validation_messages.NO_IMAGE, hints.NO_IMAGE
            reader.note(field.required(f"{path}[{place}].image", rule, remedy=remedy))
    if all(container.get("name") != TRAINING_CONTAINER for container in containers):
        rule, remedy = validation_messages.NO_CONTAINERS, hints.NO_CONTAINERS
        reader.note(field.required(path, rule, remedy=remedy))


def _check_types(reader: Reader, replicas: Sequence[ReplicaSpec]) -> None:
    seen: set[str] = set()
    for place, each in enumerate(replicas):
        if each.type and each.type in seen:
            path = f"{SPECS}[{place}].type"
            reader.note(field.duplicate(path, each.type, remedy=hints.DUPLICATE_TYPE))
        seen.add(each.type)


def _has_master(replicas: Sequence[ReplicaSpec]) -> bool:
    return any(each.count and each.type in {api.CHIEF, api.WORKER} for each in replicas)


def _read_clean(reader: Reader, policy: Mapping[str, Any]) -> CleanPolicy:
    """The first spelling that is set; values are case-insensitive."""
    found: list[CleanPolicy] = []
    for key in ("cleanUpPolicy", "cleanPodPolicy"):
        given = policy.get(key)
        if given is None:
            continue
        chosen = _CLEAN_POLICIES.get(given.lower()) if given.isascii() else None
        if chosen is not None:
            found.append(chosen)
        else:
            path, allowed = f"spec.runPolicy.{key}", ("None", "All", "Unfinished")
            reader.note(field.unsupported(path, given, allowed, remedy=hints.CLEAN_UP))
    return found[0] if found else CleanPolicy.NONE


def _read_scheduling(reader: Reader, scheduler: Mapping[str, Any]) -> Scheduling | None:
    given = scheduler.get("t9kScheduler")
    if given is None:
        return None
    queue = given.get("queue") or ""
    if not queue:
        path, rule = "spec.scheduler.t9kScheduler.queue", validation_messages.NO_QUEUE
        reader.note(field.required(path, rule, remedy=hints.NO_QUEUE))
    return Scheduling(queue=queue, priority=given.get("priority") or 0)
