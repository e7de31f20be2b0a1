"""Jobs of real programs whose replicas are killed, and how long they take to train again.

The programs write a line with their process and their step after each step, and train until the
file "finish" exists in their folder.
"""

import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from tests.support import process_table
from tests.support.local_cluster import LocalCluster
from tests.support.process_table import Process
from tests.support.tfjobs import replica
from tfjob.core import indexes
from tfjob.dialects.job_annotations import RECOVERY

JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
PODS = "/api/v1/namespaces/default/pods"
_PATIENCE = 600.0
_POLL_SECONDS = 0.2
"""Looking more often would take time from the programs."""
_MOST_REPLICAS = 10
Json = dict[str, Any]


class ProgramJob:
    """One job of a program, and what its replicas have written about their progress."""

    def __init__(self, cluster: LocalCluster, folder: Path, name: str) -> None:
        self._cluster = cluster
        self._folder = folder
        self.name = name
        folder.mkdir()

    def submit(self, program: Path, roles: Mapping[str, int], *, mode: str) -> None:
        env = {
            "FOLDER": str(self._folder),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "2",
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        container = {
            "name": "tensorflow",
            "image": "local",
            "command": [sys.executable, str(program)],
            "env": [{"name": key, "value": value} for key, value in env.items()],
        }
        # The local node mounts no tokens, which a real API server adds to each pod.
        template = {"containers": [container], "automountServiceAccountToken": False}
        specs = {
            kind: replica(count, restart="ExitCode", **template) for kind, count in roles.items()
        }
        spec: Json = {"tfReplicaSpecs": specs, "runPolicy": {"cleanPodPolicy": "Running"}}
        if "Chief" not in roles:
            spec["successPolicy"] = "AllWorkers"
        body = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": {"name": self.name, "annotations": {RECOVERY: mode}},
            "spec": spec,
        }
        self._cluster.call("POST", JOBS, body)

    def finish(self) -> None:
        """Let the programs end, and wait until the job has."""
        (self._folder / "finish").touch()
        self.until("it ends", self.is_over)

    def history(self, replica: str) -> list[tuple[int, int]]:
        """Process and step of each step that a replica has made."""
        path = self._folder / replica
        lines = path.read_text().splitlines() if path.exists() else []
        pairs = [line.split() for line in lines]
        return [(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2]

    def last_step(self, replica: str) -> int:
        return self.history(replica)[-1][1]

    def verdict(self) -> str:
        conditions = self.status().get("conditions", [])
        found = [each["type"] for each in conditions if each["status"] == "True"]
        return next((each for each in found if each in {"Succeeded", "Failed"}), "")

    def is_over(self) -> bool:
        return bool(self.verdict())

    def status(self) -> Json:
        return dict(self._cluster.call("GET", f"{JOBS}/{self.name}").get("status", {}))

    def causes(self) -> list[tuple[str, str]]:
        """The cause of each incident, with each replica that failed of it."""
        incidents = self.status().get("diagnosis", {}).get("incidents", [])
        return [(each["cause"], one) for each in incidents for one in _failed(each)]

    def restarts(self) -> int:
        found = self.status().get("replicaStatuses", {}).values()
        return sum(each.get("restarts", 0) for each in found)

    def uids(self) -> dict[str, str]:
        items = self._cluster.call("GET", PODS)["items"]
        prefix = f"{self.name}-"
        own = [each["metadata"] for each in items if each["metadata"]["name"].startswith(prefix)]
        return {meta["name"].removeprefix(prefix): meta["uid"] for meta in own}

    def processes(self) -> dict[str, Process]:
        """The processes that run now, by replica."""
        prefix = f"{self.name}-"
        found = process_table.replicas(self._cluster.running())
        return {
            each.host.removeprefix(prefix): each for each in found if each.host.startswith(prefix)
        }

    def steps(self, replicas: Sequence[str]) -> dict[str, int]:
        """How many steps each of them has made, in all its processes."""
        return {each: len(self.history(each)) for each in replicas}

    def until_all_train(
        self, replicas: Sequence[str], *, since: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Wait until they have made a step, after those in `since`, or the job is over."""
        self.until("all train", lambda: self.is_over() or self._train(replicas, since))

    def _train(self, replicas: Sequence[str], since: Mapping[str, int]) -> bool:
        """Whether each has made a step, after those in `since`, in the process that runs now."""
        running = self.processes()
        for each in replicas:
            made = self.history(each)
            if each not in running or len(made) <= since.get(each, 0):
                return False
            if made[-1][0] != running[each].pid:
                return False
        return True

    def until(self, what: str, is_so: Callable[[], object]) -> None:
        told = f"{self.name}: {what}"
        self._cluster.until(told, is_so, seconds=_PATIENCE, every=_POLL_SECONDS)


def _failed(incident: Json) -> list[str]:
    """The replica that an incident began with, and those that failed alike."""
    alike = [
        f"{kind}-{index}"
        for kind, text in incident.get("alike", {}).items()
        for index in sorted(indexes.parse(text, below=_MOST_REPLICAS))
    ]
    return [incident["replica"], *alike]


class Kills:
    """The kills of a test, each with the time until training went on, in seconds."""

    def __init__(self, title: str, *, seed: int) -> None:
        self._title = f"{title}, seed {seed}"
        self._draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self._times: dict[str, list[float]] = {}
        self.count = 0

    def choose(self, replicas: Sequence[str]) -> str:
        return self._draw.choice(replicas)

    def one(self, job: ProgramJob, victim: str, *, trainers: Sequence[str]) -> None:
        """Kill a replica while all train, and wait until all train again or the job is over."""
        job.until_all_train(trainers)
        time.sleep(2 * self._draw.random())
        process = job.processes().get(victim)
        is_killed = process is not None and process.kill()
        assert is_killed, f"{self._title}: {victim} has ended by itself: {job.status()}"
        since = time.monotonic()
        self.count += 1
        job.until(
            f"{victim} is back",
            lambda: job.is_over() or job.processes().get(victim, process) != process,
        )
        back = time.monotonic() - since
        job.until_all_train(trainers, since=job.steps(trainers))
        took = time.monotonic() - since
        told = job.verdict() or f"back after {back:.1f} s, trains"
        if not job.is_over():
            self._times.setdefault(victim.rpartition("-")[0], []).append(took)
        load = f"load {os.getloadavg()[0]:.0f}"
        self._say(f"kill {self.count}, {victim}: {told} after {took:.1f} s, {load}")

    def sum_up(self) -> None:
        """The times by type of the killed replica: a job misses some more than others."""
        for kind, times in sorted(self._times.items()):
            middle, most = median(times), max(times)
            self._say(f"{len(times)} kills of {kind}: median {middle:.1f} s, longest {most:.1f} s")

    def _say(self, text: str) -> None:
        print(f"{self._title}: {text}", flush=True)
