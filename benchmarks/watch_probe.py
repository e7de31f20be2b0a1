"""Observes jobs, pods and services through three watches of the benchmark's own.

All contestants are observed in the same way, at little cost for the API server: services are
watched by metadata only. Times are taken when a watch event arrives; nothing is polled.
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from benchmarks.server import METADATA_ONLY, Server


def jobs_in(namespace: str) -> str:
    return f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs"


NAMESPACE: Final = "default"
JOBS: Final = jobs_in(NAMESPACE)
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_ALL_JOBS: Final = "/apis/kubeflow.org/v1/tfjobs"
_ALL_PODS: Final = "/api/v1/pods"
_ALL_SERVICES: Final = "/api/v1/services"
_OWN_SERVICE: Final = "kubernetes"
_MAX_WATCHES: Final = 1000


class BenchmarkFailed(Exception):  # noqa: N818 - says what happened
    """An expected state was not reached; the message says what was observed instead."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = "0"
    labels: dict[str, str] | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None
    phase: str | None = None


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _Status | None = None


class _Line(msgspec.Struct):
    type: str
    object: _Object


_LINE: Final = msgspec.json.Decoder(_Line)
_JOB_LABEL: Final = "training.kubeflow.org/job-name"


class Timestamps:
    """By job name: when the job was first seen, got its first condition and its Running condition,
    and when its last pod started; all on the monotonic clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: set[str] = set()
        self.seen: dict[str, float] = {}
        self.first_condition: dict[str, float] = {}
        self.shown_running: dict[str, float] = {}
        self.last_start: dict[str, float] = {}

    def job(self, name: str, conditions: set[str]) -> None:
        now = self._clock()
        self.seen.setdefault(name, now)
        if conditions:
            self.first_condition.setdefault(name, now)
        if "Running" in conditions:
            self.shown_running.setdefault(name, now)

    def pod(self, uid: str, job: str, phase: str | None) -> None:
        if phase == "Running" and uid not in self._running:
            self._running.add(uid)
            self.last_start[job] = self._clock()

    def first_conditions(self) -> list[float]:
        """Seconds from the creation of each job to its first condition."""
        return [at - self.seen[name] for name, at in self.first_condition.items()]

    def delays_of_running(self) -> list[float]:
        """Seconds from the start of each job's last pod to its Running condition; 0 if the
        condition came earlier."""
        shown = self.shown_running
        return [max(shown[name] - at, 0.0) for name, at in self.last_start.items() if name in shown]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of the values."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


class WatchProbe:
    """Names and UIDs of the existing objects, and the conditions of jobs.

    Names identify objects, because no scenario uses a name in two namespaces.
    """

    def __init__(self, server: Server, *, on_change: Callable[[], None]) -> None:
        self._server = server
        self._on_change = on_change
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.pods: dict[str, str] = {}
        self.services: dict[str, str] = {}
        self.jobs: dict[str, str] = {}
        self.in_condition: dict[str, set[str]] = {"Running": set(), "Succeeded": set()}
        self.timestamps = Timestamps()

    def open(self) -> None:
        """Start watching."""
        followed = (
            (_ALL_PODS, self.pods),
            (_ALL_SERVICES, self.services),
            (_ALL_JOBS, self.jobs),
        )
        for path, known in followed:
            accept = METADATA_ONLY if known is self.services else "application/json"
            follow = self._follow(path, known, accept=accept)
            self._tasks.append(asyncio.get_running_loop().create_task(follow))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def running(self) -> int:
        return len(self.in_condition["Running"])

    @property
    def succeeded(self) -> int:
        return len(self.in_condition["Succeeded"])

    @property
    def children(self) -> int:
        return len(self.pods) + len(self.services)

    async def until(self, is_so: Callable[[], bool], *, what: str, limit: float = 1800.0) -> float:
        """Wait until the predicate holds, and return that time on the monotonic clock."""
        try:
            async with asyncio.timeout(limit):
                while not is_so():
                    self._changed.clear()
                    await self._changed.wait()
                    self._raise_faults()
        except TimeoutError as fault:
            raise BenchmarkFailed(f"{what}: not within {limit:.0f} s; observed {self}") from fault
        return time.monotonic()

    def __str__(self) -> str:
        return (
            f"{len(self.pods)} pods, {len(self.services)} services, {self.running} jobs running, "
            f"{self.succeeded} jobs succeeded"
        )

    async def _follow(self, path: str, known: dict[str, str], *, accept: str) -> None:
        """Watch a collection, and resume when a busy server ends the watch."""
        version = "0"
        try:
            for _ in range(_MAX_WATCHES):
                async for text in self._server.watch(path, version=version, accept=accept):
                    line = _LINE.decode(text)
                    if line.type == "ERROR":
                        raise BenchmarkFailed(f"the watch of {path} failed: {text!r}")
                    version = line.object.metadata.resource_version
                    self._apply(line, known)
            raise BenchmarkFailed(f"the watch of {path} has ended {_MAX_WATCHES} times")
        finally:
            self._changed.set()

    def _apply(self, line: _Line, known: dict[str, str]) -> None:
        name = line.object.metadata.name
        if line.type == "BOOKMARK" or name == _OWN_SERVICE:
            return
        if line.type == "DELETED":
            known.pop(name, None)
        else:
            known[name] = line.object.metadata.uid
        if known is self.jobs:
            self._update_job(line, name)
        elif known is self.pods:
            meta, status = line.object.metadata, line.object.status
            job_name = (meta.labels or {}).get(_JOB_LABEL, "")
            self.timestamps.pod(meta.uid, job_name, status.phase if status else None)
        self._changed.set()
        self._on_change()

    def _update_job(self, line: _Line, name: str) -> None:
        status = line.object.status
        conditions = (status.conditions if status else None) or []
        holds = {each.type for each in conditions if each.status == "True"}
        self.timestamps.job(name, holds)
        for condition, names in self.in_condition.items():
            if condition in holds and line.type != "DELETED":
                names.add(name)
            else:
                names.discard(name)

    def _raise_faults(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()


def ended_pod(*, exit_code: int) -> dict[str, Any]:
    """The pod status that a kubelet writes when the training container has ended."""
    ended = {
        "exitCode": exit_code,
        "reason": "Error" if exit_code else "Completed",
        "finishedAt": "2026-01-02T03:04:05Z",
    }
    container = {
        "name": "tensorflow",
        "image": "registry.example/train:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": ended},
    }
    phase = "Failed" if exit_code else "Succeeded"
    return {"status": {"phase": phase, "containerStatuses": [container]}}


def lone_pod(name: str, **labels: str) -> Mapping[str, Any]:
    """A pod without an owner. It is never scheduled."""
    container = {"name": "main", "image": "registry.example/web:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    }


def job(name: str, *, workers: int, servers: int = 1, **run_policy: Any) -> Mapping[str, Any]:
    """A TFJob with restartPolicy ExitCode."""
    container = {"name": "tensorflow", "image": "registry.example/train:1"}
    template = {"spec": {"containers": [container]}}
    counts = {"PS": servers, "Worker": workers}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {
            "runPolicy": run_policy,
            "tfReplicaSpecs": {
                kind: {"replicas": count, "restartPolicy": "ExitCode", "template": template}
                for kind, count in counts.items()
                if count
            },
        },
    }
