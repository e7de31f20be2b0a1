"""ResourceQuotas: refuse objects that exceed one, and keep the usage in its status.

Counted are objects of every kind, the requests and limits of pods that have not ended, and the
storage of claims. The usage is computed from the objects themselves, so it cannot drift.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.local.apiserver import status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.store import Change, Key, Store, StoreFullError

Json = dict[str, Any]
Amounts = dict[str, Quantity]
RESOURCE = "resourcequotas"
_ONE = Quantity(10**9)
_ZERO = Quantity(0)
_PLAIN = frozenset(
    {"configmaps", "persistentvolumeclaims", "pods", RESOURCE, "secrets", "services"}
)
_SHORT = ("cpu", "memory", "ephemeral-storage")
"""Resources that a quota may name without `requests.`."""
_MUST_BE_SET = frozenset(
    {"cpu", "memory", *(f"{way}.{name}" for way in ("requests", "limits") for name in _SHORT[:2])}
)
_ENDED = frozenset({"Succeeded", "Failed"})
_UNCOUNTED = frozenset({"events", "leases.coordination.k8s.io"})
"""Records of programs, which are created too often to look for quotas each time."""


def check(store: Store, kind: Kind, obj: Json) -> None:
    """Refuse a new object that exceeds a quota of its namespace."""
    namespace = obj["metadata"].get("namespace", "")
    if not namespace or kind.resource in _UNCOUNTED:
        return
    for quota in _quotas(store, namespace):
        hard, name = _hard(quota), quota["metadata"]["name"]
        wanted = {key: each for key, each in usage_of(kind.resource, obj).items() if key in hard}
        missing = _unset(obj, hard) if kind.resource == "pods" else ""
        if missing:
            raise _refused(kind, obj, f"failed quota: {name}: must specify {missing}")
        used = _used(store, namespace, wanted)
        over = sorted(
            key for key in wanted if wanted[key].nano and (used[key] + wanted[key]) > hard[key]
        )
        if over:
            told = ", ".join(
                f"{word}: {_shown(amounts, over)}"
                for word, amounts in (("requested", wanted), ("used", used), ("limited", hard))
            )
            raise _refused(kind, obj, f"exceeded quota: {name}, {told}")


def usage_of(resource: str, obj: Mapping[str, Any]) -> Amounts:
    """What one object uses, under every name that a quota may have for it."""
    found = {f"count/{resource}": _ONE}
    if resource in _PLAIN and not (resource == "pods" and _has_ended(obj)):
        found[resource] = _ONE
    if resource == "pods" and not _has_ended(obj):
        for way in ("requests", "limits"):
            for name, amount in _sum_of(obj, way).items():
                found[f"{way}.{name}"] = amount
                if way == "requests" and name in _SHORT:
                    found[name] = amount
    if resource == "persistentvolumeclaims":
        resources = (obj.get("spec") or {}).get("resources") or {}
        asked = quantity.parse((resources.get("requests") or {}).get("storage"))
        found["requests.storage"] = asked or _ZERO
    return found


class QuotaFollower:
    """Keeps the status of quotas; a full disk defers it to the next change."""

    def __init__(self, backend: Backend) -> None:
        self._store = backend.store
        self._namespaces = {each.namespace for each in self._store.page(RESOURCE)}

    def follow(self, change: Change) -> None:
        if change.key.resource == RESOURCE:
            self._namespaces.add(change.key.namespace)
        if change.key.namespace not in self._namespaces:
            return
        try:
            self._update(change.key.namespace)
        except StoreFullError:
            return

    def _update(self, namespace: str) -> None:
        for quota in _quotas(self._store, namespace):
            hard = _hard(quota)
            used = _used(self._store, namespace, hard)
            new = {
                "hard": dict((quota.get("spec") or {}).get("hard") or {}),
                "used": {key: used[key].render() for key in sorted(hard)},
            }
            if quota.get("status") != new:
                key = Key(RESOURCE, namespace, quota["metadata"]["name"])
                self._store.put(key, {**quota, "status": new})


def _quotas(store: Store, namespace: str) -> list[Json]:
    return [each.object() for each in store.page(RESOURCE, namespace=namespace)]


def _hard(quota: Json) -> Amounts:
    given = (quota.get("spec") or {}).get("hard") or {}
    parsed = {name: quantity.parse(text) for name, text in given.items()}
    return {name: amount for name, amount in parsed.items() if amount is not None}


def _used(store: Store, namespace: str, names: Iterable[str]) -> Amounts:
    """What the objects of a namespace use of these."""
    found = dict.fromkeys(names, _ZERO)
    for resource in {_resource_of(name) for name in found}:
        for stored in store.page(resource, namespace=namespace):
            for name, amount in usage_of(resource, stored.object()).items():
                if name in found:
                    found[name] = found[name] + amount
    return found


def _resource_of(name: str) -> str:
    """The resource whose objects use what a quota names."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name == "requests.storage":
        return "persistentvolumeclaims"
    return name if name in _PLAIN else "pods"


def _sum_of(pod: Mapping[str, Any], way: str) -> Amounts:
    spec = pod.get("spec") or {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        for name, amount in _amounts(container, way).items():
            total[name] = total.get(name, _ZERO) + amount
    for container in spec.get("initContainers") or ():
        for name, amount in _amounts(container, way).items():
            total[name] = max(total.get(name, _ZERO), amount)
    return total


def _amounts(container: Json, way: str) -> Amounts:
    """A limit without a request is also the request."""
    resources: Mapping[str, Any] = container.get("resources") or {}
    given = dict(resources.get("limits") or {}) if way == "requests" else {}
    given |= resources.get(way) or {}
    parsed = {name: quantity.parse(text) for name, text in given.items()}
    return {name: amount for name, amount in parsed.items() if amount is not None}


def _unset(pod: Json, hard: Amounts) -> str:
    """`cpu for: a,b; memory for: a`: what a quota needs every container to specify."""
    found = []
    for name in sorted(_MUST_BE_SET & hard.keys()):
        way, _, short = name.rpartition(".")
        bare = [
            str(each.get("name"))
            for each in (pod.get("spec") or {}).get("containers") or ()
            if short not in _amounts(each, way or "requests")
        ]
        if bare:
            found.append(f"{name} for: {','.join(sorted(bare))}")
    return "; ".join(found)


def _has_ended(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def _shown(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name].render()}" for name in names)


def _refused(kind: Kind, obj: Json, why: str) -> status.StatusError:
    name = obj["metadata"].get("name", "")
    message = f'{kind.qualified} "{name}" is forbidden: {why}'
    about = {"name": name, "kind": kind.plural}
    if kind.group:
        about["group"] = kind.group
    return status.StatusError(403, "Forbidden", message, details=about)
