"""Jobs that are healthy or merely slow: none may ever be given a wrong cause.

They run on a real API server with a real scheduler. Every state that is stored of a job is checked:
a wait may be told only if it is true and has lasted, a restart only as it happened.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from tests.support.causes.case import Scene
from tests.support.causes.cluster_cases import add_node
from tests.support.controlplane.api import Api
from tests.support.controlplane.cluster import ControlPlane
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet
from tests.support.fake_kubelet.pod_status import Pod
from tests.support.operator_identity import identity_on
from tests.support.tfjobs import tfjob
from tfjob.core.diagnosis.waiting import SCHEDULING_GRACE
from tfjob.k8s import time

Json = dict[str, Any]
_KINDS: Final[Mapping[str, int]] = {
    "healthy": 60,
    "slow-pull": 40,
    "slow-volume": 30,
    "slow-placement": 40,
    "restarted": 30,
}
_LABELS: Final = {
    "healthy": "healthy",
    "slow-pull": "with an image that takes 5 to 10 seconds to pull",
    "slow-volume": "with a volume that takes 5 to 10 seconds and fails once",
    "slow-placement": "that wait for a node with free resources",
    "restarted": "whose worker is killed once",
}
_PATIENCE: Final = 600.0
_CLOCK_SKEW: Final = timedelta(seconds=1)
"""Stored times are whole seconds."""
_SEED: Final = 1


class SlowJobs(msgspec.Struct):
    """What was stored of the jobs; `wrong` says which job was given which wrong cause."""

    kinds: str = ""
    jobs: int = 0
    states: int = 0
    diagnoses: int = 0
    wrong: list[str] = []


async def slow_jobs() -> SlowJobs:
    plane = ControlPlane(scheduler=True)
    await asyncio.to_thread(plane.start)
    try:
        env = await asyncio.to_thread(_environment, plane)
        try:
            return await _run(plane)
        finally:
            await asyncio.to_thread(env.close)
    finally:
        await asyncio.to_thread(plane.stop)


def _environment(plane: ControlPlane) -> Environment:
    env = Environment("slow", plane, identity=identity_on(plane))
    env.operator.start()
    return env


async def _run(plane: ControlPlane) -> SlowJobs:
    namespace = await asyncio.to_thread(plane.create_namespace, "slow-")
    kinds = ", ".join(f"{count} {_LABELS[kind]}" for kind, count in _KINDS.items())
    found = SlowJobs(kinds=kinds, jobs=sum(_KINDS.values()))
    async with (
        FakeKubelet(plane.endpoint, namespace=namespace) as kubelet,
        Api(plane.endpoint) as api,
    ):
        scene = Scene(plane.endpoint, api, namespace=namespace, kubelet=kubelet)
        await add_node(scene, cpu="4")
        lives = _Lives(random.Random(_SEED))  # noqa: S311 - repeatable
        for kind in _KINDS:
            kubelet.script(f"{kind}-*", lives.live)
        listed = await api.call("GET", scene.jobs)
        watching = asyncio.create_task(
            _watch(api, scene.jobs, listed["metadata"]["resourceVersion"], found)
        )
        for kind, count in _KINDS.items():
            for number in range(count):
                await api.call("POST", scene.jobs, _job(kind, number, namespace))
        async with asyncio.timeout(_PATIENCE):
            await watching
    return found


def _job(kind: str, number: int, namespace: str) -> Json:
    job = tfjob("W1", name=f"{kind}-{number}", restart="ExitCode")
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    if kind == "slow-placement":
        spec["nodeSelector"] = {"pool": namespace}
        spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return job


class _Lives:
    """What becomes of each pod."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._killed: set[str] = set()

    async def live(self, kubelet: FakeKubelet, pod: Pod) -> None:
        name = pod["metadata"]["name"]
        kind = next(each for each in _KINDS if name.startswith(f"{each}-"))
        await kubelet.until(f"{name} has a node", lambda pods: _has_node(pods, name))
        if kind == "slow-pull":
            await kubelet.waiting(pod, "ContainerCreating", has_sandbox=True)
            await kubelet.record_event(pod, "Pulling", "Pulling image", kind="Normal")
        elif kind == "slow-volume":
            await kubelet.waiting(pod, "ContainerCreating")
            await kubelet.record_event(pod, "FailedMount", "failed to sync configmap cache")
        if kind in {"slow-pull", "slow-volume"}:
            await asyncio.sleep(self._rng.uniform(5, 10))
        await kubelet.run(pod)
        await asyncio.sleep(self._rng.uniform(0.5, 2))
        is_killed = kind == "restarted" and name not in self._killed
        self._killed.add(name)
        await kubelet.finish(pod, exit_code=137 if is_killed else 0)


def _has_node(pods: Mapping[str, Pod], name: str) -> bool:
    return name not in pods or bool(pods[name]["spec"].get("nodeName"))


async def _watch(api: Api, path: str, version: str, found: SlowJobs) -> None:
    """Check every stored state, until all jobs have ended."""
    ended: set[str] = set()
    while len(ended) < found.jobs:
        async with aclosing(api.watch(path, version)) as events:
            async for event in events:
                job = event["object"]
                version = job["metadata"]["resourceVersion"]
                _check(job, found)
                if _has_ended(job):
                    ended.add(job["metadata"]["name"])
                if len(ended) == found.jobs:
                    break


def _check(job: Mapping[str, Any], found: SlowJobs) -> None:
    found.states += 1
    name = job["metadata"]["name"]
    if any(each["type"] == "Failed" for each in job.get("status", {}).get("conditions") or ()):
        found.wrong.append(f"{name} failed")
    told = job.get("status", {}).get("diagnosis")
    if told:
        found.diagnoses += 1
        if not _is_true(name, told):
            found.wrong.append(f"{name}: {told['cause']}: {told['message']}")


def _is_true(name: str, told: Mapping[str, Any]) -> bool:
    since = time.parse(told["since"])
    if name.startswith("slow-placement-") and told["cause"] == "InsufficientResources":
        lasted = None if since is None else datetime.now(UTC) - since
        is_about_cpu = "Insufficient cpu" in told["message"]
        return lasted is not None and is_about_cpu and lasted + _CLOCK_SKEW >= SCHEDULING_GRACE
    if name.startswith("restarted-"):
        return (told["cause"], told.get("exitCode")) == ("Killed", 137)
    return False


def _has_ended(job: Mapping[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions") or ()
    return any(each["type"] in {"Succeeded", "Failed"} for each in conditions)
