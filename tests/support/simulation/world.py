"""Operators, nodes and an API server in one process, and what must be true of them at all times.

Law: what is checked is the API server's own log of changes, not what any operator believes.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from tests.support.permissive_crd import permissive
from tests.support.simulation import virtual_time
from tests.support.simulation.jobs import Expected
from tests.support.simulation.kubelet import PODS, Kubelet, call, listed
from tests.support.simulation.wire import Line, Weather
from tfjob.client.config import Config
from tfjob.controller.pacing import PacingConfig
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver import bootstrap
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.garbage_collector import GarbageCollector
from tfjob.local.apiserver.store import Change, Store
from tfjob.manager.app import Operator, World
from tfjob.manager.settings import Settings

Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
ENDS = ("Succeeded", "Failed")
LEASE_NAMESPACE = "kube-system"


class Laws:
    """Watches every change for what must never happen, and remembers how jobs ended."""

    def __init__(self, jobs: Sequence[Expected]) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._made: dict[str, int] = {}
        self._succeeded: set[str] = set()
        self._live: dict[tuple[str, ...], str] = {}
        self.ends: dict[str, str] = {}
        self.broken: list[str] = []

    def see(self, change: Change) -> None:
        if change.key.resource == "pods":
            self._see_pod(change)
        elif change.key.resource.startswith("tfjobs."):
            self._see_job(change)

    def _see_pod(self, change: Change) -> None:
        pod = change.object
        name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
        job = self._jobs[labels["training.kubeflow.org/job-name"]]
        place = tuple(sorted(labels.items()))
        if change.type == "DELETED":
            self._live.pop(place, None)
            return
        if change.type == "ADDED":
            self._made[name] = self._made.get(name, 0) + 1
            if self._live.setdefault(place, name) != name:
                self.broken.append(f"{name}: made while {self._live[place]} was alive")
            if name in self._succeeded:
                self.broken.append(f"{name}: made again after it had succeeded")
            if self._made[name] > job.most_runs(name):
                self.broken.append(f"{name}: made {self._made[name]} times")
            if job.name in self.ends:
                self.broken.append(f"{name}: made after its job had ended")
        if pod.get("status", {}).get("phase") == "Succeeded":
            self._succeeded.add(name)

    def _see_job(self, change: Change) -> None:
        job, name = change.object, change.object["metadata"]["name"]
        found = [
            each["type"]
            for each in job.get("status", {}).get("conditions", [])
            if each["status"] == "True" and each["type"] in ENDS
        ]
        before = self.ends.get(name)
        if len(found) > 1 or (before and found != [before]):
            self.broken.append(f"{name}: ended as {before}, then as {found}")
        if found:
            self.ends[name] = found[0]


class Cluster:
    """One API server with its nodes, and operators that come and go."""

    def __init__(
        self,
        jobs: Sequence[Expected],
        weather: Weather,
        *,
        store: Store,
        pacing: PacingConfig | None = None,
    ) -> None:
        self.jobs = jobs
        self._pacing = pacing or PacingConfig()
        self.weather = weather
        self.laws = Laws(jobs)
        self.backend = Backend(store, clock=virtual_time.now)
        fates = {pod: codes for job in jobs for pod, codes in job.fates.items()}
        self._chance = random.Random(weather.chance.random())  # noqa: S311 - must be repeatable
        self._kubelet = Kubelet(self.backend, self._chance, fates)
        self.lines: list[Line] = []
        self.operators: dict[str, Operator] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        bootstrap.ensure(self.backend)
        # The rules for new jobs are tested elsewhere, and would cost a third of each run.
        await call(self.backend, "POST", DEFINITIONS, permissive(KubeflowV1().crd()))
        self.backend.store.listen(self.laws.see)
        for work in (self._kubelet.run(), GarbageCollector(self.backend).run(), self._submit()):
            self._tasks.append(asyncio.create_task(work))

    async def _submit(self) -> None:
        for job in self.jobs:
            await asyncio.sleep(self._chance.uniform(0.0, 10.0))
            made = await call(self.backend, "POST", JOBS, job.manifest)
            assert made["code"] == 201, made

    async def operate(self, identity: str, *, is_elected: bool) -> None:
        """Keep one operator alive: whenever it dies, another takes its place."""
        while True:
            line = Line(self.backend, self.weather)
            self.lines.append(line)
            operator = self._operator(identity, line, is_elected=is_elected)
            self.operators[identity] = operator
            running = asyncio.create_task(operator.run())
            dying = asyncio.create_task(line.died.wait())
            try:
                await asyncio.wait([running, dying], return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    running.result()
                    return
            finally:
                dying.cancel()
                await end(running)
            await asyncio.sleep(self._chance.uniform(0.0, 20.0))

    def _operator(self, identity: str, line: Line, *, is_elected: bool) -> Operator:
        settings = Settings(
            metrics_address="0",
            health_address="0",
            is_leader_elected=is_elected,
            lease_namespace=LEASE_NAMESPACE,
            threads=2,
            pacing=self._pacing,
        )
        timing = virtual_time.timing(self.weather.chance.random)
        return Operator(
            Config(server="http://simulated.invalid"),
            settings,
            dialects=[KubeflowV1()],
            identity=identity,
            world=World(connect=line.connect, timing=timing, now=virtual_time.now),
        )

    @property
    def have_all_ended(self) -> bool:
        return len(self.laws.ends) == len(self.jobs)

    async def leftovers(self) -> list[str]:
        """What is there at the end and should not be, or is not and should be."""
        found: list[str] = []
        stored = {job["metadata"]["name"] for job in await listed(self.backend, JOBS)}
        pods = await listed(self.backend, PODS)
        for job in self.jobs:
            own = [pod for pod in pods if pod["metadata"]["name"].startswith(f"{job.name}-")]
            if (job.name in stored) == job.has_ttl:
                found.append(f"{job.name}: stored {job.name in stored}, ttl {job.has_ttl}")
            if own and (job.has_ttl or job.clean_policy == "All"):
                found.append(f"{job.name}: pods left behind: {len(own)}")
            if job.clean_policy == "Running" and any(map(_is_running, own)):
                found.append(f"{job.name}: running pods left behind")
        return found

    async def stop(self) -> None:
        self.backend.is_closing = True
        self.backend.watches.wake_all()
        for task in self._tasks:
            await end(task)


async def end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _is_running(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in {"Pending", "Running"}
