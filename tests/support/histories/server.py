"""An API server as a model: objects as plain JSON in memory, and the rules that writers meet.

It has versions, UIDs and generations, the status subresource, optimistic concurrency,
preconditions, graceful deletion of pods, and finalizers. A pod that is removed first gets a grace
period of zero: watches see both changes. Garbage is collected by `collect`, when somebody calls it.
A stored object is never changed: a write stores another one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from tfjob.client.errors import (
    AlreadyExists,
    Cause,
    Conflict,
    Details,
    Invalid,
    NotFound,
)

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Plural, namespace and name."""
JOBS: Final = "tfjobs"
PODS: Final = "pods"
SERVICES: Final = "services"
GRACE: Final = 30
ENDED: Final = frozenset({"Succeeded", "Failed"})
encode: Final = msgspec.json.Encoder().encode


class Change(msgspec.Struct, frozen=True):
    """One write that took effect; a deletion has no `new`, a creation no `old`."""

    key: Key
    old: Json | None
    new: Json | None
    version: int
    by: str


class ModelServer:
    """`now` renders the time that the server writes into objects."""

    def __init__(self, now: Callable[[int], str]) -> None:
        self._now = now
        self.objects: dict[Key, Json] = {}
        self.version = 0
        self.listeners: list[Callable[[Change], None]] = []
        self._uids = 0
        self.lost_nodes: set[str] = set()
        self.by = ""
        """Who writes at this moment."""

    def get(self, key: Key) -> Json:
        found = self.objects.get(key)
        if found is None:
            raise NotFound(f'{key[0]} "{key[2]}" not found', status=404, reason="NotFound")
        return found

    def listed(self, plural: str) -> list[Json]:
        return [each for key, each in self.objects.items() if key[0] == plural]

    def page(self, plural: str, namespace: str, labels: Mapping[str, str]) -> Json:
        """All objects of a namespace that have these labels, as one page."""
        found = [
            each
            for key, each in self.objects.items()
            if key[:2] == (plural, namespace)
            and labels.items() <= each["metadata"].get("labels", {}).items()
        ]
        return {"metadata": {"resourceVersion": str(self.version)}, "items": found}

    def create(self, plural: str, namespace: str, body: Json) -> Json:
        name = body["metadata"]["name"]
        key = (plural, namespace, name)
        if key in self.objects:
            raise AlreadyExists(
                f'{plural} "{name}" already exists', status=409, reason="AlreadyExists"
            )
        self._uids += 1
        metadata = {
            **body["metadata"],
            "namespace": namespace,
            "uid": f"{plural}-{self._uids}",
            "creationTimestamp": self._now(0),
            "generation": 1,
        }
        made = {**body, "metadata": metadata}
        if plural == PODS:
            made["status"] = {"phase": "Pending"}
        elif plural == JOBS:
            made.pop("status", None)
        return self._store(key, None, made)

    def replace_status(self, key: Key, body: Json) -> Json:
        old = self._checked(key, body["metadata"])
        return self._write(key, old, {**old, "status": body["status"]})

    def replace(self, key: Key, body: Json) -> Json:
        """Store another spec; metadata beside labels and annotations stays."""
        old = self._checked(key, body["metadata"])
        return self.edit(key, {**old, "spec": body["spec"]})

    def edit(self, key: Key, new: Json) -> Json:
        """Store an object, and a new generation if its spec is another one."""
        old = self.get(key)
        if new.get("spec") != old.get("spec"):
            generation = old["metadata"]["generation"] + 1
            new = {**new, "metadata": {**new["metadata"], "generation": generation}}
        return self._write(key, old, new)

    def patch(self, key: Key, body: Json) -> Json:
        """A strategic merge of owner references and finalizers, which is all that is patched."""
        old = self.get(key)
        meta = old["metadata"]
        if body["metadata"].get("uid", meta["uid"]) != meta["uid"]:
            cause = Cause(reason="FieldValueInvalid", field="metadata.uid")
            details = Details(causes=(cause,))
            raise Invalid("field is immutable", status=422, reason="Invalid", details=details)
        references = {each["uid"]: each for each in meta.get("ownerReferences", [])}
        for each in body["metadata"].get("ownerReferences", []):
            if each.get("$patch") == "delete":
                references.pop(each["uid"], None)
            else:
                references[each["uid"]] = {**references.get(each["uid"], {}), **each}
        if sum(bool(each.get("controller")) for each in references.values()) > 1:
            raise Invalid("Only one reference can have Controller set to true", status=422)
        if references or "ownerReferences" in meta:
            meta = {**meta, "ownerReferences": list(references.values())}
        removed = body["metadata"].get("$deleteFromPrimitiveList/finalizers", ())
        new = self._write(key, old, {**old, "metadata": meta})
        if not removed or not set(removed) & set(meta.get("finalizers", ())):
            return new
        kept = [each for each in meta["finalizers"] if each not in removed]
        return self.let_go(key, kept)

    def delete(
        self, key: Key, *, uid: str | None = None, version: str | None = None, grace: int = GRACE
    ) -> None:
        old = self.get(key)
        meta = old["metadata"]
        if uid not in {None, meta["uid"]} or version not in {None, meta["resourceVersion"]}:
            raise Conflict("Precondition failed", status=409, reason="Conflict")
        if key[0] != PODS or not old["spec"].get("nodeName") or old["status"].get("phase") in ENDED:
            grace = 0
        is_held = bool(meta.get("finalizers"))
        known = meta.get("deletionGracePeriodSeconds")
        if (known is None or grace < known) and (key[0] == PODS or is_held):
            marks: Json = {
                "deletionTimestamp": self._now(grace),
                "deletionGracePeriodSeconds": grace,
            }
            if "deletionTimestamp" not in meta:
                marks["generation"] = meta["generation"] + 1
            old = self._write(key, old, {**old, "metadata": {**meta, **marks}})
        if grace == 0 and not is_held:
            self._store(key, old, None)

    def let_go(self, key: Key, finalizers: list[str]) -> Json:
        """Set the finalizers; what only waited for the last of them is gone."""
        old = self.get(key)
        new = self._write(
            key, old, {**old, "metadata": {**old["metadata"], "finalizers": finalizers}}
        )
        meta = new["metadata"]
        if not finalizers and meta.get("deletionGracePeriodSeconds") == 0:
            return self._store(key, new, None)
        return new

    def collect(self) -> Json | None:
        """Delete one object whose owners are all gone, as the garbage collector does."""
        alive = {each["metadata"]["uid"]: key[1] for key, each in self.objects.items()}
        for key, each in self.objects.items():
            meta = each["metadata"]
            owners = meta.get("ownerReferences", [])
            if not owners or "deletionTimestamp" in meta:
                continue
            if not any(alive.get(owner["uid"]) == key[1] for owner in owners):
                self.delete(key)
                return each
        return None

    def _checked(self, key: Key, meta: Json) -> Json:
        old = self.get(key)
        known = old["metadata"]
        if meta.get("uid", known["uid"]) != known["uid"]:
            raise Conflict("Precondition failed: UID in precondition", status=409)
        if meta.get("resourceVersion", known["resourceVersion"]) != known["resourceVersion"]:
            raise Conflict("the object has been modified", status=409, reason="Conflict")
        return old

    def _write(self, key: Key, old: Json, new: Json) -> Json:
        return old if new == old else self._store(key, old, new)

    def _store(self, key: Key, old: Json | None, new: Json | None) -> Json:
        self.version += 1
        if new is None:
            del self.objects[key]
        else:
            new = {**new, "metadata": {**new["metadata"], "resourceVersion": str(self.version)}}
            self.objects[key] = new
        change = Change(key, old, new, self.version, self.by)
        for listen in self.listeners:
            listen(change)
        return new if new is not None else old or {}
