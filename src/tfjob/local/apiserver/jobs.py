"""A minimal controller of batch/v1 Jobs: pods until enough have succeeded, or too many have failed.

Law: it acts on what is stored, one Job at a time, and repeating it changes nothing. Left out:
indexed completion, deadlines, time to live, failure policies, delays between tries.
"""

import asyncio
from collections import deque
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver import status as answers
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Request
from tfjob.local.apiserver.store import Change, Key, StoreFullError
from tfjob.local.apiserver.verbs.create import create_object
from tfjob.local.apiserver.verbs.delete import Options, end

Json = dict[str, Any]
RESOURCE = "jobs.batch"
_RETRY_SECONDS = 5.0


class JobController:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._todo: deque[Key] = deque()
        self._news = asyncio.Event()
        backend.store.listen(self._notice)

    async def run(self) -> None:
        """Work until cancelled."""
        self.look_everywhere()
        while True:
            try:
                while not self.is_idle:
                    self.step()
                    await asyncio.sleep(0)
            except StoreFullError:
                await asyncio.sleep(_RETRY_SECONDS)
                self.look_everywhere()
            self._news.clear()
            await self._news.wait()

    @property
    def is_idle(self) -> bool:
        return not self._todo

    def step(self) -> None:
        """Attend to one Job."""
        self._attend(self._todo.popleft())

    def look_everywhere(self) -> None:
        for row in self._backend.store.page(RESOURCE):
            self._enqueue(Key(RESOURCE, row.namespace, row.name))

    def _enqueue(self, key: Key) -> None:
        if key not in self._todo:
            self._todo.append(key)
        self._news.set()

    def _notice(self, change: Change) -> None:
        if change.key.resource == RESOURCE:
            self._enqueue(change.key)
        elif change.key.resource == "pods":
            for ref in change.object["metadata"].get("ownerReferences") or ():
                if ref.get("kind") == "Job" and ref.get("controller"):
                    self._enqueue(Key(RESOURCE, change.key.namespace, ref.get("name", "")))

    def _attend(self, key: Key) -> None:
        stored = self._backend.store.get(key)
        if stored is None:
            return
        job = stored.object()
        indexed = job["spec"].get("completionMode") == "Indexed"
        if indexed or "deletionTimestamp" in job["metadata"] or is_finished(job):
            return
        pods = self._pods(job)
        wanted, status = decide(job, pods, now=time.render(self._backend.clock()))
        self._reach(job, pods, wanted)
        if status != job.get("status"):
            self._store_status(key, status)

    def _pods(self, job: Json) -> list[Json]:
        found = []
        for key in self._backend.store.owned_by(job["metadata"]["uid"]):
            stored = self._backend.store.get(key)
            if stored is not None and key.resource == "pods":
                found.append(stored.object())
        return found

    def _reach(self, job: Json, pods: list[Json], wanted: int) -> None:
        active = [pod for pod in pods if is_active(pod)]
        kind = self._backend.registry.find(group="", version="v1", plural="pods")
        if kind is None:
            raise RuntimeError("pods: a built-in kind is missing from the registry")
        namespace = job["metadata"]["namespace"]
        for pod in active[wanted:]:
            key = Key("pods", namespace, pod["metadata"]["name"])
            end(self._backend, kind, key=key, options=Options(propagation_policy="Background"))
        request = Request(verb="create", kind=kind, namespace=namespace)
        for _ in range(wanted - len(active)):
            try:
                create_object(self._backend, request, pod_for(job))
            except answers.Refusal:
                # A template that no pod can be made of: its Job waits until somebody mends it.
                return

    def _store_status(self, key: Key, status: Json) -> None:
        stored = self._backend.store.get(key)
        if stored is not None:
            self._backend.store.put(key, {**stored.object(), "status": status})


def is_finished(job: Json) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(
        c.get("type") in {"Complete", "Failed"} and c.get("status") == "True" for c in conditions
    )


def is_active(pod: Json) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase not in {"Succeeded", "Failed"} and "deletionTimestamp" not in pod["metadata"]


def decide(job: Json, pods: list[Json], *, now: str) -> tuple[int, Json]:
    """How many pods shall be active, and the status to store."""
    spec, before = job["spec"], job.get("status") or {}
    # Pods that ended and are gone stay counted: a count never goes down.
    succeeded = max(_count(pods, "Succeeded"), before.get("succeeded") or 0)
    failed = max(_count(pods, "Failed"), before.get("failed") or 0)
    active = sum(is_active(pod) for pod in pods)
    status = {k: v for k, v in before.items() if k in {"startTime", "conditions"}}
    counts = {"succeeded": succeeded, "failed": failed}
    status |= {name: count for name, count in counts.items() if count}
    if spec.get("suspend"):
        status.pop("startTime", None)
        why = ("Suspended", "True", "JobSuspended", "Job suspended")
        return 0, _with_condition(status, why, now)
    status.setdefault("startTime", now)
    if failed > spec.get("backoffLimit", 6):
        message = "Job has reached the specified backoff limit"
        return 0, _with_condition(status, ("Failed", "True", "BackoffLimitExceeded", message), now)
    missing = _missing(spec, succeeded=succeeded, active=active)
    if missing == 0:
        status["completionTime"] = now
        why = (
            "Complete",
            "True",
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        )
        return 0, _with_condition(status, why, now)
    if any(c["type"] == "Suspended" for c in status.get("conditions") or ()):
        status = _with_condition(status, ("Suspended", "False", "JobResumed", "Job resumed"), now)
    wanted = min(spec.get("parallelism", 1), missing)
    if wanted:
        status |= {"active": wanted, "ready": _ready(pods)}
    return wanted, status


def _missing(spec: Json, *, succeeded: int, active: int) -> int:
    """How many pods must still succeed; without a goal, one success lets the rest run out."""
    if spec.get("completions") is not None:
        return max(int(spec["completions"]) - succeeded, 0)
    return active if succeeded else max(int(spec.get("parallelism", 1)), 1)


def _count(pods: list[Json], phase: str) -> int:
    return sum((pod.get("status") or {}).get("phase") == phase for pod in pods)


def _ready(pods: list[Json]) -> int:
    conditions = [
        c
        for pod in pods
        if is_active(pod)
        for c in (pod.get("status") or {}).get("conditions") or ()
    ]
    return sum(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _with_condition(status: Json, what: tuple[str, str, str, str], now: str) -> Json:
    type_, value, reason, message = what
    stood = status.get("conditions") or []
    if any(c["type"] == type_ and c["status"] == value for c in stood):
        return status
    fresh = {"type": type_, "status": value, "reason": reason, "message": message}
    fresh |= {"lastProbeTime": now, "lastTransitionTime": now}
    return {**status, "conditions": [*(c for c in stood if c["type"] != type_), fresh]}


def pod_for(job: Json) -> Json:
    """One pod of a Job, to be named by the server."""
    template, meta = job["spec"]["template"], job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    known = template.get("metadata") or {}
    return {
        "metadata": {
            **{k: v for k, v in known.items() if k in {"labels", "annotations"}},
            "generateName": f"{meta['name']}-",
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": template.get("spec") or {},
    }
