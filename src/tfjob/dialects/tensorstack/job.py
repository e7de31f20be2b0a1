"""Decodes a TensorFlowTrainingJob into the neutral job.

The master alone is decisive: the chief, or worker 0 if there is none. Every restart creates a new
pod with the same name.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from tfjob.core import tf_config
from tfjob.core.exit_codes import ExitCodes
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import (
    Job,
    LabelKeys,
    Owner,
    ReplicaType,
    RestartPolicy,
    RunPolicy,
    Semantics,
    ServicePort,
    SuccessCriterion,
    TFConfig,
)
from tfjob.core.scheduling_spec import GangSpec
from tfjob.core.status import ConditionType
from tfjob.dialects import job_annotations
from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.field_reader import ROOT, Reader
from tfjob.dialects.job_annotations import JobAnnotations
from tfjob.dialects.naming import child_prefix, label_value
from tfjob.dialects.stored_values import is_deleting, mapping, owner_of
from tfjob.dialects.tensorstack import api, run_mode, status, tensorboard
from tfjob.dialects.tensorstack.spec import SPECS, ReplicaSpec, Spec, read_spec
from tfjob.dialects.tensorstack.t9k_scheduler import backend_of, gang_for, scheduled
from tfjob.k8s import time
from tfjob.k8s.field import Fault

EXIT_CODES = ExitCodes(retryable=frozenset({130, 137, 138, 143}))
_MAX_RESTART_DELAY = timedelta(seconds=360)
_ID_LENGTH = 5


def validate(manifest: Manifest) -> list[Fault]:
    """All faults of a job. A document that is not JSON is not checked any further."""
    reader = Reader()
    reader.json(manifest)
    if not reader.faults:
        read_spec(reader, reader.mapping(manifest, ROOT))
    if reader.faults:
        return reader.faults
    found = decode(manifest, Settings(), is_checked=True)
    return list(found.faults) if isinstance(found, InvalidJob) else []


def decode(manifest: Manifest, settings: Settings, *, is_checked: bool = False) -> Job | InvalidJob:
    """Decode a stored job."""
    reader = Reader()
    given = reader.mapping(manifest, ROOT)
    owner = owner_of(given, api_version=api.API_VERSION, kind=api.KIND)
    stored = mapping(given.get("status"))
    spec = read_spec(reader, given, is_checked=is_checked)
    deleting = is_deleting(given)
    if reader.faults:
        return InvalidJob(
            owner=owner,
            messages=api.MESSAGES,
            faults=reader.faults,
            status=status.decode(stored),
            is_deleting=deleting,
        )
    job = _job(spec, owner, settings=settings, stored=stored, is_deleting=deleting)
    job = _annotated(job, job_annotations.read(given, recovery=settings.recovery))
    return tf_config.checked(job, path=SPECS)


def _annotated(job: Job, annotated: JobAnnotations) -> Job:
    replace = msgspec.structs.replace
    return replace(
        job,
        semantics=replace(job.semantics, recovery=annotated.recovery),
        policy=replace(job.policy, evaluator_grace=annotated.evaluator_grace),
        warnings=[*job.warnings, *annotated.warnings],
    )


def instance_id(uid: str) -> str:
    """An id that distinguishes the children from those of an earlier job of the same name."""
    digest = hashlib.sha1(uid.encode("utf-8", "replace"), usedforsecurity=False)
    return digest.hexdigest()[:_ID_LENGTH]


def _job(
    spec: Spec, owner: Owner, *, settings: Settings, stored: Mapping[str, Any], is_deleting: bool
) -> Job:
    found = status.decode(stored)
    success_criterion = _success_criterion(spec)
    backend, total = backend_of(settings), sum(each.count for each in spec.replicas)
    gang = gang_for(spec.scheduling, backend=backend, job_name=owner.name, total=total)
    was_paused = found.condition(ConditionType.SUSPENDED) is not None
    board = mapping(stored.get("tensorboard"))
    return Job(
        owner=owner,
        replicas=[
            _replica(each, owner, spec=spec, gang=gang, was_paused=was_paused)
            for each in spec.replicas
        ],
        labels=LabelKeys(
            type=api.LABEL_TYPE,
            index=api.LABEL_INDEX,
            leader=(api.LABEL_ROLE, "master"),
            leaders=success_criterion,
        ),
        semantics=_rules(success_criterion, settings),
        messages=api.MESSAGES,
        policy=RunPolicy(
            clean=spec.clean,
            deadline=time.duration(spec.deadline),
            backoff_limit=spec.backoff_limit,
            is_suspended=spec.modes.is_paused,
        ),
        tf_config=TFConfig(environment=None, lists_empty_types=False, replaces_user_value=True),
        gang=gang,
        companions=tensorboard.companions(
            spec.board,
            name=child_prefix(owner.name, instance_id(owner.uid)).removesuffix("-"),
            job_name=owner.name,
            settings=settings,
            stored=board,
        ),
        child_labels={
            api.LABEL_COMPONENT: api.COMPONENT,
            api.LABEL_JOB: label_value(owner.name),
        },
        warnings=tensorboard.warnings(spec.board, settings=settings, stored=board),
        notices=status.notices(stored, name=owner.name),
        status=found,
        keeps_last_lines=settings.keeps_last_lines,
        is_deleting=is_deleting,
    )


def _success_criterion(spec: Spec) -> SuccessCriterion:
    kinds = {each.type for each in spec.replicas}
    return SuccessCriterion(types=(api.CHIEF if api.CHIEF in kinds else api.WORKER,), index=0)


def _rules(success_criterion: SuccessCriterion, settings: Settings) -> Semantics:
    return Semantics(
        success_criterion=success_criterion,
        exit_codes=EXIT_CODES,
        only_decisive_replica_fails_job=True,
        backoff_limit_fails_job=False,
        backoff_limit_counts_container_restarts=False,
        never_policy_survives_disruption=True,
        success_before_deadline=True,
        success_before_suspension=True,
        suspend_keeps_services=True,
        counts_evictions=True,
        max_restart_delay=_MAX_RESTART_DELAY,
        force_delete_after=settings.force_delete_after,
        holds_decisive_pods=settings.has_result_finalizers,
    )


def _replica(
    each: ReplicaSpec, owner: Owner, *, spec: Spec, gang: GangSpec | None, was_paused: bool
) -> ReplicaType:
    named = {api.LABEL_JOB: label_value(owner.name), api.LABEL_TYPE: each.type}
    labels = {
        **named,
        api.LABEL_COMPONENT: api.COMPONENT,
        api.LABEL_COMPONENT_TYPE: api.COMPONENT_TYPE,
    }
    template = run_mode.started(each.template, spec.modes, kind=each.type, was_paused=was_paused)
    return ReplicaType(
        type=each.type,
        label=each.type,
        count=each.count,
        restart=each.restart,
        pod_restart_policy=str(RestartPolicy.NEVER),
        template=scheduled(template, gang),
        name_prefix=child_prefix(owner.name, instance_id(owner.uid), each.type),
        host_suffix="",
        port=api.PORT,
        pod_labels=labels,
        service_labels=labels,
        selector=named,
        service_ports=[ServicePort(api.PORT_NAME, api.PORT)],
        task=each.type,
        is_in_cluster=each.type != api.EVALUATOR,
        restarts_on_success=each.restart is RestartPolicy.ALWAYS,
    )
