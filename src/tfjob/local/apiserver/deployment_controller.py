"""The Deployment controller: one ReplicaSet per template, the newest of them scaled up.

Reconciling is idempotent. A changed template is always rolled out by recreation: pods of the old
template go first. Progress deadlines and rolling updates are not implemented.
"""

import hashlib
from typing import Any

import msgspec

from tfjob.k8s import time
from tfjob.local.apiserver import deployment_status, metadata
from tfjob.local.apiserver.controller import Controller
from tfjob.local.apiserver.owned_objects import (
    drop,
    is_terminating,
    make,
    owned,
    owner_reference,
    record_event,
    store_status,
)
from tfjob.local.apiserver.replicaset_controller import RESOURCE as REPLICA_SETS
from tfjob.local.apiserver.status import StatusError
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
RESOURCE = "deployments.apps"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MOST = "deployment.kubernetes.io/max-replicas"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_encode = msgspec.json.Encoder(order="sorted").encode


class DeploymentController(Controller):
    resource = RESOURCE
    kind = "Deployment"
    child_resource = REPLICA_SETS

    def reconcile(self, key: Key) -> None:
        stored = self.backend.store.get(key)
        if stored is None or is_terminating(stored.object()):
            return
        deployment = stored.object()
        sets = [one for one in self._sets(deployment) if not is_terminating(one)]
        new = current_set(deployment, sets)
        if new is None and not deployment["spec"].get("paused"):
            new = self._make_set(deployment, sets)
            if new is None:
                return
        self._size(deployment, sets, new)
        if new is not None:
            self._number(key, sets, new)
        self._forget_old_sets(deployment, new)
        self._report(key, deployment, new)

    def _sets(self, deployment: Json) -> list[Json]:
        return owned(self.backend, deployment, REPLICA_SETS)

    def _make_set(self, deployment: Json, sets: list[Json]) -> Json | None:
        size = deployment["spec"]["replicas"] if all(map(deployment_status.is_empty, sets)) else 0
        body = set_for(deployment, size=size, revision=_last_revision(sets) + 1)
        namespace = deployment["metadata"]["namespace"]
        try:
            made = make(self.backend, REPLICA_SETS, body, namespace=namespace)
        except StatusError:
            # The name is taken, or the namespace is terminating: wait for a change.
            return None
        self._tell_scaled(deployment, made, before=0, size=size)
        return made

    def _size(self, deployment: Json, sets: list[Json], new: Json | None) -> None:
        """Scale old sets to zero first; the new one follows when their pods are gone."""
        size = deployment["spec"]["replicas"]
        if deployment["spec"].get("paused"):
            # A paused rollout stays as it is: only the size is applied.
            at_work = new or max(sets, key=_revision, default=None)
            if at_work is not None:
                self._scale(deployment, at_work, size)
            return
        for one in sets:
            if new is None or _uid(one) != _uid(new):
                self._scale(deployment, one, 0)
        fresh = [one for one in self._sets(deployment) if new is None or _uid(one) != _uid(new)]
        if new is not None and all(deployment_status.is_empty(one) for one in fresh):
            self._scale(deployment, new, size)

    def _scale(self, deployment: Json, one: Json, size: int) -> None:
        before = one["spec"]["replicas"]
        notes = {**one["metadata"].get("annotations", {}), **_size_notes(deployment)}
        if before == size and (size == 0 or notes == one["metadata"].get("annotations")):
            return
        changed = {**one, "metadata": {**one["metadata"], "annotations": notes}}
        changed["spec"] = {**one["spec"], "replicas": size}
        if before != size:
            metadata.next_generation(changed["metadata"])
        meta = one["metadata"]
        self.backend.store.put(Key(REPLICA_SETS, meta["namespace"], meta["name"]), changed)
        self._tell_scaled(deployment, one, before=before, size=size)

    def _number(self, key: Key, sets: list[Json], new: Json) -> None:
        """Give the current set the highest revision, and show it on the Deployment."""
        others = [one for one in sets if _uid(one) != _uid(new)]
        revision = max(_revision(new), _last_revision(others) + 1)
        self._annotate(Key(REPLICA_SETS, key.namespace, new["metadata"]["name"]), revision)
        self._annotate(key, revision)

    def _annotate(self, key: Key, revision: int) -> None:
        stored = self.backend.store.get(key)
        if stored is None:
            return
        obj = stored.object()
        notes = obj["metadata"].setdefault("annotations", {})
        if notes.get(REVISION) != str(revision):
            notes[REVISION] = str(revision)
            self.backend.store.put(key, obj)

    def _forget_old_sets(self, deployment: Json, new: Json | None) -> None:
        idle = [
            one
            for one in self._sets(deployment)
            if (new is None or _uid(one) != _uid(new)) and deployment_status.is_empty(one)
        ]
        idle.sort(key=_revision, reverse=True)
        for one in idle[deployment["spec"].get("revisionHistoryLimit", 10) :]:
            if not is_terminating(one):
                drop(self.backend, REPLICA_SETS, one)

    def _report(self, key: Key, deployment: Json, new: Json | None) -> None:
        sets = self._sets(deployment)
        named = next((one for one in sets if new is not None and _uid(one) == _uid(new)), None)
        now = time.render(self.backend.clock())
        status = deployment_status.status_of(deployment, sets, new=named, now=now)
        store_status(self.backend, key, status)

    def _tell_scaled(self, deployment: Json, one: Json, *, before: int, size: int) -> None:
        if before == size:
            return
        way = "up" if size > before else "down"
        message = f"Scaled {way} replica set {one['metadata']['name']} from {before} to {size}"
        record_event(
            self.backend,
            deployment,
            reference=f"apps/v1 {self.kind}",
            component="deployment-controller",
            reason="ScalingReplicaSet",
            message=message,
        )


