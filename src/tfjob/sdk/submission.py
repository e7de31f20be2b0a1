"""Creates the objects of a job on a cluster.

Every object is first sent as a dry run, so that nothing is created if one has a fault.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from tfjob.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from tfjob.client.http import PartialObjectMetadata
from tfjob.dialects.registry import dialect_for
from tfjob.sdk import job_lookup
from tfjob.sdk.apply import resource_for
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.exported_objects import for_new_cluster
from tfjob.sdk.jobs import ClusterJob

Manifest = Mapping[str, Any]
MADE_FOR_JOB: Final = "tfjob.dev/made-for-job"
"""The label of objects that are deleted with their job."""
_ATTEMPTS: Final = 5
"""How often a change is tried while others change the same object."""


class _Owned(msgspec.Struct, rename="camel"):
    resource_version: str
    owner_references: list[dict[str, Any]] | None = None


class _Object(msgspec.Struct):
    metadata: _Owned


class Created(msgspec.Struct, frozen=True):
    """An object of the cluster; `is_new` is false if it existed and was left unchanged."""

    name: str
    title: str
    uid: str = ""
    is_new: bool = True


def placed(manifest: Manifest, namespace: str) -> dict[str, Any]:
    """The object ready to be created, in its own namespace or else in this one."""
    found = for_new_cluster(manifest)
    if not resource_for(manifest).namespaced:
        return found
    metadata = found.get("metadata") or {}
    own = metadata.get("namespace")
    return {**found, "metadata": {**metadata, "namespace": own or namespace}}


async def dry_run(cluster: Cluster, objects: Sequence[Manifest]) -> None:
    """Raise one error with all faults that the API server finds."""
    faults = []
    own = {each["metadata"].get("name") for each in objects if each.get("kind") == "Namespace"}
    for each in objects:
        if each["metadata"].get("namespace") in own:
            continue  # a dry run needs the namespace, which the file itself creates
        try:
            await _post(cluster, each, dry_run=True)
        except AlreadyExists:
            if is_job(each):
                faults.append(f"{title(each)} exists; `{delete_command(cluster, each)}` removes it")
        except NotFound as error:
            faults.append(f"{title(each)}: {_not_found(each, error)}")
        except ApiError as error:
            faults.append(f"{title(each)}: {error.message}")
    if faults:
        raise TFJobError("\n".join(faults))


async def create(cluster: Cluster, manifest: Manifest) -> Created:
    """Create an object. An existing job is an error; other existing objects are left unchanged.

    An existing object that was made for a job must have the same content: otherwise the job would
    run other code.
    """
    try:
        made = await _post(cluster, manifest)
    except AlreadyExists:
        if is_job(manifest):
            raise
        if is_own(manifest):
            await _check_content(cluster, manifest)
        return Created(manifest["metadata"]["name"], title(manifest), is_new=False)
    named = {**manifest, "metadata": {**manifest["metadata"], "name": made.metadata.name}}
    return Created(made.metadata.name, title(named), made.metadata.uid)


async def submit(cluster: Cluster, objects: Sequence[Manifest]) -> ClusterJob:
    """Create one job and its other objects. Those made for the job are deleted with it."""
    whole = [placed(each, cluster.one_namespace) for each in objects]
    await dry_run(cluster, whole)
    made: dict[str, str] = {}
    job: ClusterJob | None = None
    try:
        for each in whole:
            created = await create(cluster, each)
            named = {**each, "metadata": {**each["metadata"], "name": created.name}}
            if is_job(each):
                job = await _read(cluster, named)
            elif created.is_new and is_own(each):
                made[_path(named)] = created.uid
    except BaseException:
        for path, uid in made.items():
            with suppress(NotFound, Conflict):  # it is gone, or another one has its name
                await cluster.api.delete(path, uid=uid)
        raise
    if job is None:
        raise TFJobError("there is no job among the objects")
    for each in whole:
        if is_own(each):
            await _add_owner(cluster, each, job)
    return job


def is_own(manifest: Manifest) -> bool:
    """Whether the object was made for its job, and is deleted with it."""
    labels = manifest["metadata"].get("labels") or {}
    return labels.get(MADE_FOR_JOB) == "true"


def is_job(manifest: Manifest) -> bool:
    return dialect_for(manifest.get("apiVersion"), manifest.get("kind")) is not None


def title(manifest: Manifest) -> str:
    """`TFJob default/mnist`."""
    metadata = manifest["metadata"]
    name = metadata.get("name") or f"{metadata.get('generateName', '')}…"
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{manifest.get('kind')} {place}{name}"


def delete_command(cluster: Cluster, manifest: Manifest) -> str:
    """`tfjob delete mnist -n team`: the command that deletes a placed job."""
    metadata = manifest["metadata"]
    name, place = metadata.get("name"), metadata["namespace"]
    option = "" if place == cluster.one_namespace == "default" else f" -n {place}"
    return f"tfjob delete {name}{option}"


def _not_found(manifest: Manifest, error: NotFound) -> str:
    if "namespace" not in error.message:
        return f"the cluster does not serve {manifest['apiVersion']}"
    namespace = manifest["metadata"].get("namespace")
    return f"{error.message}; `kubectl create namespace {namespace}` creates it"


async def _post(
    cluster: Cluster, manifest: Manifest, *, dry_run: bool = False
) -> PartialObjectMetadata:
    path = resource_for(manifest).collection(manifest["metadata"].get("namespace"))
    return await cluster.api.create(
        path,
        manifest,
        decode=PartialObjectMetadata,
        field_validation="Strict",
        dry_run=dry_run,
    )


async def _check_content(cluster: Cluster, manifest: Manifest) -> None:
    found = await cluster.api.get(_path(manifest), decode=dict[str, Any])
    parts = (set(found) | set(manifest)) - {"apiVersion", "kind", "metadata"}
    if any(found.get(part) != manifest.get(part) for part in parts):
        metadata = manifest["metadata"]
        kind, name, place = manifest["kind"].lower(), metadata["name"], metadata["namespace"]
        raise TFJobError(
            f"{title(manifest)} exists with another content, so the job would run other code",
            remedy=f"choose another name=… for the job, or remove the object with"
            f" `kubectl delete {kind} {name} -n {place}`",
        )


async def _read(cluster: Cluster, manifest: Manifest) -> ClusterJob:
    metadata = manifest["metadata"]
    inside = Cluster(api=cluster.api, namespace=metadata.get("namespace"))
    return await job_lookup.find(inside, metadata["name"], api=str(manifest["apiVersion"]))


async def _add_owner(cluster: Cluster, manifest: Manifest, job: ClusterJob) -> None:
    owner = {
        "apiVersion": f"{job.dialect.group}/{job.dialect.version}",
        "kind": job.dialect.kind,
        "name": job.name,
        "uid": job.job.owner.uid,
    }
    path = _path(manifest)
    for left in reversed(range(_ATTEMPTS)):
        found = (await cluster.api.get(path, decode=_Object)).metadata
        owners = [*(found.owner_references or ()), owner]
        change = {"resourceVersion": found.resource_version, "ownerReferences": owners}
        try:
            await cluster.api.patch(path, {"metadata": change}, decode=PartialObjectMetadata)
        except Conflict:  # it has changed since it was read
            if not left:
                raise
        else:
            return


def _path(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return resource_for(manifest).item(metadata["name"], metadata.get("namespace"))
