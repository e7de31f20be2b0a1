"""What of the jobs and their children exists, as three watches of the harness tell it.

Law: every contestant is seen by the same eyes, which cost the API server as little as can be:
services are seen without their bodies. A moment is when the watch told it, never a poll later.
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
_MOST_WATCHES: Final = 1000


class Failed(Exception):  # noqa: N818 - says what happened
    """What was waited for did not come; says what was there instead."""


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


class Moments:
    """When each job was first seen, had its first condition, was shown to run, and when the last of
    its pods was seen to start; all on the clock that never jumps, by the name of the job."""

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
        """Seconds from a job to its first condition."""
        return [at - self.seen[name] for name, at in self.first_condition.items()]

    def delays_of_running(self) -> list[float]:
        """Seconds from the start of a job's last pod until the job is shown to run; 0 where one
        pod was enough."""
        shown = self.shown_running
        return [max(shown[name] - at, 0.0) for name, at in self.last_start.items() if name in shown]


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that this share of them all does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


class Sight:
    """Names and UIDs of what exists, and which jobs are in which condition.

    Names are enough, for no scenario uses one in two namespaces.
    """

    def __init__(self, server: Server, *, on_change: Callable[[], None]) -> None:
        self._server = server
        self._on_change = on_change
        self._news = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.pods: dict[str, str] = {}
        self.services: dict[str, str] = {}
        self.jobs: dict[str, str] = {}
        self.in_condition: dict[str, set[str]] = {"Running": set(), "Succeeded": set()}
        self.moments = Moments()

    def open(self) -> None:
        """Look from now on."""
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
        """The moment at which it was so, on the clock that never jumps."""
        try:
            async with asyncio.timeout(limit):
                while not is_so():
                    self._news.clear()
                    await self._news.wait()
                    self._raise_faults()
        except TimeoutError as fault:
            raise Failed(f"{what}: not after {limit:.0f} s; there are {self}") from fault
        return time.monotonic()

    def __str__(self) -> str:
        return (
            f"{len(self.pods)} pods, {len(self.services)} services, {self.running} jobs running, "
            f"{self.succeeded} jobs succeeded"
        )

    async def _follow(self, path: str, known: dict[str, str], *, accept: str) -> None:
        """A busy server ends the watch of who does not keep up; it goes on where it was."""
        version = "0"
        try:
            for _ in range(_MOST_WATCHES):
                async for text in self._server.watch(path, version=version, accept=accept):
                    line = _LINE.decode(text)
                    if line.type == "ERROR":
                        raise Failed(f"the watch of {path} says {text!r}")
                    version = line.object.metadata.resource_version
                    self._take(line, known)
            raise Failed(f"the watch of {path} has ended {_MOST_WATCHES} times")
        finally:
            self._news.set()

    def _take(self, line: _Line, known: dict[str, str]) -> None:
        name = line.object.metadata.name
        if line.type == "BOOKMARK" or name == _OWN_SERVICE:
            return
        if line.type == "DELETED":
            known.pop(name, None)
        else:
            known[name] = line.object.metadata.uid
        if known is self.jobs:
            self._judge(line, name)
        elif known is self.pods:
            meta, status = line.object.metadata, line.object.status
            job_name = (meta.labels or {}).get(_JOB_LABEL, "")
            self.moments.pod(meta.uid, job_name, status.phase if status else None)
        self._news.set()
        self._on_change()

    def _judge(self, line: _Line, name: str) -> None:
        status = line.object.status
        conditions = (status.conditions if status else None) or []
        holds = {each.type for each in conditions if each.status == "True"}
        self.moments.job(name, holds)
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
    """What a kubelet writes when the training container of a pod has ended."""
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
    """A pod of nobody's. It is not scheduled, so it stays as it is."""
    container = {"name": "main", "image": "registry.example/web:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    }


def job(name: str, *, workers: int, servers: int = 1, **run_policy: Any) -> Mapping[str, Any]:
    """A TFJob whose failed pods are replaced."""
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
