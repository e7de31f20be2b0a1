"""Encodes and decodes the status of a TfJob: a phase, a state, and counts by state.

Once a job is Done or Failed, its status never changes again. During clean-up only the phase
changes; the counts are those of the moment the job finished. Decoding is lenient.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfjob.core.companion_problem import companion_problem
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import CleanPolicy, Job, ReplicaType
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import (
    Children,
    ObservedState,
    ReplicaInstance,
    ended_uids,
    observe,
    replica_key,
    replica_services,
)
from tfjob.core.replicas import missing_companions
from tfjob.core.status import Condition, ConditionType, JobStatus, ReplicaStatus
from tfjob.dialects import diagnosis_field
from tfjob.dialects.base import StatusContext
from tfjob.dialects.stored_values import mapping, mappings, number, text
from tfjob.dialects.tensorflow import api, key_aliases
from tfjob.dialects.tensorflow.template import has_training_container
from tfjob.k8s import time
from tfjob.k8s.pod import Phase

_REPLICAS = "replicaSpecs"
FIELDS = frozenset(
    {
        "conditions",
        "controlPaused",
        "diagnosis",
        "phase",
        "reason",
        "replicaStatuses",
        "state",
        _REPLICAS,
    }
)
_ENDED = frozenset({api.DONE, api.CLEAN_UP})
_STATES = {
    Phase.RUNNING: api.RUNNING,
    Phase.SUCCEEDED: api.SUCCEEDED,
    Phase.FAILED: api.FAILED,
}


def decode(stored: object, *, created: object = None) -> JobStatus:
    """Decode a stored status; `created` is the job's creation time, which the status lacks."""
    given = mapping(stored)
    conditions = tuple(_conditions(given, phase_of(given)))
    return JobStatus(
        conditions=conditions,
        replicas=_replicas(given.get("replicaStatuses")),
        start_time=time.parse(created) if conditions else None,
        diagnosis=diagnosis_field.decoded(given),
    )


def encode(job: Job | InvalidJob, status: JobStatus, context: StatusContext) -> dict[str, Any]:
    if is_final(context.stored) or not status.conditions:
        return dict(context.stored)
    shown = _encoded(job, status, context)
    diagnosis = diagnosis_field.encoded(status)
    return shown if diagnosis is None else {**shown, diagnosis_field.NAME: diagnosis}


def _encoded(job: Job | InvalidJob, status: JobStatus, context: StatusContext) -> dict[str, Any]:
    if isinstance(job, InvalidJob):
        return _refused(status, context.stored)
    if status.is_finished:
        return _ended(job, status, context)
    observed_state = observe(job, context.children)
    is_running = status.is_true(ConditionType.RUNNING)
    was_running = phase_of(context.stored) == api.RUNNING
    is_up = is_running and (was_running or _is_whole(job, observed_state, context.children))
    return _shown(
        phase=api.RUNNING if is_up else api.CREATING,
        state=api.RUNNING,
        reason=_reason(job, context),
        counts=_counts(job, observed_state),
    ) | _defaults(job, context)


def _reason(job: Job, context: StatusContext) -> str:
    """Why a child cannot be created, or else why TensorBoard cannot start."""
    if context.create_error:
        return api.TROUBLE_TEXT + context.create_error
    for companion in job.companions:
        if problem := companion_problem(companion, context.children):
            return api.BOARD_TROUBLE.format(name=companion.name, problem=problem)
    return ""


def phase_of(stored: Mapping[str, Any]) -> str:
    return text(stored.get("phase"))


def is_final(stored: Mapping[str, Any]) -> bool:
    return phase_of(stored) in {api.DONE, api.FAILED}


