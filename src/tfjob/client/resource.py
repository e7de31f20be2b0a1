"""Where a kind of object lives on an API server.

Names come from people, so they are quoted: a name cannot lead a request to another path.
"""

from typing import Final, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from tfjob.client.errors import NotFound

T = TypeVar("T")


class Resource(msgspec.Struct, frozen=True):
    """One kind of object, by the words that its URL is made of."""

    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def root(self) -> str:
        """The path below which the whole API version is served."""
        if not self.group:
            return f"/api/{self.version}"
        return f"/apis/{self.group}/{self.version}"

    def collection(self, namespace: str | None = None) -> str:
        """The path of all objects of a namespace, or of the whole cluster."""
        if namespace is None or not self.namespaced:
            return f"{self.root}/{self.plural}"
        return f"{self.root}/namespaces/{_segment(namespace)}/{self.plural}"

    def item(self, name: str, namespace: str | None = None, *, subresource: str = "") -> str:
        """The path of one object, or of a part of it such as `status`."""
        if self.namespaced and namespace is None:
            raise ValueError(
                f"{self.plural} {name!r}: a namespace is needed to address one object, got none"
            )
        path = f"{self.collection(namespace)}/{_segment(name)}"
        return f"{path}/{subresource}" if subresource else path


def _segment(name: str) -> str:
    if name in {"", ".", ".."}:
        raise ValueError(f"an object's name must not be empty, '.' or '..', got {name!r}")
    return quote(name, safe="")


PODS: Final = Resource("", "v1", "pods")
SERVICES: Final = Resource("", "v1", "services")
EVENTS: Final = Resource("", "v1", "events")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases")


class _Served(msgspec.Struct, frozen=True):
    name: str = ""


class _ServedList(msgspec.Struct, frozen=True):
    resources: tuple[_Served, ...] | None = None


class Reader(Protocol):
    """What is needed to ask a server what it serves."""

    async def get(self, path: str, *, decode: type[T]) -> T: ...


async def is_served(api: Reader, resource: Resource) -> bool:
    """Whether the server knows the resource in this version, for instance through a CRD."""
    try:
        served = await api.get(resource.root, decode=_ServedList)
    except NotFound:
        return False
    return any(entry.name == resource.plural for entry in served.resources or ())
