"""Creates the objects of a job on a cluster.

A dry run of every object comes first, so that a fault creates nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.client.errors import AlreadyExists, ApiError, NotFound
from tfjob.client.http import PartialObjectMetadata
from tfjob.dialects.registry import dialect_for
from tfjob.sdk.apply import resource_for
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError

Manifest = Mapping[str, Any]


class Created(msgspec.Struct, frozen=True):
    """An object of the cluster; `is_new` is false if it existed and was left unchanged."""

    name: str
    title: str
    is_new: bool = True


def placed(manifest: Manifest, namespace: str) -> dict[str, Any]:
    """The object with its namespace: its own, or else this one."""
    if not resource_for(manifest).namespaced:
        return dict(manifest)
    metadata = manifest.get("metadata") or {}
    own = metadata.get("namespace")
    return {**manifest, "metadata": {**metadata, "namespace": own or namespace}}


async def dry_run(cluster: Cluster, objects: Sequence[Manifest]) -> None:
    """Raise all faults that the API server finds."""
    faults = []
    own = {each["metadata"].get("name") for each in objects if each.get("kind") == "Namespace"}
    for each in objects:
        if each["metadata"].get("namespace") in own:
            continue  # a dry run needs the namespace, which the file itself creates
        try:
            await _post(cluster, each, dry_run=True)
        except AlreadyExists:
            if is_job(each):
                name = each["metadata"].get("name")
                faults.append(f"{title(each)} exists; `tfjob delete {name}` removes it")
        except NotFound as error:
            faults.append(f"{title(each)}: {_not_found(each, error)}")
        except ApiError as error:
            faults.append(f"{title(each)}: {error.message}")
    if faults:
        raise TFJobError("\n".join(faults))


async def create(cluster: Cluster, manifest: Manifest) -> Created:
    """An existing job is an error; other objects that exist are left unchanged."""
    try:
        made = await _post(cluster, manifest)
    except AlreadyExists:
        if is_job(manifest):
            raise
        return Created(manifest["metadata"]["name"], title(manifest), is_new=False)
    named = {**manifest, "metadata": {**manifest["metadata"], "name": made.metadata.name}}
    return Created(made.metadata.name, title(named))


def is_job(manifest: Manifest) -> bool:
    return dialect_for(manifest.get("apiVersion"), manifest.get("kind")) is not None


def title(manifest: Manifest) -> str:
    """`TFJob default/mnist`."""
    metadata = manifest["metadata"]
    name = metadata.get("name") or f"{metadata.get('generateName', '')}…"
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{manifest.get('kind')} {place}{name}"


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
