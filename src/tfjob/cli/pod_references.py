"""The objects that a pod names and cannot start without."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tfjob.client.resource import Resource

Json = Mapping[str, Any]

CONFIG_MAPS: Final = Resource("", "v1", "configmaps")
SECRETS: Final = Resource("", "v1", "secrets")
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims")
ACCOUNTS: Final = Resource("", "v1", "serviceaccounts")
PRIORITIES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
_KINDS: Final = {
    CONFIG_MAPS: "ConfigMap",
    SECRETS: "Secret",
    CLAIMS: "PersistentVolumeClaim",
    ACCOUNTS: "ServiceAccount",
    PRIORITIES: "PriorityClass",
}


class Reference(msgspec.Struct, frozen=True):
    resource: Resource
    name: str

    @property
    def title(self) -> str:
        return f"{_KINDS[self.resource]} {self.name!r}"


def references_of(pod: Json) -> set[Reference]:
    """What must exist before the pod can start; optional references are left out."""
    return {each for each in _all(pod.get("spec") or {}) if each.name}


def _all(spec: Json) -> Iterator[Reference]:
    yield Reference(ACCOUNTS, str(spec.get("serviceAccountName") or ""))
    yield Reference(PRIORITIES, str(spec.get("priorityClassName") or ""))
    for each in spec.get("imagePullSecrets") or ():
        yield Reference(SECRETS, str(each.get("name") or ""))
    for volume in spec.get("volumes") or ():
        yield from _of_volume(volume)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for each in container.get("envFrom") or ():
            yield from _of_source(each, ("configMapRef", "secretRef"))
        for each in container.get("env") or ():
            source = each.get("valueFrom") or {}
            yield from _of_source(source, ("configMapKeyRef", "secretKeyRef"))


def _of_volume(volume: Json) -> Iterator[Reference]:
    yield Reference(CLAIMS, str((volume.get("persistentVolumeClaim") or {}).get("claimName") or ""))
    yield from _of_source(volume, ("configMap", "secret"))
    for each in (volume.get("projected") or {}).get("sources") or ():
        yield from _of_source(each, ("configMap", "secret"))


def _of_source(source: Json, fields: tuple[str, str]) -> Iterator[Reference]:
    """The ConfigMap and the Secret that two fields name."""
    for field, resource in zip(fields, (CONFIG_MAPS, SECRETS), strict=True):
        named = source.get(field) or {}
        if not named.get("optional"):
            yield Reference(resource, str(named.get("name") or named.get("secretName") or ""))
