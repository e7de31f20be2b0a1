"""A simulated cluster whose every change is checked against invariants.

They are checked on the API server's own log of changes, not on what an operator believes.
"""

import asyncio
from collections.abc import Sequence

from tests.support.fake_kubelet.random_kubelet import PODS
from tests.support.local_apiserver.in_memory import JOBS, Json
from tests.support.simulation.cluster import SimulatedCluster
from tests.support.simulation.connection import FaultInjector
from tests.support.simulation.jobs import Expected
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver.store import Change

ENDS = ("Succeeded", "Failed")


class Invariants:
    """What must never happen, and how jobs ended."""

    def __init__(self, jobs: Sequence[Expected]) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._made: dict[str, int] = {}
        self._succeeded: set[str] = set()
        self._live: dict[tuple[str, ...], str] = {}
        self.ends: dict[str, str] = {}
        self.broken: list[str] = []

    def observe(self, change: Change) -> None:
        if change.key.resource == "pods":
            self._observe_pod(change)
        elif change.key.resource.startswith("tfjobs."):
            self._observe_job(change)

    def _observe_pod(self, change: Change) -> None:
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

    def _observe_job(self, change: Change) -> None:
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


class CheckedCluster(SimulatedCluster):
    """A simulated cluster that runs known jobs and checks the invariants at every change."""

    def __init__(self, jobs: Sequence[Expected], injector: FaultInjector) -> None:
        super().__init__(
            injector.chance.getrandbits(32),
            dialects=[KubeflowV1()],
            exit_codes={pod: codes for job in jobs for pod, codes in job.exit_codes.items()},
            injector=injector,
        )
        self.jobs = jobs
        self.invariants = Invariants(jobs)

    async def start(self, *dialects: Dialect) -> None:
        await super().start(*dialects or (KubeflowV1(),))
        self._tasks.append(asyncio.create_task(self._submit()))

    def observe(self, change: Change) -> None:
        self.invariants.observe(change)

    async def _submit(self) -> None:
        for job in self.jobs:
            await asyncio.sleep(self.chance.uniform(0.0, 10.0))
            await self.server.make(JOBS, job.manifest)

    @property
    def have_all_ended(self) -> bool:
        return len(self.invariants.ends) == len(self.jobs)

    async def leftovers(self) -> list[str]:
        """Objects that are left at the end and should not be, or the reverse."""
        found: list[str] = []
        stored = {job["metadata"]["name"] for job in await self.server.listed(JOBS)}
        pods = await self.server.listed(PODS)
        for job in self.jobs:
            own = [pod for pod in pods if pod["metadata"]["name"].startswith(f"{job.name}-")]
            if (job.name in stored) == job.has_ttl:
                found.append(f"{job.name}: stored {job.name in stored}, ttl {job.has_ttl}")
            if own and (job.has_ttl or job.clean_policy == "All"):
                found.append(f"{job.name}: pods left behind: {len(own)}")
            if job.clean_policy == "Running" and any(map(_is_running, own)):
                found.append(f"{job.name}: running pods left behind")
        return found


def _is_running(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in {"Pending", "Running"}
