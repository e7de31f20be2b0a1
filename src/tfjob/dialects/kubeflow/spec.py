"""The spec of a TFJob, read with every fault named and every default applied in memory.

Keys of replica types match whatever their case; values under `runPolicy` win over the older
places of the same fields. The stored object is never changed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import MAX_REPLICAS, RestartPolicy
from tfjob.core.naming import LONGEST_NAME, child_prefix
from tfjob.dialects.kubeflow import words
from tfjob.dialects.kubeflow.template import Template, read_template
from tfjob.dialects.reading import Reader
from tfjob.k8s import field, names

CLEAN_POLICIES = ("", "All", "Running", "None")
SUCCESS_POLICIES = ("", "AllWorkers")
RESTART_POLICIES = tuple(str(policy) for policy in RestartPolicy)
_GENERATED_SUFFIX = "xxxxx"
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


def read_spec(reader: Reader, manifest: Mapping[str, Any]) -> Spec:
    """The spec's meaning; worth nothing when the reader has faults afterwards."""
    metadata = reader.mapping(manifest.get("metadata"), "metadata")
    spec = reader.mapping(manifest.get("spec"), "spec")
    policy = reader.mapping(spec.get("runPolicy"), "spec.runPolicy")
    name = _check_name(reader, metadata)
    _check_manager(reader, policy)
    replicas = _read_replicas(reader, spec.get("tfReplicaSpecs"))
    _check_child_names(reader, name, replicas)

    def limit(key: str, *, at_most: int = 2**31 - 1) -> int | None:
        value, path = _of_policy(spec, policy, key)
        return reader.integer(value, path, at_most=at_most)

    clean, clean_path = _of_policy(spec, policy, "cleanPodPolicy")
    return Spec(
        replicas=replicas,
        clean_policy=reader.choice(clean, clean_path, CLEAN_POLICIES) or None,
        ttl=limit("ttlSecondsAfterFinished"),
        deadline=limit("activeDeadlineSeconds", at_most=2**63 - 1),
        backoff_limit=limit("backoffLimit"),
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


def _of_policy(spec: Mapping[str, Any], policy: Mapping[str, Any], key: str) -> tuple[object, str]:
    """A value of the run policy and where it stands; older objects have it one level up."""
    if policy.get(key) is not None:
        return policy[key], f"spec.runPolicy.{key}"
    return spec.get(key), f"spec.{key}"


def _check_name(reader: Reader, metadata: Mapping[str, Any]) -> str:
    path = "metadata.name"
    name = reader.text(metadata.get("name"), path)
    prefix = reader.text(metadata.get("generateName"), "metadata.generateName")
    if not name and not prefix:
        reader.note(field.required(path, "name or generateName is required"))
        return ""
    checked = name or f"{prefix[: LONGEST_NAME - len(_GENERATED_SUFFIX)]}{_GENERATED_SUFFIX}"
    problems = names.dns1035_label_problems(checked)
    if problems:
        reader.note(field.invalid(path, name or prefix, f"should match: {','.join(problems)}"))
    return checked


def _check_manager(reader: Reader, policy: Mapping[str, Any]) -> None:
    path = "spec.runPolicy.managedBy"
    reader.choice(policy.get("managedBy"), path, words.MANAGERS)


def _read_replicas(reader: Reader, value: object) -> list[ReplicaSpec]:
    given = reader.mapping(value, _SPECS)
    if value is None or (isinstance(value, Mapping) and not given):
        reader.note(field.required(_SPECS, "must be required"))
    found: dict[str, ReplicaSpec] = {}
    unknown: list[str] = []
    twins: list[str] = []
    for key, each in given.items():
        kind = words.BY_LOWER_CASE.get(str(key).lower())
        if kind is None:
            unknown.append(str(key))
            continue
        if kind in found:
            twins.append(key)
        found[kind] = _read_replica(reader, each, path=f"{_SPECS}[{key}]", kind=kind)
    if sum(kind in found for kind in words.DECIDING_TYPES) > 1:
        reader.note(field.forbidden(_SPECS, "must not have more than 1 Chief or Master role"))
    for key in unknown:
        reader.note(field.unsupported(_SPECS, key, words.TYPES))
    for key in twins:
        reader.note(field.duplicate(_SPECS, key))
    total = sum(replica.count for replica in found.values())
    if total > MAX_REPLICAS:
        rule = f"must be no more than {MAX_REPLICAS} replicas in total"
        reader.note(field.invalid(_SPECS, total, rule))
    return [found[kind] for kind in words.TYPES if kind in found]


def _read_replica(reader: Reader, value: object, *, path: str, kind: str) -> ReplicaSpec:
    given = reader.mapping(value, path)
    count = reader.integer(given.get("replicas"), f"{path}.replicas")
    if count is not None and count > 1 and kind in words.DECIDING_TYPES:
        rule = f"{path}.replicas in body should be less than or equal to 1"
        reader.note(field.invalid(f"{path}.replicas", count, rule))
    policy = given.get("restartPolicy") or None
    restart = reader.choice(policy, f"{path}.restartPolicy", RESTART_POLICIES)
    return ReplicaSpec(
        type=kind,
        count=1 if count is None else count,
        restart=RestartPolicy(restart or RestartPolicy.NEVER),
        template=read_template(reader, given.get("template"), f"{path}.template"),
    )


def _check_child_names(reader: Reader, name: str, replicas: Sequence[ReplicaSpec]) -> None:
    """The longest `{job}-{type}-{index}` must be a legal name."""
    tails = [len(child_prefix("", each.type)) + len(str(each.count - 1)) for each in replicas]
    longest = LONGEST_NAME - max(tails, default=0)
    if longest < len(name) <= LONGEST_NAME:
        rule = (
            f"must be no more than {longest} characters"
            " because pod and service names are derived from it"
        )
        reader.note(field.invalid("metadata.name", name, rule))


def _read_scheduling(reader: Reader, value: object) -> Mapping[str, Any]:
    path = "spec.runPolicy.schedulingPolicy"
    given = reader.mapping(value, path)
    reader.text(given.get("queue"), f"{path}.queue")
    reader.text(given.get("priorityClass"), f"{path}.priorityClass")
    resources = reader.mapping(given.get("minResources"), f"{path}.minResources")
    return {
        "minAvailable": reader.integer(given.get("minAvailable"), f"{path}.minAvailable"),
        "queue": given.get("queue"),
        "priorityClass": given.get("priorityClass"),
        "minResources": dict(resources) or None,
        "scheduleTimeoutSeconds": reader.integer(
            given.get("scheduleTimeoutSeconds"), f"{path}.scheduleTimeoutSeconds"
        ),
    }
