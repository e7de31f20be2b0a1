"""Tells which pods differ from the template of their job.

The operator never replaces a pod that runs because its template has changed, and it stores no older
template. So pods are compared with what it would create now, in the fields of containers that an
API server stores as written. Jobs that were never changed are not compared. Of the others nobody
knows whether the template was changed, or a webhook altered the pod when it was created.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tfjob.client.errors import Forbidden
from tfjob.client.resource import PODS
from tfjob.core.child_manifests import TF_CONFIG, ManifestBuilder
from tfjob.core.job import TRAINING_CONTAINER, Job, ReplicaType
from tfjob.core.observe import replica_key
from tfjob.k8s import quantity
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.explanation import joined
from tfjob.sdk.jobs import ClusterJob

_FIELDS: Final = ("image", "command", "args", "workingDir")
_KINDS: Final = ("initContainers", "containers")

Json = Mapping[str, Any]


async def changed_templates(cluster: Cluster, found: ClusterJob) -> list[str]:
    """One sentence for each replica type with pods that differ from its template."""
    job = found.job
    first = found.manifest.get("metadata", {}).get("generation") == 1
    if first or not isinstance(job, Job) or job.is_external or found.status.is_finished:
        return []
    try:
        answer = await cluster.api.get(
            PODS.collection(found.namespace),
            decode=dict[str, Any],
            params={"labelSelector": jobs.pods_selector(found)},
        )
    except Forbidden:
        return []
    return list(_sentences(found, job, answer.get("items") or ()))


def _sentences(found: ClusterJob, job: Job, manifests: Sequence[Json]) -> Iterator[str]:
    whole = {each["metadata"]["uid"]: each for each in manifests}
    pods = jobs.in_order(found, msgspec.convert(manifests, list[Pod]))
    builder = ManifestBuilder(job)
    for replica in job.replicas:
        parts: dict[str, None] = {}
        older = []
        for index, pod in _living(job, replica, pods):
            wanted = builder.pod(replica, index)["spec"]
            differences = list(
                _differences(
                    wanted, whole[pod.metadata.uid]["spec"], is_generated=bool(replica.commands)
                )
            )
            parts |= dict.fromkeys(differences)
            older += [jobs.replica_name(found, pod)] if differences else []
        if older:
            is_one = len(older) == 1
            yield (
                f"{joined(older)} {'differs' if is_one else 'differ'} from the template of"
                f" {replica.type} ({', '.join(parts)}): the template was changed, or the"
                f" {'pod was' if is_one else 'pods were'} altered when created; after a change,"
                f" `tfjob restart {found.name}` applies it to all pods"
            )


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
