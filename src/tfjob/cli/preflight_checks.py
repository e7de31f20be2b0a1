"""The checks of a preflight: what on this cluster would keep a job from starting.

Nothing is created: objects are sent as dry runs, everything else is read. A check that the user's
permissions do not allow is reported as unknown, not as a failure.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from tfjob.cli import capacity
from tfjob.cli.pod_references import CLAIMS, references_of
from tfjob.client.errors import AlreadyExists, ApiError, Forbidden, NotFound
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import PODS, Resource
from tfjob.sdk import submission
from tfjob.sdk.connection import Cluster

Json = dict[str, Any]

_NODES: Final = Resource("", "v1", "nodes", namespaced=False)
_QUOTAS: Final = Resource("", "v1", "resourcequotas")
_KUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
_LOCAL_QUEUES: Final = tuple(
    Resource("kueue.x-k8s.io", version, "localqueues") for version in ("v1beta2", "v1beta1")
)
_NO_RIGHTS: Final = "cannot create resource"
"""Part of a refusal by RBAC, and of no refusal by admission."""


class Verdict(StrEnum):
    OK = "ok"
    FAILS = "fails"
    UNKNOWN = "unknown"


class Finding(msgspec.Struct, frozen=True):
    check: str
    verdict: Verdict
    message: str
    remedy: str = ""


class Subject(msgspec.Struct, frozen=True):
    """A job and the pods that the operator would create for it."""

    title: str
    namespace: str
    resource: Resource
    manifest: Json
    pods: Sequence[Json]
    services: int


class _Items(msgspec.Struct):
    items: list[Json] | None = None


async def findings(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    """All findings; every check has at least one."""
    for name, check in _CHECKS.items():
        try:
            found = [each async for each in check(cluster, subject)]
        except Forbidden as error:
            found = [_unknown(name, error.message)]
        for each in found or [Finding(name, Verdict.OK, _OK[name])]:
            yield each


async def _check_job(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    path = subject.resource.collection(subject.namespace)
    try:
        await _dry_run(cluster, path, subject.manifest)
    except AlreadyExists:
        command = submission.delete_command(cluster, subject.manifest)
        remedy = f"choose another name, or delete the job: `{command}`"
        yield _fails("job", "a job of this name exists", remedy)
    except NotFound as error:
        is_namespace = error.details.kind == "namespaces"
        group = subject.resource.group
        remedy = "create the namespace" if is_namespace else f"install the CRD of {group} jobs"
        text = error.message if is_namespace else f"the cluster does not serve {group} jobs"
        yield _fails("job", text, remedy)
    except Forbidden as error:
        yield _refused("job", error)
    except ApiError as error:
        yield _fails("job", error.message, "change the job as the message says")


async def _check_pods(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    """One pod of each kind as a dry run: admission, security and limits of the namespace."""
    seen: set[str] = set()
    for pod in subject.pods:
        name = pod["metadata"]["name"]
        if name.rpartition("-")[0] in seen:
            continue
        seen.add(name.rpartition("-")[0])
        try:
            await _dry_run(cluster, PODS.collection(subject.namespace), pod)
        except AlreadyExists:
            if await _is_taken(cluster, subject, name):
                yield _fails("pods", f"a pod {name!r} exists", "delete it, or rename the job")
        except NotFound:
            return  # the namespace is missing, as the check of the job says
        except Forbidden as error:
            if "exceeded quota" not in error.message:  # a check of its own
                yield _refused("pods", error)
        except ApiError as error:
            yield _fails("pods", f"{name}: {error.message}", "change the pod template")


async def _is_taken(cluster: Cluster, subject: Subject, name: str) -> bool:
    """Whether the pod that exists is in the way. The check of the job names a job that exists."""
    try:
        found = await cluster.api.get(PODS.item(name, subject.namespace), decode=dict)
    except NotFound:
        return False  # it was deleted in the meantime
    except Forbidden:
        return True  # its owner is unknown
    return not _is_of_same_name(subject, found)


async def _check_references(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    wanted = {each for pod in subject.pods for each in references_of(pod)}
    for each in sorted(wanted, key=lambda one: one.title):
        try:
            path = each.resource.item(each.name, subject.namespace)
            found = await cluster.api.get(path, decode=dict)
        except NotFound:
            yield _fails("objects", f"{each.title} does not exist", "create it")
        except Forbidden as error:
            yield _unknown("objects", f"{each.title}: {error.message}")
        else:
            if each.resource == CLAIMS and (found.get("status") or {}).get("phase") == "Lost":
                yield _fails("objects", f"{each.title} has lost its volume", "create another claim")


async def _check_quotas(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    for quota in await _list(cluster, _QUOTAS.collection(subject.namespace)):
        if capacity.is_scoped(quota):
            name = quota["metadata"]["name"]
            yield _unknown("quota", f"quota {name!r} counts only some pods and is not checked")
            continue
        for text in capacity.exceeded(quota, subject.pods, services=subject.services):
            remedy = "request less, or wait until other pods of the namespace end"
            yield _fails("quota", text, remedy)


async def _check_nodes(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    listed = await _list(cluster, _NODES.collection())
    if not listed:
        yield _unknown("nodes", "the cluster has no nodes now; an autoscaler may add some")
        return
    try:
        running = await _list(cluster, PODS.collection())
    except Forbidden:
        running = []
        yield _unknown("nodes", "you may not list all pods, so free capacity is not checked")
    others = [pod for pod in running if not _is_of_same_name(subject, pod)]
    nodes = capacity.read_nodes(listed, others)
    impossible = {
        pod["metadata"]["name"]: why
        for pod in subject.pods
        if (why := capacity.never_fits(pod, nodes))
    }
    for name, why in list(impossible.items())[:1]:
        more = f" (and {len(impossible) - 1} more)" if len(impossible) > 1 else ""
        yield _fails("nodes", f"{name}{more}: {why.text}", why.remedy)
    waiting = capacity.waiting_pods(subject.pods, nodes)
    if waiting and not impossible:
        text = f"{len(waiting)} of {len(subject.pods)} pods would wait for capacity: "
        yield _fails("nodes", text + _listed(waiting), capacity.waiting_remedy(nodes))


async def _check_queue(cluster: Cluster, subject: Subject) -> AsyncIterator[Finding]:
    name = (subject.manifest["metadata"].get("labels") or {}).get(_KUEUE_LABEL)
    if not name:
        return
    for resource in _LOCAL_QUEUES:
        try:
            await cluster.api.get(
                resource.item(str(name), subject.namespace), decode=PartialObjectMetadata
            )
        except NotFound as error:
            if error.details.kind == "localqueues" or error.details.name:
                break
        else:
            return
    remedy = f"create the LocalQueue, or remove the label {_KUEUE_LABEL}"
    yield _fails("queue", f"LocalQueue {name!r} does not exist in the namespace", remedy)


_CHECKS: Final[dict[str, Callable[[Cluster, Subject], AsyncIterator[Finding]]]] = {
    "job": _check_job,
    "pods": _check_pods,
    "objects": _check_references,
    "quota": _check_quotas,
    "nodes": _check_nodes,
    "queue": _check_queue,
}
_OK: Final = {
    "job": "the API server accepts the job",
    "pods": "the API server accepts the pods",
    "objects": "all objects that the pods refer to exist",
    "quota": "the quotas of the namespace allow the job",
    "nodes": "the nodes have capacity for all pods",
    "queue": "the job needs no queue that does not exist",
}


async def _dry_run(cluster: Cluster, path: str, body: Json) -> None:
    await cluster.api.create(
        path, body, decode=PartialObjectMetadata, field_validation="Strict", dry_run=True
    )


async def _list(cluster: Cluster, path: str) -> list[Json]:
    try:
        return (await cluster.api.list_page(path, decode=_Items)).items or []
    except NotFound:
        return []  # the cluster does not serve the kind, so it has none


def _is_of_same_name(subject: Subject, pod: Json) -> bool:
    """Whether the pod belongs to a job that exists under the name of the checked one."""
    metadata, name = pod["metadata"], subject.manifest["metadata"].get("name")
    owners = metadata.get("ownerReferences") or ()
    is_owned = any((e["kind"], e["name"]) == (subject.manifest["kind"], name) for e in owners)
    return is_owned and metadata.get("namespace") == subject.namespace


def _listed(names: Sequence[str], *, most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _refused(check: str, error: Forbidden) -> Finding:
    if _NO_RIGHTS in error.message:
        return _unknown(check, error.message)
    return _fails(check, error.message, "change the job, or ask the administrator")


def _fails(check: str, message: str, remedy: str) -> Finding:
    return Finding(check, Verdict.FAILS, message, remedy)


def _unknown(check: str, message: str) -> Finding:
    return Finding(check, Verdict.UNKNOWN, message)
