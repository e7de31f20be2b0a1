"""Garbage collection of dependents, namespaces, objects of removed CRDs, and old events.

Acts on the stored state only; a change merely enqueues keys. Everything is checked at the start,
which repairs whatever a crash interrupted. Events expire after an hour.
"""

from datetime import timedelta
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.controller import QueueWorker
from tfjob.local.apiserver.handlers.delete import CLEANUP, FOREGROUND, ORPHAN, Options, end
from tfjob.local.apiserver.handlers.objects import store_internally
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.store import Change, Key

Json = dict[str, Any]
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
EVENT_LIFE = timedelta(hours=1)
_SWEEP_SECONDS = 300.0


class GarbageCollector(QueueWorker):
    piece = 50

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._store = backend.store

    def next_wakeup_seconds(self) -> float:
        return _SWEEP_SECONDS

    def on_idle(self) -> None:
        self.drop_old_events()

    def enqueue_all(self) -> None:
        for uid in self._store.owner_uids():
            for key in self._store.owned_by(uid):
                self.enqueue(key)
        for kind in self.backend.registry:
            for row in self._store.page(kind.resource):
                if b'"deletionTimestamp"' in row.body:
                    self.enqueue(Key(kind.resource, row.namespace, row.name))
        self.drop_old_events()

    def drop_old_events(self) -> None:
        oldest = self.backend.clock() - EVENT_LIFE
        for row in self._store.page("events"):
            event = row.object()
            created = time.parse(event["metadata"].get("creationTimestamp"))
            seen = time.parse(event.get("lastTimestamp")) or created
            if seen is not None and max(seen, created or seen) < oldest:
                self._store.remove(Key("events", row.namespace, row.name), event)

    # -- queueing --------------------------------------------------------------------------------

    def on_change(self, change: Change) -> None:
        if change.type == "DELETED":
            self._notice_end(change)
        elif b'"ownerReferences"' in change.body or b'"deletionTimestamp"' in change.body:
            self.enqueue(change.key)

    def _notice_end(self, change: Change) -> None:
        meta = change.object["metadata"]
        for dependent in self._store.owned_by(meta.get("uid", "")):
            self.enqueue(dependent)
        for ref in meta.get("ownerReferences") or ():
            owner = self._store.find_uid(ref.get("uid", ""))
            if owner is not None:
                self.enqueue(owner)
        if change.key.namespace:
            namespace = self.backend.namespace(change.key.namespace)
            if namespace is not None and "deletionTimestamp" in namespace["metadata"]:
                self.enqueue(Key("namespaces", "", change.key.namespace))
        definition = Key(DEFINITIONS, "", change.key.resource)
        if "." in change.key.resource and self._store.get(definition) is not None:
            self.enqueue(definition)

    # -- collecting ------------------------------------------------------------------------------

    def reconcile(self, key: Key) -> None:
        stored = self._store.get(key)
        kind = self.backend.registry.of_resource(key.resource)
        if stored is None or kind is None:
            return
        obj = stored.object()
        if "deletionTimestamp" in obj["metadata"]:
            self._finish(key, obj)
        elif obj["metadata"].get("ownerReferences"):
            self._check_owners(key, kind, obj)

    def _finish(self, key: Key, obj: Json) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        if key.resource == "namespaces":
            self._empty_namespace(key, obj)
        elif ORPHAN in finalizers:
            self._orphan_dependents(obj["metadata"]["uid"])
            self._drop_finalizer(key, ORPHAN)
        elif FOREGROUND in finalizers:
            self._finish_foreground(key, obj)
        elif key.resource == DEFINITIONS and CLEANUP in finalizers:
            self._empty_definition(key)

    def _check_owners(self, key: Key, kind: Kind, obj: Json) -> None:
        refs = obj["metadata"]["ownerReferences"]
        solid = [ref for ref in refs if self._is_solid(ref)]
        waiting = [ref for ref in refs if ref not in solid and self._owner(ref) is not None]
        if len(solid) == len(refs):
            return
        if solid:
            obj["metadata"]["ownerReferences"] = solid
            store_internally(self.backend, key, obj)
            return
        has_dependents = bool(self._store.owned_by(obj["metadata"]["uid"]))
        policy = "Foreground" if waiting and has_dependents else "Background"
        end(self.backend, kind, key=key, options=Options(propagation_policy=policy))

    def _owner(self, ref: Json) -> Json | None:
        key = self._store.find_uid(ref.get("uid", ""))
        stored = self._store.get(key) if key is not None else None
        return stored.object() if stored else None

    def _is_solid(self, ref: Json) -> bool:
        """Whether the owner exists and does not wait for its dependents, or is of unknown kind."""
        owner = self._owner(ref)
        if owner is None:
            kind = self.backend.registry.of_kind(ref.get("apiVersion", ""), ref.get("kind", ""))
            return kind is None
        meta = owner["metadata"]
        return "deletionTimestamp" not in meta or FOREGROUND not in (meta.get("finalizers") or ())

    def _finish_foreground(self, key: Key, obj: Json) -> None:
        uid = obj["metadata"]["uid"]
        is_blocked = False
        for dependent in self._store.owned_by(uid):
            stored = self._store.get(dependent)
            if stored is None:
                continue
            meta = stored.object()["metadata"]
            refs = [ref for ref in meta["ownerReferences"] if ref.get("uid") == uid]
            is_blocked = is_blocked or any(ref.get("blockOwnerDeletion") for ref in refs)
            if "deletionTimestamp" not in meta:
                self.enqueue(dependent)
        if not is_blocked:
            self._drop_finalizer(key, FOREGROUND)

    def _orphan_dependents(self, uid: str) -> None:
        for key in self._store.owned_by(uid):
            stored = self._store.get(key)
            if stored is None:
                continue
            obj = stored.object()
            refs = [ref for ref in obj["metadata"]["ownerReferences"] if ref.get("uid") != uid]
            obj["metadata"].pop("ownerReferences")
            if refs:
                obj["metadata"]["ownerReferences"] = refs
            store_internally(self.backend, key, obj)

    def _drop_finalizer(self, key: Key, finalizer: str) -> None:
        stored = self._store.get(key)
        if stored is None:
            return
        obj = stored.object()
        left = [f for f in obj["metadata"].get("finalizers") or () if f != finalizer]
        obj["metadata"].pop("finalizers", None)
        if left:
            obj["metadata"]["finalizers"] = left
        store_internally(self.backend, key, obj)

    def _empty_namespace(self, key: Key, obj: Json) -> None:
        resources = self._store.resources_in(key.name)
        for resource in resources:
            self._end_all(resource, namespace=key.name)
        if self._store.resources_in(key.name):
            return
        obj["spec"] = {}
        store_internally(self.backend, key, obj)

    def _empty_definition(self, key: Key) -> None:
        self._end_all(key.name)
        if self._store.count(key.name):
            return
        if any(each.resource != DEFINITIONS for each in self._queue):
            # Includes dependents of its objects, whose owner kind must still be registered.
            self.enqueue(key)
        else:
            self._drop_finalizer(key, CLEANUP)

    def _end_all(self, resource: str, *, namespace: str = "") -> None:
        kind = self.backend.registry.of_resource(resource)
        for row in self._store.page(resource, namespace=namespace):
            key = Key(resource, row.namespace, row.name)
            if kind is None:
                # Without its CRD it cannot be seen, so finalizers do not hold it.
                self._store.remove(key, row.object())
            elif b'"deletionTimestamp"' not in row.body:
                end(self.backend, kind, key=key, options=Options(propagation_policy="Background"))
