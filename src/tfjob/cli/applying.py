"""Objects of a file, created in order on a cluster; the job among them is returned."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfjob.cli import jobs
from tfjob.cli.cluster import Cluster, VerbError
from tfjob.client.errors import AlreadyExists, NotFound
from tfjob.client.http import Stored
from tfjob.client.resource import Resource

_NAMESPACES: Final = Resource("", "v1", "namespaces", namespaced=False)
_PLURALS: Final = {
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "Pod": "pods",
    "Namespace": "namespaces",
    "PriorityClass": "priorityclasses",
}
_CLUSTER_WIDE: Final = frozenset({"Namespace", "PriorityClass"})


async def apply_all(
    cluster: Cluster, manifests: Sequence[Mapping[str, Any]], *, job: Mapping[str, Any]
) -> jobs.Found:
    """Create everything, each object in its own namespace, which is made where it is missing."""
    for manifest in manifests:
        await _create(cluster, manifest)
    name, namespace = job["metadata"].get("name"), _namespace(job)
    inside = Cluster(api=cluster.api, namespace=namespace)
    if name:
        return await jobs.find(inside, name)
    prefix = job["metadata"]["generateName"]
    made = [each for each in await jobs.find_all(inside) if each.name.startswith(prefix)]
    return max(made, key=lambda each: str(each.created))


async def _create(cluster: Cluster, manifest: Mapping[str, Any]) -> None:
    resource = _resource_of(manifest)
    namespace = _namespace(manifest) if resource.namespaced else None
    if namespace not in {None, "default"}:
        await _ensure_namespace(cluster, str(namespace))
    try:
        await cluster.api.create(resource.collection(namespace), manifest, decode=Stored)
    except AlreadyExists as error:
        if resource.plural == "namespaces":
            return
        raise VerbError(
            f"{error.message}; this data folder has it from an earlier run:"
            " give the job another name, or use another --data"
        ) from error
    except NotFound as error:
        kind = f"{manifest.get('apiVersion')} {manifest.get('kind')}"
        raise VerbError(f"{kind}: this kind is not served by the local cluster") from error


async def _ensure_namespace(cluster: Cluster, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        await cluster.api.create(_NAMESPACES.collection(), body, decode=Stored)
    except AlreadyExists:
        return


def _resource_of(manifest: Mapping[str, Any]) -> Resource:
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    kind = str(manifest.get("kind", ""))
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    return Resource(group, version, plural, namespaced=kind not in _CLUSTER_WIDE)


def _namespace(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata") or {}
    return str(metadata.get("namespace") or "default")
