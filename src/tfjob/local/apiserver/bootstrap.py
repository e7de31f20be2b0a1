"""Creates the namespaces of a new cluster, and a ServiceAccount in every namespace.

Only what is missing is created, at the start and whenever a namespace appears. A cluster of one
person also creates the namespaces that files name.
"""

from typing import Any

from tfjob.k8s import names
from tfjob.local.apiserver import defaults, metadata
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.quota import QuotaFollower
from tfjob.local.apiserver.store import Change, Key, StoreFullError

Json = dict[str, Any]
_CLASSES = "priorityclasses.scheduling.k8s.io"
PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_OF_PROGRAMS = frozenset({"Event", "Lease"})
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def ensure(backend: Backend) -> None:
    """Create what is missing, and follow new namespaces."""
    backend.store.listen(_Follower(backend).follow)
    backend.store.listen(QuotaFollower(backend).follow)
    for name in NAMESPACES:
        if backend.namespace(name) is None:
            _create(backend, "namespaces", {"metadata": {"name": name}}, namespace="")
    for name, value in PRIORITIES.items():
        if backend.store.get(Key(_CLASSES, "", name)) is None:
            _create(backend, _CLASSES, {"metadata": {"name": name}, "value": value}, namespace="")
    for stored in backend.store.page("namespaces"):
        _ensure_account(backend, stored.name)


def provision_namespace(backend: Backend, name: str, obj: Json) -> None:
    """Create the namespace of an object that a person submits, if it is missing."""
    if is_provisioned(backend, name, obj):
        _create(backend, "namespaces", {"metadata": {"name": name}}, namespace="")


def is_provisioned(backend: Backend, name: str, obj: Json) -> bool:
    """Whether the namespace is missing, and is created with this object.

    Objects with an owner, and records of programs, come from controllers: they must not recreate
    a deleted namespace.
    """
    if not backend.provisions_namespaces or not name or backend.namespace(name) is not None:
        return False
    is_of_program = obj.get("kind") in _OF_PROGRAMS or obj["metadata"].get("ownerReferences")
    return not is_of_program and not names.dns1123_label_problems(name)


class _Follower:
    """Creates ServiceAccounts in new namespaces; a full disk defers it to the next change."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._owing: set[str] = set()

    def follow(self, change: Change) -> None:
        if change.key.resource == "namespaces":
            self._owing.discard(change.key.name)
            if change.type == "ADDED":
                self._owing.add(change.key.name)
        while self._owing:
            namespace = self._owing.pop()
            try:
                _ensure_account(self._backend, namespace)
            except StoreFullError:
                self._owing.add(namespace)
                return


def _ensure_account(backend: Backend, namespace: str) -> None:
    if backend.store.get(Key("serviceaccounts", namespace, "default")) is None:
        _create(backend, "serviceaccounts", {"metadata": {"name": "default"}}, namespace=namespace)


def _create(backend: Backend, resource: str, obj: Json, *, namespace: str) -> None:
    kind = _kind(backend, resource)
    first = metadata.at_creation(obj, kind=kind, namespace=namespace, now=backend.clock())
    defaults.apply_defaults(kind.kind, first)
    backend.store.put(Key(resource, namespace, first["metadata"]["name"]), first)


def _kind(backend: Backend, resource: str) -> Kind:
    kind = backend.registry.of_resource(resource)
    if kind is None:
        raise RuntimeError(f"{resource}: a built-in kind is missing from the registry")
    return kind
