"""ResourceQuotas: refuse objects that exceed one, and keep the usage in its status.

Counted are objects of every kind, the requests and limits of pods that have not ended, and the
storage of claims. The usage is computed from the objects themselves, so it cannot drift.
"""

from collections.abc import Iterable
from typing import Any

from tfjob.k8s import resource_usage
from tfjob.k8s.resource_usage import COUNTED, SHORT, ZERO, Amounts, Way, usage_of
from tfjob.local.apiserver import status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.store import Change, Key, Store, StoreFullError

Json = dict[str, Any]
RESOURCE = "resourcequotas"
_MUST_BE_SET = frozenset(
    {"cpu", "memory", *(f"{way}.{name}" for way in ("requests", "limits") for name in SHORT[:2])}
)
_UNCOUNTED = frozenset({"events", "leases.coordination.k8s.io"})
"""Programs create these too often to look up quotas each time."""


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
            detail = ", ".join(
                f"{word}: {_shown(amounts, over)}"
                for word, amounts in (("requested", wanted), ("used", used), ("limited", hard))
            )
            raise _refused(kind, obj, f"exceeded quota: {name}, {detail}")


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
    return resource_usage.parsed((quota.get("spec") or {}).get("hard"))


def _used(store: Store, namespace: str, names: Iterable[str]) -> Amounts:
    """What the objects of a namespace use of these."""
    found = dict.fromkeys(names, ZERO)
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
    return name if name in COUNTED else "pods"


def _unset(pod: Json, hard: Amounts) -> str:
    """`cpu for: a,b; memory for: a`: what a quota needs every container to specify."""
    found = []
    for name in sorted(_MUST_BE_SET & hard.keys()):
        way, _, short = name.rpartition(".")
        kind: Way = "limits" if way == "limits" else "requests"
        bare = [
            str(each.get("name"))
            for each in (pod.get("spec") or {}).get("containers") or ()
            if short not in resource_usage.of_container(each, kind)
        ]
        if bare:
            found.append(f"{name} for: {','.join(sorted(bare))}")
    return "; ".join(found)


def _shown(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name].render()}" for name in names)


def _refused(kind: Kind, obj: Json, why: str) -> status.StatusError:
    name = obj["metadata"].get("name", "")
    message = f'{kind.qualified} "{name}" is forbidden: {why}'
    about = {"name": name, "kind": kind.plural}
    if kind.group:
        about["group"] = kind.group
    return status.StatusError(403, "Forbidden", message, details=about)
