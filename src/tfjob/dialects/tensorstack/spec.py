"""Reads the spec of these jobs: applies the schema, its rules, and defaults in memory.

Older spellings of fields are used if the newer ones are absent. The stored object is never
changed.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import CleanPolicy, RestartPolicy
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.naming import check_job, read_name, rules_of
from tfjob.dialects.rule_check import RuleTree
from tfjob.dialects.schema_check import valid_part
from tfjob.dialects.tensorstack import schema, validation_messages
from tfjob.dialects.tensorstack.run_mode import Modes, read_modes
from tfjob.dialects.tensorstack.tensorboard_spec import Board, read_board
from tfjob.k8s import field

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
    clean: CleanPolicy = CleanPolicy.NONE
    deadline: int | None = None
    backoff_limit: int | None = None
    scheduling: Scheduling | None = None
    modes: Modes = Modes()
    board: Board | None = None


@functools.cache
def _rules() -> RuleTree:
    """Compiled when first needed: most commands check no job."""
    return rules_of(schema.schema())


def read_spec(reader: Reader, manifest: Mapping[str, Any], *, is_checked: bool = False) -> Spec:
    """Read the spec. With faults, the result is empty. `is_checked` skips the rules."""
    name = read_name(reader, manifest)
    given = manifest.get("spec")
    spec = valid_part(reader, given, _SPEC, "spec")
    if given is None:
        rule, remedy = validation_messages.NO_REPLICAS, validation_messages.NO_REPLICAS_REMEDY
        reader.note(field.required(SPECS, rule, remedy=remedy))
    if reader.faults or not is_checked:
        check_job(reader, _rules(), name=name, spec=spec, place=0)
    return Spec(replicas=()) if reader.faults else _spec_of(spec)


def _spec_of(spec: Mapping[str, Any]) -> Spec:
    policy = spec.get("runPolicy") or {}
    return Spec(
        replicas=[_replica_of(each) for each in spec["replicaSpecs"]],
        clean=_clean_of(policy),
        deadline=policy.get("activeDeadlineSeconds"),
        backoff_limit=policy.get("backoffLimit"),
        scheduling=_scheduling_of(spec.get("scheduler") or {}),
        modes=read_modes(spec.get("runMode") or {}),
        board=read_board(spec.get("tensorboardSpec")),
    )


def _replica_of(given: Mapping[str, Any]) -> ReplicaSpec:
    return ReplicaSpec(
        type=given["type"],
        count=given.get("replicas", 1),
        restart=RestartPolicy(given.get("restartPolicy") or RestartPolicy.NEVER),
        template=given["template"],
    )


def _clean_of(policy: Mapping[str, Any]) -> CleanPolicy:
    """The first spelling that is set; values are case-insensitive."""
    for key in ("cleanUpPolicy", "cleanPodPolicy"):
        if key in policy:
            return _CLEAN_POLICIES[policy[key].lower()]
    return CleanPolicy.NONE


def _scheduling_of(scheduler: Mapping[str, Any]) -> Scheduling | None:
    given = scheduler.get("t9kScheduler")
    if given is None:
        return None
    return Scheduling(queue=given["queue"], priority=given.get("priority", 0))
