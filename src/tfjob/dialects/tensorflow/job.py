"""Decodes a TfJob into the neutral job: batch Jobs, a sole decisive replica, unlimited restarts."""

from collections.abc import Sequence

import msgspec

from tfjob.core import tf_config
from tfjob.core.exit_codes import ExitCodes
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import (
    CleanPolicy,
    Companion,
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
    Workload,
)
from tfjob.core.messages import Messages, MessageTemplate
from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.field_reader import ROOT, Reader
from tfjob.dialects.stored_values import is_deleting, mapping, metadata_of, owner_of
from tfjob.dialects.tensorflow import (
    accelerators,
    api,
    checks,
    default_parameter_server,
    status,
    tensorboard,
    validation_messages,
)
from tfjob.dialects.tensorflow.config import config_of
from tfjob.dialects.tensorflow.names import Names
from tfjob.dialects.tensorflow.spec import SPECS, Entry, Spec, read_spec
from tfjob.dialects.tensorflow.template import pod_spec
from tfjob.k8s import field
from tfjob.k8s.field import Fault
from tfjob.k8s.names import GENERATED_SUFFIX, dns1123_subdomain_problems

_EXIT_CODES = ExitCodes(at_least=128, permanent_reasons=frozenset({"OOMKilled"}))


def validate(manifest: Manifest) -> list[Fault]:
    """All faults of a job. A document that is not JSON is not checked any further."""
    reader = Reader()
    reader.json(manifest)
    if not reader.faults:
        given = reader.mapping(manifest, ROOT)
        _check_name(reader, given)
        read(reader, given, Settings())
    if reader.faults:
        return reader.faults
    found = decode(manifest, Settings(), is_checked=True)
    return list(found.faults) if isinstance(found, InvalidJob) else []


def read(
    reader: Reader, manifest: Manifest, settings: Settings, *, is_checked: bool = False
) -> Spec:
    """Read and check the spec; semantic checks run only if all types are right."""
    is_typed = not reader.faults
    spec = read_spec(reader, manifest, settings)
    if is_typed and not reader.faults:
        names = names_of(manifest, spec.runtime_id, settings)
        for fault in checks.faults_of(spec, names=names, is_checked=is_checked):
            reader.note(fault)
    return spec


def names_of(manifest: Manifest, runtime_id: str, settings: Settings) -> Names:
    return Names(
        job=_owner(manifest).name,
        runtime_id=runtime_id or api.STAND_IN,
        has_job=config_of(settings).has_job_in_names,
    )


def decode(manifest: Manifest, settings: Settings, *, is_checked: bool = False) -> Job | InvalidJob:
    """Decode a stored job."""
    reader = Reader()
    given = reader.mapping(manifest, ROOT)
    owner = _owner(given)
    stored = status.decode(given.get("status"), created=metadata_of(given).get("creationTimestamp"))
    deleting = is_deleting(given)
    spec = read(reader, given, settings, is_checked=is_checked)
    if reader.faults:
        return InvalidJob(
            owner=owner,
            messages=_refusal(reader.faults[0]),
            faults=reader.faults,
            status=stored,
            is_deleting=deleting,
        )
    names = names_of(given, spec.runtime_id, settings)
    chief = spec.chief
    found = Job(
        owner=owner,
        replicas=_replicas(spec, names, settings),
        labels=LabelKeys(type=api.LABEL_TYPE, index=api.LABEL_INDEX),
        semantics=Semantics(
            success_criterion=SuccessCriterion(types=(chief.type,), index=chief.index),
            exit_codes=_EXIT_CODES,
            only_decisive_replica_fails_job=True,
            force_delete_after=settings.force_delete_after,
        ),
        messages=api.MESSAGES,
        policy=RunPolicy(clean=_clean_policy(given, settings)),
        tf_config=TFConfig(replaces_user_value=True, is_in_every_training_container=True),
        workload=Workload.JOB,
        companions=_companions(spec, names, settings),
        child_labels=names.labels,
        warnings=accelerators.warnings(spec.entries, settings),
        status=stored,
        keeps_last_lines=settings.keeps_last_lines,
        is_deleting=deleting,
    )
    job = tf_config.checked(found, path=SPECS)
    if isinstance(job, InvalidJob):
        return msgspec.structs.replace(job, messages=_refusal(job.faults[0]))
    return job


def _owner(manifest: Manifest) -> Owner:
    return owner_of(manifest, api_version=api.API_VERSION, kind=api.KIND)


def _clean_policy(manifest: Manifest, settings: Settings) -> CleanPolicy:
    """A change of the setting does not affect jobs that are already finished."""
    if status.is_final(mapping(manifest.get("status"))):
        return CleanPolicy.NONE
    return CleanPolicy(config_of(settings).clean_policy)


def _check_name(reader: Reader, manifest: Manifest) -> None:
    metadata = reader.mapping(manifest.get("metadata"), "metadata")
    name = reader.text(metadata.get("name"), "metadata.name")
    prefix = reader.text(metadata.get("generateName"), "metadata.generateName")
    if not name and not prefix:
        rule = "name or generateName is required"
        reader.note(
            field.required("metadata.name", rule, remedy=validation_messages.NO_NAME_REMEDY)
        )
        return
    for problem in dns1123_subdomain_problems(name or prefix + GENERATED_SUFFIX):
        reader.note(field.invalid("metadata.name", name or prefix, problem))


def _refusal(fault: Fault) -> Messages:
    """Messages with which a failed job shows its first fault."""
    text = (fault.detail or fault.text).replace("{", "{{").replace("}", "}}")
    template = MessageTemplate(api.INVALID, api.INVALID_TEXT + text)
    return msgspec.structs.replace(api.MESSAGES, invalid=template)


def _replicas(spec: Spec, names: Names, settings: Settings) -> Sequence[ReplicaType]:
    """The replicas in the order of the spec, which the status also has."""
    found = [_replica(each, names, settings) for each in spec.entries]
    return [
        msgspec.structs.replace(
            replica, commands=default_parameter_server.commands(found, count=replica.count)
        )
        if entry.is_default_server
        else replica
        for entry, replica in zip(spec.entries, found, strict=True)
    ]


def _replica(entry: Entry, names: Names, settings: Settings) -> ReplicaType:
    labels = {**names.labels, api.LABEL_TYPE: entry.type}
    template = accelerators.template_of(entry, settings)
    if entry.is_default_server:
        template = default_parameter_server.mounted(template, config_map=names.config_map)
    return ReplicaType(
        type=entry.type,
        label=entry.type,
        count=entry.count,
        restart=RestartPolicy.ON_FAILURE,
        pod_restart_policy=pod_spec(template).get("restartPolicy") or str(RestartPolicy.ON_FAILURE),
        template=template,
        name_prefix=names.replica_prefix(entry.type),
        host_suffix="",
        port=entry.port,
        pod_labels=labels,
        service_labels=labels,
        selector=labels,
        service_ports=[ServicePort(name=api.PORT_NAME, port=entry.port)],
        task=entry.type.lower(),
        has_cluster_ip=config_of(settings).has_cluster_ips,
    )


def _companions(spec: Spec, names: Names, settings: Settings) -> list[Companion]:
    found: list[Companion] = []
    if any(entry.is_default_server for entry in spec.entries):
        source = config_of(settings).server_source or default_parameter_server.SOURCE
        found.append(default_parameter_server.config_map(names, source=source))
    if spec.tensorboard is not None:
        found += tensorboard.companions_of(spec.tensorboard, names=names, image=spec.image)
    return found