def _refused(status: JobStatus, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The status of an invalid job: Failed, unless it finished before it became invalid."""
    failed = status.condition(ConditionType.FAILED)
    if failed is None or failed.reason != api.INVALID:
        return dict(stored)
    counts = stored.get("replicaStatuses")
    return _shown(
        phase=api.FAILED,
        state=api.FAILED,
        reason=failed.message,
        counts=counts if isinstance(counts, list) else [],
    )


def _ended(job: Job, status: JobStatus, context: StatusContext) -> dict[str, Any]:
    phase = api.DONE if _is_clean(job, context.children) else api.CLEAN_UP
    if phase_of(context.stored) == api.CLEAN_UP:
        return {**context.stored, "phase": phase}
    return _shown(
        phase=phase,
        state=api.SUCCEEDED if status.is_true(ConditionType.SUCCEEDED) else api.FAILED,
        reason="",
        counts=_counts(job, observe(job, context.children)),
    ) | _defaults(job, context)


def _defaults(job: Job, context: StatusContext) -> dict[str, Any]:
    """What the operator supplies for replicas, unless the spec shows it; it never changes again.

    Nothing is added to the list of replicas in the spec: a client that applies its file again
    would replace the whole list, and so change the job.
    """
    if context.stored.get(_REPLICAS):
        return {_REPLICAS: context.stored[_REPLICAS]}
    spec = key_aliases.normalised(context.read_spec(), key_aliases.SPEC)
    entries = [
        key_aliases.normalised(each, key_aliases.REPLICA)
        for each in mappings(spec.get("replicaSpecs"))
    ]
    if all("IsDefaultPS" in each for each in entries):
        return {}
    return {_REPLICAS: [_defaults_of(*pair) for pair in zip(job.replicas, entries, strict=False)]}


def _defaults_of(replica: ReplicaType, given: Mapping[str, Any]) -> dict[str, Any]:
    is_default_server = bool(replica.commands)
    found: dict[str, Any] = {"IsDefaultPS": is_default_server, "tfReplicaType": replica.type}
    if is_default_server and not has_training_container(mapping(given.get("template"))):
        found["template"] = replica.template
    return found


def _shown(
    *, phase: str, state: str, reason: str, counts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "conditions": None,
        "controlPaused": False,
        "phase": phase,
        "reason": reason,
        "replicaStatuses": list(counts),
        "state": state,
    }


def _counts(job: Job, observed_state: ObservedState) -> list[dict[str, Any]]:
    return [
        _count(replica.type, observed_state.instances[replica.type]) for replica in job.replicas
    ]


def _count(kind: str, instances: Sequence[ReplicaInstance]) -> dict[str, Any]:
    states = Counter(_state(instance) for instance in instances)
    return {
        "ReplicasStates": dict(sorted(states.items())),
        "state": _state_of_set(states),
        "tf_replica_type": kind,
    }


def _state(instance: ReplicaInstance) -> str:
    return api.UNKNOWN if instance.phase is None else _STATES.get(instance.phase, api.UNKNOWN)


def _state_of_set(states: Mapping[str, int]) -> str:
    for state in (api.FAILED, api.RUNNING):
        if state in states:
            return state
    return api.SUCCEEDED if set(states) == {api.SUCCEEDED} else api.UNKNOWN


def _is_whole(job: Job, observed_state: ObservedState, children: Children) -> bool:
    """All children of the job exist."""
    instances = observed_state.all_instances()
    services = {each.metadata.name for each in children.services}
    return (
        all(instance.job is not None for instance in instances)
        and all(instance.name in services for instance in instances)
        and not missing_companions(job, children)
    )


def _is_clean(job: Job, children: Children) -> bool:
    """Nothing that clean-up deletes exists any more, not even terminating."""
    clean = job.policy.clean
    if clean is CleanPolicy.NONE:
        return True
    is_all = clean is CleanPolicy.ALL
    over = frozenset() if is_all else ended_uids(job, children, observe(job, children))
    pods = [pod for pod in children.pods if replica_key(job, pod.metadata) is not None]
    pending_pods = [pod for pod in pods if pod.metadata.uid not in over]
    pending_jobs = [each for each in children.jobs if each.metadata.uid not in over]
    kept = set() if is_all else {each.metadata.name for each in children.jobs}
    services = {each.metadata.name for each in replica_services(job, children)}
    return not (pending_pods or pending_jobs or services - kept)


def _conditions(given: Mapping[str, Any], phase: str) -> Iterable[Condition]:
    messages = api.MESSAGES
    if phase in {api.CREATING, api.RUNNING, *_ENDED}:
        yield _condition(ConditionType.CREATED, messages.created)
    if phase == api.RUNNING:
        yield _condition(ConditionType.RUNNING, messages.running)
    if phase in _ENDED and given.get("state") == api.SUCCEEDED:
        yield _condition(ConditionType.SUCCEEDED, messages.succeeded)
    elif phase in _ENDED:
        yield _condition(ConditionType.FAILED, messages.failed)
    elif phase == api.FAILED:
        message = text(given.get("reason"))
        yield _condition(ConditionType.FAILED, messages.invalid, message=message)


def _condition(kind: ConditionType, template: MessageTemplate, *, message: str = "") -> Condition:
    """A true condition without timestamps, which are not stored."""
    return Condition(
        type=kind.value,
        status="True",
        reason=template.reason,
        message=message,
        last_update=None,
        last_transition=None,
    )


def _replicas(stored: object) -> Mapping[str, ReplicaStatus]:
    found: dict[str, ReplicaStatus] = {}
    for each in mappings(stored):
        kind, states = each.get("tf_replica_type"), mapping(each.get("ReplicasStates"))
        if isinstance(kind, str):
            found[kind] = ReplicaStatus(
                active=number(states.get(api.RUNNING)),
                succeeded=number(states.get(api.SUCCEEDED)),
                failed=number(states.get(api.FAILED)),
            )
    return found
