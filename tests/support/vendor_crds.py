"""CRDs that a platform may install; their objects have no schema here."""

from typing import Any, NamedTuple

Json = dict[str, Any]


class Kind(NamedTuple):
    """One kind of objects, by the names an API server has for it."""

    group: str
    version: str
    plural: str
    kind: str


POD_GROUPS = Kind("scheduler.tensorstack.dev", "v1beta1", "podgroups", "PodGroup")
TENSORBOARDS = Kind("tensorstack.dev", "v1beta1", "tensorboards", "TensorBoard")


def crd_of(kind: Kind) -> Json:
    """A definition under which anything is accepted."""
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind},
            "versions": [version],
        },
    }
