"""The spec of a TFJob, read with every fault named and every default applied in memory.

Keys of replica types match whatever their case; values under `runPolicy` win over the older
places of the same fields. The stored object is never changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tfjob.core.job import MAX_REPLICAS, CleanPolicy, RestartPolicy
from tfjob.core.naming import LONGEST_NAME, child_prefix
from tfjob.dialects.kubeflow import refusals, remedies, words
from tfjob.dialects.kubeflow.schema import (
    CLEAN_POLICIES,
    INT64,
    RESTART_POLICIES,
    SUCCESS_POLICIES,
)
from tfjob.dialects.kubeflow.template import Template, read_template
from tfjob.dialects.reading import Reader
from tfjob.k8s import field, names

_SPECS = "spec.tfReplicaSpecs"


class ReplicaSpec(msgspec.Struct, frozen=True):
    type: str
    count: int
    restart: RestartPolicy
    template: Template


class Spec(msgspec.Struct, frozen=True):
    replicas: Sequence[ReplicaSpec]
    clean_policy: str | None = None
    ttl: int | None = None
    deadline: int | None = None
    backoff_limit: int | None = None
    is_suspended: bool = False
    succeeds_with_all_workers: bool = False
    is_dynamic: bool = False
    scheduling: Mapping[str, Any] = {}


def read_spec(reader: Reader, manifest: Mapping[str, Any], *, is_stored: bool) -> Spec:
    """The spec's meaning; worth nothing when the reader has faults afterwards.

    A stored clean-up policy that nobody knows deletes nothing: it was accepted once, by others.
    """
    metadata = reader.mapping(manifest.get("metadata"), "metadata")
    spec = reader.mapping(manifest.get("spec"), "spec")
    policy = reader.mapping(spec.get("runPolicy"), "spec.runPolicy")
    name = _read_name(reader, metadata)
    place = len(reader.faults)
    reader.choice(
        policy.get("managedBy"),
        "spec.runPolicy.managedBy",
        words.MANAGERS,
        remedy=remedies.MANAGER,
    )
    replicas = _read_replicas(reader, spec.get("tfReplicaSpecs"))
    _check_name(reader, name, replicas, place=place)
    limits = _Limits(reader, spec, policy)
    return Spec(
        replicas=replicas,
        clean_policy=limits.clean_policy(is_stored=is_stored),
        ttl=limits.number("ttlSecondsAfterFinished"),
        deadline=limits.number("activeDeadlineSeconds", at_most=INT64),
        backoff_limit=limits.number("backoffLimit"),
        is_suspended=reader.boolean(policy.get("suspend"), "spec.runPolicy.suspend"),
        succeeds_with_all_workers=bool(
            reader.choice(spec.get("successPolicy"), "spec.successPolicy", SUCCESS_POLICIES)
        ),
        is_dynamic=reader.boolean(spec.get("enableDynamicWorker"), "spec.enableDynamicWorker"),
        scheduling=_read_scheduling(reader, policy.get("schedulingPolicy")),
    )


def is_external(manifest: Mapping[str, Any]) -> bool:
    """Another controller manages this job; ours must not touch it."""
    spec = manifest.get("spec")
    policy = spec.get("runPolicy") if isinstance(spec, Mapping) else None
    manager = policy.get("managedBy") if isinstance(policy, Mapping) else None
    return isinstance(manager, str) and manager != words.MANAGER


class _Limits:
    """Values of the run policy; older objects have them one level up, where they count less."""

    def __init__(self, reader: Reader, spec: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
        self._reader = reader
        self._places = (("spec.runPolicy", policy), ("spec", spec))

    def number(self, key: str, *, at_most: int = 2**31 - 1) -> int | None:
        values = [
            self._reader.integer(place.get(key), f"{path}.{key}", at_most=at_most)
            for path, place in self._places
        ]
        return next((value for value in values if value is not None), None)

    def clean_policy(self, *, is_stored: bool) -> str | None:
        """The first that says something: an empty text says nothing."""
        values = [
            self._clean_policy(place.get("cleanPodPolicy"), path, is_stored=is_stored)
            for path, place in self._places
        ]
        return next((value for value in values if value), None)

    def _clean_policy(self, value: object, path: str, *, is_stored: bool) -> str | None:
        if is_stored and isinstance(value, str) and value not in CLEAN_POLICIES:
            return str(CleanPolicy.NONE)
        return self._reader.choice(value, f"{path}.cleanPodPolicy", CLEAN_POLICIES)


class _Name(NamedTuple):
    """A name, or the beginning of one that the API server will complete by `suffix`."""

    path: str
    text: str
    suffix: str = ""

    @property
    def whole(self) -> str:
        kept = self.text[: LONGEST_NAME - len(self.suffix)] if self.suffix else self.text
        return kept + self.suffix


def _read_name(reader: Reader, metadata: Mapping[str, Any]) -> _Name | None:
    given = _Name("metadata.name", reader.text(metadata.get("name"), "metadata.name"))
    if not isinstance(metadata.get("name"), str | None):
        return None
    if not given.text:
        path = "metadata.generateName"
        prefix = reader.text(metadata.get("generateName"), path)
        if not prefix:
            rule = "name or generateName is required"
            reader.note(field.required(given.path, rule, remedy=remedies.NO_NAME))
            return None
        given = _Name(path, prefix, names.GENERATED_SUFFIX)
    return given


def _read_replicas(reader: Reader, value: object) -> list[ReplicaSpec]:
    given = reader.mapping(value, _SPECS)
    if value is None or (isinstance(value, Mapping) and not given):
        reader.note(field.required(_SPECS, refusals.REQUIRED, remedy=remedies.NO_TYPES))
    found: dict[str, ReplicaSpec] = {}
    for key, each in given.items():
        kind = _type_of(key)
        if kind is not None:
            found[kind] = _read_replica(reader, each, key=key, kind=kind)
    _check_types(reader, given)
    total = sum(replica.count for replica in found.values())
    if total > MAX_REPLICAS:
        rule = refusals.MANY_REPLICAS
        reader.note(field.invalid(_SPECS, total, rule, remedy=remedies.MANY_REPLICAS))
    return [found[kind] for kind in words.TYPES if kind in found]


def _type_of(key: object) -> str | None:
    """The type that a key means, whatever its case."""
    text = str(key)
    return words.BY_LOWER_CASE.get(text.lower()) if text.isascii() else None


def _check_types(reader: Reader, given: Mapping[str, Any]) -> None:
    """Of keys that differ in case alone all but the first, in order of the alphabet, are twins."""
    kinds = {key: _type_of(key) for key in sorted(given, key=str)}
    if set(words.DECIDING_TYPES) <= set(kinds.values()):
        rule = refusals.TWO_LEADERS
        reader.note(field.forbidden(_SPECS, rule, remedy=remedies.TWO_LEADERS))
    seen: set[str] = set()
    for key, kind in kinds.items():
        if kind is None:
            remedy = remedies.for_type(str(key), words.TYPES)
            reader.note(field.unsupported(_SPECS, str(key), words.TYPES, remedy=remedy))
        elif kind in seen:
            reader.note(field.duplicate(_SPECS, key, remedy=remedies.TWINS))
        else:
            seen.add(kind)


def _read_replica(reader: Reader, value: object, *, key: str, kind: str) -> ReplicaSpec:
    path = f"{_SPECS}[{key}]"
    given = reader.mapping(value, path)
    count = reader.integer(given.get("replicas"), f"{path}.replicas", at_most=MAX_REPLICAS)
    if count is not None and count > 1 and kind in words.DECIDING_TYPES:
        rule = refusals.MANY_LEADERS.format(key)
        remedy = remedies.MANY_LEADERS
        reader.note(field.invalid(f"{path}.replicas", count, rule, remedy=remedy))
    restart = reader.choice(given.get("restartPolicy"), f"{path}.restartPolicy", RESTART_POLICIES)
    return ReplicaSpec(
        type=kind,
        count=1 if count is None else count,
        restart=RestartPolicy(restart or RestartPolicy.NEVER),
        template=read_template(reader, given.get("template"), f"{path}.template"),
    )


def _check_name(
    reader: Reader, name: _Name | None, replicas: Sequence[ReplicaSpec], *, place: int
) -> None:
    """A name must be a label, and the longest `{job}-{type}-{index}` must be a legal name too.

    The first is told at its place among the faults; the remedy says the limit that counts.
    """
    if name is None:
        return
    longest = _longest_name(replicas)
    room = longest - len(name.suffix)
    problems = names.dns1035_label_problems(name.whole)
    if problems:
        rule = refusals.BAD_NAME.format(",".join(problems))
        remedy = remedies.for_name(name.text, longest=room)
        reader.faults.insert(place, field.invalid(name.path, name.text, rule, remedy=remedy))
    if longest < len(name.whole) <= LONGEST_NAME:
        rule, remedy = refusals.LONG_NAME.format(room), remedies.LONG_NAME.format(room)
        reader.note(field.invalid(name.path, name.text, rule, remedy=remedy))


def _longest_name(replicas: Sequence[ReplicaSpec]) -> int:
    tails = [
        len(child_prefix("", each.type)) + len(str(each.count - 1))
        for each in replicas
        if each.count
    ]
    return LONGEST_NAME - max(tails, default=0)


def _read_scheduling(reader: Reader, value: object) -> Mapping[str, Any]:
    path = "spec.runPolicy.schedulingPolicy"
    given = reader.mapping(value, path)
    reader.text(given.get("queue"), f"{path}.queue")
    reader.text(given.get("priorityClass"), f"{path}.priorityClass")
    resources = reader.quantities(given.get("minResources"), f"{path}.minResources")
    return {
        "minAvailable": reader.integer(given.get("minAvailable"), f"{path}.minAvailable"),
        "queue": given.get("queue"),
        "priorityClass": given.get("priorityClass"),
        "minResources": dict(resources) or None,
        "scheduleTimeoutSeconds": reader.integer(
            given.get("scheduleTimeoutSeconds"), f"{path}.scheduleTimeoutSeconds"
        ),
    }
