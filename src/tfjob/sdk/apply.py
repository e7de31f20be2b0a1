"""Creates the objects of a file in order, and returns the job among them.

Every object is first sent as a dry run, so that nothing is created if one has a fault. Objects of
an earlier run are replaced; volume claims and their data are kept. Fields that an API server set in
an exported object are dropped.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfjob.client.errors import AlreadyExists, ApiError, NotFound
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.exported_objects import for_new_cluster

_NAMESPACES: Final = Resource("", "v1", "namespaces", namespaced=False)
_PLURALS: Final = {"PriorityClass": "priorityclasses"}
_CLUSTER_WIDE: Final = frozenset({"Namespace", "PriorityClass", "PersistentVolume"})
_KEPT: Final = frozenset({"Namespace", "PersistentVolumeClaim", "PersistentVolume"})
_POLL_INTERVAL: Final = 0.05

Manifest = Mapping[str, Any]


async def apply_all(
    cluster: Cluster, manifests: Sequence[Manifest], *, job: Manifest
) -> jobs.ClusterJob:
    """Create all objects, and the namespaces that they need."""
    bodies = [for_new_cluster(each) for each in manifests]
    for namespace in {_namespace(each) for each in manifests} - {"default"}:
        await ensure_namespace(cluster, namespace)
    faults = [await _fault(cluster, each) for each in bodies]
    if any(faults):
        raise TFJobError("\n".join(filter(None, faults)))
    created: dict[int, str] = {}
    for manifest, body in zip(manifests, bodies, strict=True):
        created[id(manifest)] = (await _create(cluster, body)).metadata.name
    inside = Cluster(api=cluster.api, namespace=_namespace(job))
    return await job_lookup.find(inside, created[id(job)], api=str(job["apiVersion"]))


async def _fault(cluster: Cluster, manifest: Manifest) -> str:
    """The error of a dry run; empty if the API server accepts the object."""
    collection = resource_for(manifest).collection(_namespace(manifest))
    kind, name = manifest.get("kind"), (manifest.get("metadata") or {}).get("name")
    try:
        await cluster.api.create(collection, manifest, decode=PartialObjectMetadata, dry_run=True)
    except AlreadyExists:
        return ""
    except NotFound:
        return f"{manifest.get('apiVersion')} {kind}: the local cluster does not serve this kind"
    except ApiError as error:
        return f"{kind} {name}: {error.message}"
    return ""


async def _create(cluster: Cluster, manifest: Manifest) -> PartialObjectMetadata:
    resource, namespace = resource_for(manifest), _namespace(manifest)
    collection = resource.collection(namespace)
    try:
        return await cluster.api.create(collection, manifest, decode=PartialObjectMetadata)
    except AlreadyExists:
        item = resource.item(manifest["metadata"]["name"], namespace)
        if manifest["kind"] in _KEPT:
            return await cluster.api.get(item, decode=PartialObjectMetadata)
        await _delete(cluster, item)
        return await cluster.api.create(collection, manifest, decode=PartialObjectMetadata)


async def _delete(cluster: Cluster, item: str) -> None:
    """Delete an object of an earlier run, and wait until it and its dependents are gone."""
    try:
        await cluster.api.delete(item, propagation="Foreground")
        while True:
            await cluster.api.get(item, decode=PartialObjectMetadata)
            await asyncio.sleep(_POLL_INTERVAL)
    except NotFound:
        return


async def ensure_namespace(cluster: Cluster, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        await cluster.api.create(_NAMESPACES.collection(), body, decode=PartialObjectMetadata)
    except AlreadyExists:
        return


def resource_for(manifest: Manifest) -> Resource:
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    kind = str(manifest.get("kind", ""))
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    return Resource(group, version, plural, namespaced=kind not in _CLUSTER_WIDE)


def _namespace(manifest: Manifest) -> str:
    metadata = manifest.get("metadata") or {}
    return str(metadata.get("namespace") or "default")
