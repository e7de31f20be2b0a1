"""Discovery: groups, versions, resources, health.

Built from the registry of kinds; both the legacy and the aggregated form are served.
"""

from collections.abc import Iterable
from typing import Any

from tfjob.local.apiserver.kinds import Kind, Registry

Json = dict[str, Any]

# The Kubernetes release whose behaviour this server follows.
MINOR = 36
_CUSTOM_ORDER = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def version() -> Json:
    return {
        "major": "1",
        "minor": str(MINOR),
        "gitVersion": f"v1.{MINOR}.0+tfjob",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def wants_aggregated(accept: str) -> bool:
    for entry in accept.split(","):
        options = {part.strip() for part in entry.split(";")}
        if {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"} <= options:
            return True
        if entry.strip() == "application/json":
            return False
    return False


def find(path: str, registry: Registry, *, address: str, accept: str) -> Json | None:  # noqa: PLR0911 - one answer per path
    """The discovery document at a path, or None."""
    parts = path.strip("/").split("/")
    match parts:
        case ["version"]:
            return version()
        case ["api" | "apis" as root] if wants_aggregated(accept):
            return _aggregate(registry, is_core=root == "api")
        case ["api"]:
            return _core_versions(address)
        case ["apis"]:
            return _groups(registry)
        case ["api", "v1"]:
            return _resources(registry, group="", version="v1")
        case ["apis", group]:
            return _group_document(registry, group)
        case ["apis", group, version_]:
            return _resources(registry, group=group, version=version_)
    return None


def _core_versions(address: str) -> Json:
    where = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [where]}


def _group(name: str, versions: list[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{each}", "version": each} for each in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _groups(registry: Registry) -> Json:
    groups = [_group(name, versions) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group_document(registry: Registry, group: str) -> Json | None:
    versions = registry.groups().get(group)
    if not versions:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def _resources(registry: Registry, *, group: str, version: str) -> Json | None:
    kinds = [kind for kind in registry if (kind.group, kind.version) == (group, version)]
    if not kinds:
        return None
    head: Json = {"kind": "APIResourceList"}
    if group:
        head["apiVersion"] = "v1"
    listed = [entry for kind in sorted(kinds, key=lambda k: k.plural) for entry in _entries(kind)]
    name = f"{group}/{version}" if group else version
    return {**head, "groupVersion": name, "resources": listed}


def _entries(kind: Kind) -> Iterable[Json]:
    entry: Json = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.is_namespaced,
        "kind": kind.kind,
        "verbs": list(_CUSTOM_ORDER if kind.is_custom else kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    yield entry
    for name, response, verbs in subresources(kind):
        shown = {
            "name": f"{kind.plural}/{name}",
            "singularName": "",
            "namespaced": kind.is_namespaced,
        }
        if name == "scale":
            shown |= {"group": "autoscaling", "version": "v1"}
        yield {**shown, "kind": response, "verbs": list(verbs)}


_BELOW_KINDS = {"binding": "Binding"}
_BELOW_VERBS = {"binding": ("create",), "finalize": ("update",)}


def subresources(kind: Kind) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """(name, kind of the response, verbs) of each subresource."""
    if kind.has_status:
        yield "status", kind.kind, ("get", "patch", "update")
    if kind.scale is not None:
        yield "scale", "Scale", ("get", "patch", "update")
    for name in kind.subresources:
        yield name, _BELOW_KINDS.get(name, kind.kind), _BELOW_VERBS.get(name, ("get",))


def _aggregate(registry: Registry, *, is_core: bool) -> Json:
    items = []
    for group, versions in registry.groups().items():
        if bool(group) is is_core:
            continue
        listed = [_aggregated_version(registry, group, each) for each in versions]
        items.append({"metadata": {"name": group} if group else {}, "versions": listed})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_version(registry: Registry, group: str, version: str) -> Json:
    kinds = [kind for kind in registry if (kind.group, kind.version) == (group, version)]
    resources = [_aggregated(kind) for kind in sorted(kinds, key=lambda k: k.plural)]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _aggregated(kind: Kind) -> Json:
    response = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    entry: Json = {
        "resource": kind.plural,
        "responseKind": response,
        "scope": "Namespaced" if kind.is_namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    below = [
        {"subresource": name, "responseKind": _response_kind(kind, answer), "verbs": list(verbs)}
        for name, answer, verbs in subresources(kind)
    ]
    if below:
        entry["subresources"] = below
    return entry


def _response_kind(kind: Kind, answer: str) -> Json:
    if answer == "Scale":
        return {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    return {"group": kind.group, "version": kind.version, "kind": answer}