def current_set(deployment: Json, sets: list[Json]) -> Json | None:
    """The ReplicaSet of the current template."""
    wanted = template_hash(deployment)
    return next(
        (one for one in sets if one["metadata"].get("labels", {}).get(HASH) == wanted), None
    )


def template_hash(deployment: Json) -> str:
    """Ten letters that identify a template."""
    number = int.from_bytes(hashlib.sha256(_encode(deployment["spec"]["template"])).digest())
    letters = []
    for _ in range(10):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)


def set_for(deployment: Json, *, size: int, revision: int) -> Json:
    """A new ReplicaSet for the Deployment's template."""
    meta, spec = deployment["metadata"], deployment["spec"]
    template, mark = spec["template"], {HASH: template_hash(deployment)}
    known = template.get("metadata") or {}
    labels = {**(known.get("labels") or {}), **mark}
    selector = spec["selector"]
    body: Json = {
        "metadata": {
            "name": f"{meta['name']}-{mark[HASH]}",
            "labels": labels,
            "annotations": {**_size_notes(deployment), REVISION: str(revision)},
            "ownerReferences": [
                owner_reference(deployment, api_version="apps/v1", kind="Deployment")
            ],
        },
        "spec": {
            "replicas": size,
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), **mark},
            },
            "template": {**template, "metadata": {**known, "labels": labels}},
        },
    }
    if spec.get("minReadySeconds"):
        body["spec"]["minReadySeconds"] = spec["minReadySeconds"]
    return body


def _size_notes(deployment: Json) -> dict[str, str]:
    size = deployment["spec"]["replicas"]
    most = size + deployment_status.most_extra(deployment) if size else 0
    return {_DESIRED: str(size), _MOST: str(most)}


def _last_revision(sets: list[Json]) -> int:
    return max((_revision(one) for one in sets), default=0)


def _revision(one: Json) -> int:
    text = (one["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def _uid(one: Json) -> str:
    return str(one["metadata"]["uid"])
