"""What of the jobs and their children exists, as three watches of the harness tell it.

Law: every contestant is seen by the same eyes, which cost the API server as little as can be:
children are seen without their bodies. A moment is when the watch told it, never a poll later.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
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


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _Status | None = None


class _Line(msgspec.Struct):
    type: str
    object: _Object


_LINE: Final = msgspec.json.Decoder(_Line)


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

    def open(self) -> None:
        """Look from now on."""
        followed = (
            (_ALL_PODS, self.pods),
            (_ALL_SERVICES, self.services),
            (_ALL_JOBS, self.jobs),
        )
        for path, known in followed:
            accept = "application/json" if known is self.jobs else METADATA_ONLY
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
        self._news.set()
        self._on_change()

    def _judge(self, line: _Line, name: str) -> None:
        status = line.object.status
        conditions = (status.conditions if status else None) or []
        holds = {each.type for each in conditions if each.status == "True"}
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
