"""Decodes a TFJob into the neutral job."""

from collections.abc import Mapping

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
    SuccessCriterion,
    TFConfig,
)
from tfjob.dialects import job_annotations
from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.field_reader import ROOT, Reader
from tfjob.dialects.job_annotations import JobAnnotations
from tfjob.dialects.kubeflow import api, defaults, kueue, status
from tfjob.dialects.kubeflow.conversion import restored
from tfjob.dialects.kubeflow.scheduling_policy import gang_for
from tfjob.dialects.kubeflow.spec import SPECS, ReplicaSpec, Spec, is_external, read_spec
from tfjob.dialects.naming import child_prefix, label_value
from tfjob.dialects.stored_values import (
    is_deleting,
    mapping,
    metadata_of,
    owner_of,
)
from tfjob.k8s import time
from tfjob.k8s.field import Fault

EXIT_CODES = {
    "default": ExitCodes(at_least=128, permanent=frozenset({128, 139})),
    "v1.9": ExitCodes(at_least=128),
    "classic": ExitCodes(retryable=frozenset({130, 137, 138, 143}), missing_is_retryable=False),
}
_WORKER = "Worker"
_EVALUATOR = "Evaluator"


def validate(manifest: Manifest) -> list[Fault]:
    """All faults of a job. A document that is not JSON is not checked any further."""
    reader = Reader()
    reader.json(manifest)
    if not reader.faults:
        given = restored(reader, reader.mapping(manifest, ROOT))
        read_spec(reader, given, is_stored=False)
    if reader.faults:
        return reader.faults
    found = decode(manifest, Settings(), is_checked=True)
    return list(found.faults) if isinstance(found, InvalidJob) else []


def decode(manifest: Manifest, settings: Settings, *, is_checked: bool = False) -> Job | InvalidJob:
    """Decode a stored job."""
    reader = Reader()
    given = restored(reader, reader.mapping(manifest, ROOT))
    owner = owner_of(given, api_version=api.API_VERSION, kind=api.KIND)
    stored = status.decode(given.get("status"))
    external = is_external(given)
    deleting = is_deleting(given)
    spec = read_spec(reader, given, is_stored=True, is_checked=is_checked)
    if reader.faults:
        return InvalidJob(
            owner=owner,
            messages=api.MESSAGES,
            faults=reader.faults,
            status=stored,
            is_external=external,
            is_deleting=deleting,
        )
    success_criterion = _success_criterion(spec)
    leaders = _leaders(spec)
    annotated = job_annotations.read(given, recovery=settings.recovery)
    total = sum(each.count for each in spec.replicas)
    found = Job(
        owner=owner,
        replicas=[_replica(each, owner, spec, settings) for each in spec.replicas],
        labels=_label_keys(leaders, settings),
        semantics=Semantics(
            success_criterion=success_criterion,
            exit_codes=EXIT_CODES[settings.exit_code_table],
            force_delete_after=settings.force_delete_after,
            recovery=annotated.recovery,
            runs_whole=bool(kueue.queue_of(given)),
            holds_decisive_pods=settings.has_result_finalizers,
        ),
        messages=api.MESSAGES,
        policy=_policy(spec, settings, annotated),
        tf_config=TFConfig(is_enabled=total != 1 or spec.is_dynamic, is_dynamic=spec.is_dynamic),
        gang=gang_for(
            settings,
            job_name=owner.name,
            policy=spec.scheduling,
            annotations=_annotations(given),
        ),
        queue=kueue.queue_for(given, settings, owner=owner, total=total),
        annotations=_annotations(given),
        child_labels={api.LABEL_OPERATOR: api.OPERATOR, api.LABEL_JOB: label_value(owner.name)},
        warnings=annotated.warnings,
        status=stored,
        keeps_last_lines=settings.keeps_last_lines,
        is_external=external,
        is_deleting=deleting,
    )
    return tf_config.checked(found, path=SPECS)


def _annotations(manifest: Manifest) -> Mapping[str, str]:
    found = mapping(metadata_of(manifest).get("annotations"))
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _success_criterion(spec: Spec) -> SuccessCriterion:
    """Types without replicas do not count; without decisive replicas the job never ends."""
    present = [each.type for each in spec.replicas if each.count]
    for kind in api.DECISIVE_TYPES:
        if kind in present:
            return SuccessCriterion(types=(kind,))
    if _WORKER in present:
        return SuccessCriterion(
            types=(_WORKER,), index=None if spec.succeeds_with_all_workers else 0
        )
    return SuccessCriterion(types=tuple(present))


def _leaders(spec: Spec) -> SuccessCriterion:
    present = [each.type for each in spec.replicas if each.count]
    for kind in api.DECISIVE_TYPES:
        if kind in present:
            return SuccessCriterion(types=(kind,))
    return SuccessCriterion(types=(_WORKER,), index=0)


def _label_keys(leaders: SuccessCriterion, settings: Settings) -> LabelKeys:
    is_legacy = settings.has_legacy_labels
    return LabelKeys(
        type=api.LABEL_TYPE,
        index=api.LABEL_INDEX,
        leader=(api.LABEL_ROLE, "master"),
        leaders=leaders,
        default_index="replica-index" if is_legacy else None,
        default_leader=("job-role", "master") if is_legacy else None,
    )


def _policy(spec: Spec, settings: Settings, annotated: JobAnnotations) -> RunPolicy:
    return RunPolicy(
        clean=defaults.clean_pod_policy(spec.clean_policy, settings),
        ttl=time.duration(spec.ttl),
        deadline=time.duration(spec.deadline),
        backoff_limit=spec.backoff_limit,
        is_suspended=spec.is_suspended,
        evaluator_grace=annotated.evaluator_grace,
    )


def _replica(each: ReplicaSpec, owner: Owner, spec: Spec, settings: Settings) -> ReplicaType:
    role = each.type.lower()
    labels = {
        api.LABEL_OPERATOR: api.OPERATOR,
        api.LABEL_JOB: label_value(owner.name),
        api.LABEL_TYPE: role,
    }
    domain = f".{settings.cluster_domain}" if settings.cluster_domain else ""
    by_exit_code = each.restart is RestartPolicy.EXIT_CODE
    return ReplicaType(
        type=each.type,
        label=role,
        count=each.count,
        restart=each.restart,
        pod_restart_policy=str(RestartPolicy.NEVER if by_exit_code else each.restart),
        template=each.template.body,
        name_prefix=child_prefix(owner.name, role),
        host_suffix=f".{owner.namespace}.svc{domain}",
        port=each.template.port,
        pod_labels=labels,
        service_labels=labels,
        selector=labels,
        service_ports=each.template.ports,
        task=role,
        default_labels=_legacy_labels(owner, role) if settings.has_legacy_labels else {},
        status_selector=_selector(labels),
        is_in_cluster=each.type != _EVALUATOR or settings.has_evaluator_in_cluster,
        tolerates_failure=spec.is_dynamic and each.type == _WORKER,
        overrides_template_policy=each.template.has_restart_policy,
    )


def _legacy_labels(owner: Owner, role: str) -> Mapping[str, str]:
    return {
        "group-name": api.GROUP,
        "job-name": label_value(owner.name),
        "replica-type": role,
    }


def _selector(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))
