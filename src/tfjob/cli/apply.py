"""Objects of a file, created in order on a cluster; the job among them is returned.

Everything is tried before anything is created. What an earlier run has left is replaced; a volume
claim stays, with its data.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfjob.cli import job_lookup, jobs
from tfjob.cli.cluster import Cluster, CommandError
from tfjob.client.errors import AlreadyExists, ApiError, NotFound
from tfjob.client.http import Stored
from tfjob.client.resource import Resource

_NAMESPACES: Final = Resource("", "v1", "namespaces", namespaced=False)
_PLURALS: Final = {"PriorityClass": "priorityclasses"}
_CLUSTER_WIDE: Final = frozenset({"Namespace", "PriorityClass", "PersistentVolume"})
_KEPT: Final = frozenset({"Namespace", "PersistentVolumeClaim", "PersistentVolume"})
_LOOK_EVERY: Final = 0.05

Manifest = Mapping[str, Any]


async def apply_all(
    cluster: Cluster, manifests: Sequence[Manifest], *, job: Manifest
) -> jobs.Found:
    """Create everything, each object in its own namespace, which is made where it is missing."""
    for namespace in {_namespace(each) for each in manifests} - {"default"}:
        await _ensure_namespace(cluster, namespace)
    faults = [await _fault(cluster, each) for each in manifests]
    if any(faults):
        raise CommandError("\n".join(filter(None, faults)))
    made: dict[int, str] = {}
    for manifest in manifests:
        made[id(manifest)] = (await _create(cluster, manifest)).metadata.name
    inside = Cluster(api=cluster.api, namespace=_namespace(job))
    return await job_lookup.find(inside, made[id(job)], api=str(job["apiVersion"]))


async def _fault(cluster: Cluster, manifest: Manifest) -> str:
    """What the server says to an object before it is stored; nothing if it is fine."""
    collection = _resource_of(manifest).collection(_namespace(manifest))
    kind, name = manifest.get("kind"), (manifest.get("metadata") or {}).get("name")
    try:
        await cluster.api.create(collection, manifest, decode=Stored, dry_run=True)
    except AlreadyExists:
        return ""
    except NotFound:
        return f"{manifest.get('apiVersion')} {kind}: the local cluster does not serve this kind"
    except ApiError as error:
        return f"{kind} {name}: {error.message}"
    return ""


async def _create(cluster: Cluster, manifest: Manifest) -> Stored:
    resource, namespace = _resource_of(manifest), _namespace(manifest)
    collection = resource.collection(namespace)
    try:
        return await cluster.api.create(collection, manifest, decode=Stored)
    except AlreadyExists:
        item = resource.item(manifest["metadata"]["name"], namespace)
        if manifest["kind"] in _KEPT:
            return await cluster.api.get(item, decode=Stored)
        await _remove(cluster, item)
        return await cluster.api.create(collection, manifest, decode=Stored)


async def _remove(cluster: Cluster, item: str) -> None:
    """Delete what an earlier run has left, and wait until all that belonged to it is gone."""
    try:
        await cluster.api.delete(item, propagation="Foreground")
        while True:
            await cluster.api.get(item, decode=Stored)
            await asyncio.sleep(_LOOK_EVERY)
    except NotFound:
        return


async def _ensure_namespace(cluster: Cluster, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        await cluster.api.create(_NAMESPACES.collection(), body, decode=Stored)
    except AlreadyExists:
        return


def _resource_of(manifest: Manifest) -> Resource:
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    kind = str(manifest.get("kind", ""))
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    return Resource(group, version, plural, namespaced=kind not in _CLUSTER_WIDE)


def _namespace(manifest: Manifest) -> str:
    metadata = manifest.get("metadata") or {}
    return str(metadata.get("namespace") or "default")
