"""Reads the spec of a TFJob: applies the schema, its rules and its defaults.

Replica types are case-insensitive; values in `runPolicy` take precedence over the older fields in
the spec. Templates are passed on as written; only the fields that services and TF_CONFIG depend on
are read.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER, CleanPolicy, RestartPolicy, ServicePort
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.kubeflow import api, defaults, schema
from tfjob.dialects.kubeflow.schema import CLEAN_POLICIES
from tfjob.dialects.naming import check_job, read_name, rules_of
from tfjob.dialects.rule_check import RuleTree
from tfjob.dialects.schema_check import valid_part

SPECS = "spec.tfReplicaSpecs"
_SPEC = schema.spec()


class Template(msgspec.Struct, frozen=True):
    """A template with its TensorFlow port, and what was read of it."""

    body: Mapping[str, Any] = {}
    port: int = api.PORT
    ports: Sequence[ServicePort] = ()
    has_restart_policy: bool = False


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


@functools.cache
def _rules() -> RuleTree:
    """Compiled when first needed: most commands check no job."""
    return rules_of(schema.schema())


def read_spec(
    reader: Reader, manifest: Mapping[str, Any], *, is_stored: bool, is_checked: bool = False
) -> Spec:
    """Read the spec. With faults, the result is empty. `is_checked` skips the rules.

    In a stored job, an unknown cleanPodPolicy counts as None: another operator accepted it.
    """
    name = read_name(reader, manifest)
    place = len(reader.faults)
    given = manifest.get("spec")
    spec = valid_part(reader, _tolerated(given) if is_stored else given, _SPEC, "spec")
    if reader.faults or not is_checked:
        judged = _with_entries(spec)
        check_job(reader, _rules(), name=name, spec=judged, place=place)
    return Spec(replicas=()) if reader.faults else _spec_of(spec)


def _with_entries(spec: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The spec with null replicas replaced by empty ones, which lack the same things."""
    given = (spec or {}).get("tfReplicaSpecs")
    if spec is None or given is None or None not in given.values():
        return spec
    return {**spec, "tfReplicaSpecs": {key: each or {} for key, each in given.items()}}


def _spec_of(spec: Mapping[str, Any]) -> Spec:
    policy = spec.get("runPolicy") or {}
    replicas = [
        _replica_of(each, kind=kind)
        for kind, each in defaults.replicas(spec["tfReplicaSpecs"]).items()
    ]
    total = sum(each.count for each in replicas)
    return Spec(
        replicas=replicas,
        clean_policy=policy.get("cleanPodPolicy") or spec.get("cleanPodPolicy"),
        ttl=_limit(spec, policy, "ttlSecondsAfterFinished"),
        deadline=_limit(spec, policy, "activeDeadlineSeconds"),
        backoff_limit=_limit(spec, policy, "backoffLimit"),
        is_suspended=bool(policy.get("suspend")),
        succeeds_with_all_workers=bool(spec.get("successPolicy")),
        is_dynamic=bool(spec.get("enableDynamicWorker")),
        scheduling=defaults.scheduling_policy(policy.get("schedulingPolicy") or {}, total=total),
    )


def _replica_of(given: Mapping[str, Any], *, kind: str) -> ReplicaSpec:
    return ReplicaSpec(
        type=kind,
        count=given["replicas"],
        restart=RestartPolicy(given["restartPolicy"]),
        template=read_template(given["template"]),
    )


def read_template(given: Mapping[str, Any]) -> Template:
    """Read a valid template that has the TensorFlow port."""
    spec = given["spec"]
    own = next(each for each in spec["containers"] if each.get("name") == TRAINING_CONTAINER)
    port = next(each for each in own["ports"] if each.get("name") == api.PORT_NAME)
    return Template(
        body=given,
        port=int(port["containerPort"]),
        ports=_service_ports(own["ports"]),
        has_restart_policy=bool(spec.get("restartPolicy")),
    )


def _service_ports(ports: Sequence[Mapping[str, Any]]) -> list[ServicePort]:
    """Each (port, protocol) once, with a unique name; the TensorFlow port keeps its name."""
    given: dict[tuple[int, str], tuple[str, str]] = {}
    for port in ports:
        name, protocol = port.get("name") or "", port.get("protocol") or ""
        place = (int(port["containerPort"]), protocol or "TCP")
        if place not in given or name == api.PORT_NAME:
            given[place] = (name, protocol)
    taken = {name for name, _ in given.values() if name}
    found: list[ServicePort] = []
    for (number, transport), (name, protocol) in given.items():
        shown = name or f"port-{number}"
        if not name and shown in taken:
            shown = f"{shown}-{transport.lower()}"
        taken.add(shown)
        found.append(ServicePort(name=shown, port=number, protocol=protocol))
    return found


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
