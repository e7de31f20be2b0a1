"""Tells which pods differ from the template of their job.

The operator never replaces a pod that runs because its template has changed, and it stores no older
template. So pods are compared with what it would create now, in the fields of containers that an
API server stores as written. Jobs that were never changed are not compared. Of the others nobody
knows whether the template was changed, or a webhook altered the pod when it was created.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tfjob.core.child_manifests import TF_CONFIG, ManifestBuilder
from tfjob.core.job import TRAINING_CONTAINER, Job, ReplicaType
from tfjob.core.observe import replica_key
from tfjob.k8s import quantity
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import jobs
from tfjob.sdk.jobs import ClusterJob

_FIELDS: Final = ("image", "command", "args", "workingDir")
_KINDS: Final = ("initContainers", "containers")

Json = Mapping[str, Any]


class _Changed(msgspec.Struct, frozen=True):
    """The replicas of a type whose pods differ from its template, and what differs."""

    type: str
    replicas: Sequence[str]
    parts: Sequence[str]


def has_changed(found: ClusterJob) -> bool:
    """Whether the job was changed after its creation and may still have older pods."""
    first = found.manifest.get("metadata", {}).get("generation") == 1
    has_pods = isinstance(found.job, Job) and not found.status.is_finished
    return has_pods and not first and not found.job.is_external


def outdated_replicas(found: ClusterJob, manifests: Sequence[Json]) -> list[str]:
    """The replicas whose pods differ from their template."""
    return [replica for each in _changes(found, manifests) for replica in each.replicas]


def changed_templates(found: ClusterJob, manifests: Sequence[Json]) -> list[str]:
    """One sentence for each replica type with pods that differ from its template."""
    return [_sentence(found, each) for each in _changes(found, manifests)]


def _sentence(found: ClusterJob, changed: _Changed) -> str:
    is_one = len(changed.replicas) == 1
    return (
        f"{jobs.joined(changed.replicas)} {'differs' if is_one else 'differ'} from the template of"
        f" {changed.type} ({', '.join(changed.parts)}): the template was changed, or the"
        f" {'pod was' if is_one else 'pods were'} altered when created; after a change,"
        f" `tfjob restart {found.name}` applies it to all pods"
    )


def _changes(found: ClusterJob, manifests: Sequence[Json]) -> Iterator[_Changed]:
    job = found.job
    if not isinstance(job, Job) or not has_changed(found):
        return
    whole = {each["metadata"]["uid"]: each for each in manifests}
    pods = jobs.read_pods(found, manifests)
    builder = ManifestBuilder(job)
    for replica in job.replicas:
        parts: dict[str, None] = {}
        older = []
        for index, pod in _living(job, replica, pods):
            wanted, actual = builder.pod(replica, index)["spec"], whole[pod.metadata.uid]["spec"]
            found_parts = list(_differences(wanted, actual, is_generated=bool(replica.commands)))
            parts |= dict.fromkeys(found_parts)
            older += [jobs.replica_name(found, pod)] if found_parts else []
        if older:
            yield _Changed(replica.type, older, list(parts))


def _living(job: Job, replica: ReplicaType, pods: Sequence[Pod]) -> Iterator[tuple[int, Pod]]:
    """The pods of a replica type that have not ended and are wanted, with their indexes."""
    for pod in pods:
        label, index = replica_key(job, pod.metadata) or ("", 0)
        has_ended = pod.metadata.is_terminating or pod.phase in {Phase.SUCCEEDED, Phase.FAILED}
        if label == replica.label and index < replica.count and not has_ended:
            yield index, pod


def _differences(wanted: Json, actual: Json, *, is_generated: bool) -> Iterator[str]:
    """What differs, such as `image of tensorflow`. What only the pod has may be added by others.

    A generated command lists the replicas of the time of its creation, as TF_CONFIG does.
    """
    for kind in _KINDS:
        present = {each.get("name"): each for each in actual.get(kind) or ()}
        for container in wanted.get(kind) or ():
            name = container.get("name")
            left_out = "command" if is_generated and name == TRAINING_CONTAINER else ""
            given = {key: value for key, value in container.items() if key != left_out}
            parts = _container_differences(given, present[name]) if name in present else ("",)
            yield from (f"{part} of {name}" if part else f"container {name}" for part in parts)


def _container_differences(wanted: Json, actual: Json) -> Iterator[str]:
    for field in _FIELDS:
        if wanted.get(field) and wanted[field] != actual.get(field):
            yield field
    if not _has_variables(wanted, actual):
        yield "env"
    for kind, amounts in (wanted.get("resources") or {}).items():
        if kind in {"limits", "requests"} and not _has_amounts(
            amounts or {}, (actual.get("resources") or {}).get(kind) or {}
        ):
            yield f"resources.{kind}"


def _has_variables(wanted: Json, actual: Json) -> bool:
    """Whether the pod has the plain values; it has the TF_CONFIG of the time of its creation."""
    present = {each.get("name"): each.get("value", "") for each in actual.get("env") or ()}
    given = [each for each in wanted.get("env") or () if "valueFrom" not in each]
    names = {each.get("name"): each.get("value") or "" for each in given}  # the last one counts
    names.pop(TF_CONFIG, None)
    return all(present.get(name) == value for name, value in names.items())


def _has_amounts(wanted: Json, actual: Json) -> bool:
    return all(
        quantity.parse(amount) == quantity.parse(actual.get(name))
        for name, amount in wanted.items()
    )
