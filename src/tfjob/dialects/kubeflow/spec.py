"""Reads the spec of a TFJob: reports all faults and applies defaults in memory.

Replica types are case-insensitive; values in `runPolicy` take precedence over the older fields in
the spec. The stored object is never changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tfjob.core.job import MAX_REPLICAS, CleanPolicy, RestartPolicy
from tfjob.core.naming import MAX_NAME_LENGTH, child_prefix
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.kubeflow import api, hints, schema, validation_messages
from tfjob.dialects.kubeflow.schema import CLEAN_POLICIES
from tfjob.dialects.kubeflow.template import Template, read_template
from tfjob.dialects.schema_check import valid_part
from tfjob.k8s import field, names

SPECS = "spec.tfReplicaSpecs"
_SPEC = schema.spec()


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
    """Read the spec. The result is only valid if the reader has no faults.

    In a stored job, an unknown cleanPodPolicy counts as None: another operator accepted it.
    """
    name = _read_name(reader, reader.mapping(manifest.get("metadata"), "metadata"))
    place = len(reader.faults)
    given = manifest.get("spec")
    spec = valid_part(reader, _tolerated(given) if is_stored else given, _SPEC, "spec") or {}
    policy = spec.get("runPolicy") or {}
    replicas = _read_replicas(reader, spec)
    _check_name(reader, name, replicas, place=place)
    return Spec(
        replicas=replicas,
        clean_policy=policy.get("cleanPodPolicy") or spec.get("cleanPodPolicy"),
        ttl=_limit(spec, policy, "ttlSecondsAfterFinished"),
        deadline=_limit(spec, policy, "activeDeadlineSeconds"),
        backoff_limit=_limit(spec, policy, "backoffLimit"),
        is_suspended=bool(policy.get("suspend")),
        succeeds_with_all_workers=bool(spec.get("successPolicy")),
        is_dynamic=bool(spec.get("enableDynamicWorker")),
        scheduling=_scheduling(policy.get("schedulingPolicy") or {}),
    )


def _tolerated(spec: object) -> object:
    """The spec with unknown cleanPodPolicies replaced by None."""
    if not isinstance(spec, Mapping):
        return spec
    policy = spec.get("runPolicy")
    known = {**spec, "runPolicy": _with_known_policy(policy)} if policy is not None else spec
    return _with_known_policy(known)


def _with_known_policy(given: object) -> object:
    key = "cleanPodPolicy"
    if not isinstance(given, Mapping) or not isinstance(given.get(key), str):
        return given
    return given if given[key] in CLEAN_POLICIES else {**given, key: str(CleanPolicy.NONE)}


def _limit(spec: Mapping[str, Any], policy: Mapping[str, Any], key: str) -> int | None:
    """A limit from runPolicy, or from the older field in the spec."""
    found = policy.get(key)
    return spec.get(key) if found is None else found


def is_external(manifest: Mapping[str, Any]) -> bool:
    """Another controller manages this job, so the operator must not touch it."""
    spec = manifest.get("spec")
    policy = spec.get("runPolicy") if isinstance(spec, Mapping) else None
    manager = policy.get("managedBy") if isinstance(policy, Mapping) else None
    return isinstance(manager, str) and manager != api.MANAGER


class _Name(NamedTuple):
    """A name, or a generateName with a placeholder `suffix` for what the API server appends."""

    path: str
    text: str
    suffix: str = ""

    @property
    def whole(self) -> str:
        kept = self.text[: MAX_NAME_LENGTH - len(self.suffix)] if self.suffix else self.text
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
            reader.note(field.required(given.path, rule, remedy=hints.NO_NAME))
            return None
        given = _Name(path, prefix, names.GENERATED_SUFFIX)
    return given


def _read_replicas(reader: Reader, spec: Mapping[str, Any]) -> list[ReplicaSpec]:
    given = spec.get("tfReplicaSpecs") or {}
    if not given and all(fault.path != SPECS for fault in reader.faults):
        reader.note(field.required(SPECS, validation_messages.REQUIRED, remedy=hints.NO_TYPES))
    found: dict[str, ReplicaSpec] = {}
    for key, each in given.items():
        kind = _type_of(key)
        if kind is not None:
            found[kind] = _read_replica(reader, each or {}, key=key, kind=kind)
    _check_types(reader, given)
    total = sum(replica.count for replica in found.values())
    if total > MAX_REPLICAS:
        rule = validation_messages.MANY_REPLICAS
        reader.note(field.invalid(SPECS, total, rule, remedy=hints.MANY_REPLICAS))
    return [found[kind] for kind in api.TYPES if kind in found]


def _type_of(key: object) -> str | None:
    """The replica type of a key, whatever its case."""
    text = str(key)
    return api.BY_LOWER_CASE.get(text.lower()) if text.isascii() else None


def _check_types(reader: Reader, given: Mapping[str, Any]) -> None:
    """Of keys that differ in case only, all but the alphabetically first are duplicates."""
    kinds = {key: _type_of(key) for key in sorted(given, key=str)}
    if set(api.DECISIVE_TYPES) <= set(kinds.values()):
        rule = validation_messages.TWO_LEADERS
        reader.note(field.forbidden(SPECS, rule, remedy=hints.TWO_LEADERS))
    seen: set[str] = set()
    for key, kind in kinds.items():
        if kind is None:
            remedy = hints.for_type(str(key), api.TYPES)
            reader.note(field.unsupported(SPECS, str(key), api.TYPES, remedy=remedy))
        elif kind in seen:
            reader.note(field.duplicate(SPECS, key, remedy=hints.DUPLICATE_TYPE))
        else:
            seen.add(kind)


def _read_replica(reader: Reader, given: Mapping[str, Any], *, key: str, kind: str) -> ReplicaSpec:
    path = f"{SPECS}[{key}]"
    count = given.get("replicas")
    if count is not None and count > 1 and kind in api.DECISIVE_TYPES:
        rule = validation_messages.MANY_LEADERS.format(key)
        remedy = hints.MANY_LEADERS
        reader.note(field.invalid(f"{path}.replicas", count, rule, remedy=remedy))
    return ReplicaSpec(
        type=kind,
        count=1 if count is None else count,
        restart=RestartPolicy(given.get("restartPolicy") or RestartPolicy.NEVER),
        template=read_template(reader, given.get("template") or {}, f"{path}.template"),
    )


def _check_name(
    reader: Reader, name: _Name | None, replicas: Sequence[ReplicaSpec], *, place: int
) -> None:
    """The name and the longest `{job}-{type}-{index}` must both be valid names.

    A fault of the name itself is inserted before those of the spec, at `place`. Its hint contains
    the stricter limit.
    """
    if name is None:
        return
    longest = _max_name_length(replicas)
    allowed = longest - len(name.suffix)
    problems = names.dns1035_label_problems(name.whole)
    if problems:
        rule = validation_messages.BAD_NAME.format(",".join(problems))
        remedy = hints.for_name(name.text, longest=allowed)
        reader.faults.insert(place, field.invalid(name.path, name.text, rule, remedy=remedy))
    if longest < len(name.whole) <= MAX_NAME_LENGTH:
        rule, remedy = (
            validation_messages.LONG_NAME.format(allowed),
            hints.LONG_NAME.format(allowed),
        )
        reader.note(field.invalid(name.path, name.text, rule, remedy=remedy))


def _max_name_length(replicas: Sequence[ReplicaSpec]) -> int:
    tails = [
        len(child_prefix("", each.type)) + len(str(each.count - 1))
        for each in replicas
        if each.count
    ]
    return MAX_NAME_LENGTH - max(tails, default=0)


def _scheduling(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "minAvailable": given.get("minAvailable"),
        "queue": given.get("queue"),
        "priorityClass": given.get("priorityClass"),
        "minResources": dict(given.get("minResources") or {}) or None,
        "scheduleTimeoutSeconds": given.get("scheduleTimeoutSeconds"),
    }
