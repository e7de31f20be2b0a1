"""API resources and their URL paths.

Names are user input and are quoted, so that a name cannot change the path of a request.
"""

import re
from typing import Final, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from tfjob.client.errors import NotFound

T = TypeVar("T")
_UNRESERVED: Final = re.compile(r"[a-z0-9.-]+")
"""Names that need no quotes, which nearly all are."""


class Resource(msgspec.Struct, frozen=True):
    """A resource by group, version and plural."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def root(self) -> str:
        """The path of the API version."""
        if not self.group:
            return f"/api/{self.version}"
        return f"/apis/{self.group}/{self.version}"

    def collection(self, namespace: str | None = None) -> str:
        """The path of the collection in a namespace, or in the whole cluster."""
        if namespace is None or not self.namespaced:
            return f"{self.root}/{self.plural}"
        return f"{self.root}/namespaces/{_segment(namespace)}/{self.plural}"

    def item(self, name: str, namespace: str | None = None, *, subresource: str = "") -> str:
        """The path of one object, or of a subresource such as `status`."""
        if self.namespaced and namespace is None:
            raise ValueError(f"{self.plural} {name!r}: a namespace is required, got none")
        path = f"{self.collection(namespace)}/{_segment(name)}"
        return f"{path}/{subresource}" if subresource else path


def _segment(name: str) -> str:
    if name in {"", ".", ".."}:
        raise ValueError(f"an object's name must not be empty, '.' or '..', got {name!r}")
    return name if _UNRESERVED.fullmatch(name) else quote(name, safe="")


PODS: Final = Resource("", "v1", "pods")
SERVICES: Final = Resource("", "v1", "services")
EVENTS: Final = Resource("", "v1", "events")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases")


class _Served(msgspec.Struct, frozen=True):
    name: str = ""


class _ServedList(msgspec.Struct, frozen=True):
    resources: tuple[_Served, ...] | None = None


class _GroupVersion(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True):
    versions: tuple[_GroupVersion, ...] | None = None


class Reader(Protocol):
    """The API call that discovery uses."""

    async def get(self, path: str, *, decode: type[T]) -> T: ...


async def is_served(api: Reader, resource: Resource) -> bool:
    """Whether the server serves the resource in this version."""
    try:
        served = await api.get(resource.root, decode=_ServedList)
    except NotFound:
        return False
    return any(entry.name == resource.plural for entry in served.resources or ())


async def served_version(api: Reader, *, group: str, plural: str) -> str | None:
    """The version of the group, in the server's order of preference, that serves the resource."""
    try:
        found = await api.get(f"/apis/{group}", decode=_Group)
    except NotFound:
        return None
    for each in found.versions or ():
        if await is_served(api, Resource(group, each.version, plural)):
            return each.version
    return None
