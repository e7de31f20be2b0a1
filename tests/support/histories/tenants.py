"""What hostile tenants do in a history: spoofed children, foreign finalizers, deep and huge jobs.

Each function is one thing that happens. It says so in one line of plain English, or returns None
where there is nothing to do.
"""

from typing import Final

import msgspec

from tests.support.histories.choices import NAMESPACES, claim, new_job
from tests.support.histories.server import JOBS, PODS, SERVICES, Json, Key
from tests.support.histories.world import DEEP, HUGE, World
from tfjob.core.job import FINALIZER
from tfjob.dialects.kubeflow import api

_NESTED: Final = msgspec.Raw(b"[" * 2000 + b"]" * 2000)
_LONG: Final = "x" * 100_000
_TOO_MANY: Final = 10_000
_HOLD: Final = "tenant.example/hold"
_INDEXES: Final = ("0", "1", "2", "0", "1", "2", "-1", "x", "99999999999", "")


def spoof(world: World, which: int, how: int) -> str | None:
    """Somebody makes a pod or a service that claims to belong to a job."""
    key = world.pick(JOBS, which)
    if key is None:
        return None
    job = world.server.objects[key]
    namespace, owners, name = claim(key, job, how)
    plural = SERVICES if how // 24 % 4 == 0 else PODS
    labels = {
        api.LABEL_OPERATOR: api.OPERATOR,
        api.LABEL_JOB: key[2],
        api.LABEL_TYPE: "worker",
        api.LABEL_INDEX: _INDEXES[how // 8 % len(_INDEXES)],
    }
    if (plural, namespace, name) in world.server.objects:
        return None
    meta: Json = {"name": name, "labels": labels}
    if owners:
        meta["ownerReferences"] = owners
    spec: Json = {"containers": [{"name": "tensorflow", "image": "x"}], "restartPolicy": "Never"}
    if plural == SERVICES:
        spec = {"clusterIP": "None"}
    elif how // 96 % 3 == 0:
        meta["finalizers"] = [FINALIZER]
    world.server.create(plural, namespace, {"metadata": meta, "spec": spec})
    whose = [each["uid"] for each in owners] or "nobody"
    what = f"{plural} {namespace}/{name} for {key[1]}/{key[2]}"
    return f"a tenant makes {what}, owned by {whose}"


def hold(world: World, which: int, how: int) -> str | None:
    """Somebody puts a finalizer on a pod or a job, perhaps the operator's, or takes it away."""
    plural = JOBS if how % 4 == 0 else PODS
    key = world.pick(plural, which)
    if key is None:
        return None
    meta = world.server.objects[key]["metadata"]
    found = meta.get("finalizers", [])
    what = f"{plural} {key[1]}/{key[2]}"
    if _HOLD in found:
        let_go(world, key)
        return f"a tenant removes its finalizer from {what}"
    added = FINALIZER if plural == PODS and how % 3 == 0 else _HOLD
    if added in found or "deletionTimestamp" in meta:
        return None
    world.server.let_go(key, [*found, added])
    return f"a tenant puts the finalizer {added} on {what}"


def let_go(world: World, key: Key) -> None:
    """Take a tenant's finalizer away."""
    found = world.server.objects[key]["metadata"].get("finalizers", [])
    if _HOLD in found:
        world.server.let_go(key, [each for each in found if each != _HOLD])


def deep(world: World, which: int, _: int) -> str | None:
    """A job that cannot be read."""
    key = (JOBS, NAMESPACES[which % 2], DEEP)
    if key in world.server.objects:
        return None
    body = new_job(DEEP, 0, 0)
    body["spec"]["deep"] = _NESTED
    world.server.create(JOBS, key[1], body)
    return f"a tenant creates job {key[1]}/{DEEP}, nested 2000 levels deep"


def huge(world: World, which: int, _: int) -> str | None:
    """A job of 100 KB with more replicas than can ever start."""
    key = (JOBS, NAMESPACES[which % 2], HUGE)
    if key in world.server.objects:
        return None
    body = new_job(HUGE, 0, 0)
    body["metadata"]["annotations"] = {"tenant.example/filling": _LONG}
    body["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = _TOO_MANY
    world.server.create(JOBS, key[1], body)
    return f"a tenant creates job {key[1]}/{HUGE} of 100 KB and {_TOO_MANY} workers"
