"""Replicas of real TensorFlow jobs are killed at random: the jobs go on, and know what happened.

TFJOB_SEED repeats the draws of an earlier run; TFJOB_KILLS asks for another number of kills. The
time from a kill until the killed replica trains again is printed, with the mode of recovery.
"""

import importlib.util
import itertools
import os
import random
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import process_table
from tests.support.chaos import assert_nothing_is_left
from tests.support.local_cluster import WHOLE, LocalCluster
from tests.support.tfjobs import replica
from tfjob.dialects.job_annotations import RECOVERY

SEED = int(os.environ.get("TFJOB_SEED") or secrets.randbelow(1_000_000))
KILLS = int(os.environ.get("TFJOB_KILLS") or 20)
PROGRAMS = Path(__file__).parent / "programs"
PATIENCE = 600.0
MOST_PER_JOB = 3
"""The delay before a restart grows with each failure of a replica; a new job begins anew."""
ENDLESS = 1_000_000
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
PODS = "/api/v1/namespaces/default/pods"
Json = dict[str, Any]


class Played:
    """One job of a program, and what its replicas have written about their progress."""

    def __init__(self, cluster: LocalCluster, folder: Path, name: str) -> None:
        self._cluster = cluster
        self._folder = folder
        self.name = name
        folder.mkdir()

    def submit(self, program: str, roles: Json, *, mode: str, steps: int) -> None:
        env = {
            "FOLDER": str(self._folder),
            "STEPS": str(steps),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TF_NUM_INTRAOP_THREADS": "1",
            "TF_NUM_INTEROP_THREADS": "2",
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        container = {
            "name": "tensorflow",
            "image": "local",
            "command": [sys.executable, str(PROGRAMS / program)],
            "env": [{"name": key, "value": value} for key, value in env.items()],
        }
        specs = {
            kind: replica(count, restart="ExitCode", containers=[container])
            for kind, count in roles.items()
        }
        spec = {"tfReplicaSpecs": specs, "runPolicy": {"cleanPodPolicy": "Running"}}
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
        """Let the programs make their last steps at full speed, and wait for the end."""
        (self._folder / "finish").touch()
        self.until("it ends", self.is_over)

    def progress(self, replica: str) -> tuple[int, int]:
        """The process that trained last, and its step; (0, 0) before the first one."""
        found = self.history(replica)
        return found[-1] if found else (0, 0)

    def history(self, replica: str) -> list[tuple[int, int]]:
        path = self._folder / replica
        lines = path.read_text().splitlines() if path.exists() else []
        pairs = [line.split() for line in lines]
        return [(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2]

    def verdict(self) -> str:
        conditions = self.status().get("conditions", [])
        found = [each["type"] for each in conditions if each["status"] == "True"]
        return next((each for each in found if each in {"Succeeded", "Failed"}), "")

    def status(self) -> Json:
        return dict(self._cluster.call("GET", f"{JOBS}/{self.name}").get("status", {}))

    def uids(self) -> dict[str, str]:
        items = self._cluster.call("GET", PODS)["items"]
        own = [each["metadata"] for each in items if each["metadata"]["name"].startswith(self.name)]
        return {meta["name"].removeprefix(f"{self.name}-"): meta["uid"] for meta in own}

    def process(self, replica: str) -> process_table.Process | None:
        found = process_table.replicas(self._cluster.running())
        own = (each for each in found if each.host == f"{self.name}-{replica}")
        return next(own, None)

    def until(self, what: str, is_so: Any) -> None:
        self._cluster.until(f"{self.name}: {what}", is_so, seconds=PATIENCE)

    def is_over(self) -> bool:
        return bool(self.verdict())

    def trains(self, replicas: Sequence[str]) -> bool:
        """Whether all of them have made a step in the process that runs now."""
        for each in replicas:
            process = self.process(each)
            if process is None or self.progress(each)[0] != process.pid:
                return False
        return True


class Kills:
    """The kills of a test, each with the time until training went on, in seconds."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._draw = random.Random(SEED)  # noqa: S311 - to be repeated, not to be secret
        self.times: list[float] = []
        self.count = 0

    def pause(self) -> float:
        return 2 * self._draw.random()

    def choose(self, replicas: Sequence[str]) -> str:
        return self._draw.choice(replicas)

    def one(self, played: Played, victim: str, *, trainers: Sequence[str]) -> bool:
        """Kill a replica that trains, and wait until all train again or the job is over.

        False if the job was over before.
        """
        played.until("all train", lambda: played.is_over() or played.trains(trainers))
        time.sleep(self.pause())
        process = played.process(victim)
        if played.is_over() or process is None or not process.kill():
            return False
        self.count += 1
        since = time.monotonic()
        played.until(
            f"{victim} is back",
            lambda: (
                played.is_over() or (_is_new(played, victim, process) and played.trains(trainers))
            ),
        )
        took = time.monotonic() - since
        if not played.is_over():
            self.times.append(took)
        print(
            f"{self._title}, seed {SEED}: kill {self.count} of {victim}: {took:.1f} s", flush=True
        )
        return True

    def told(self) -> str:
        found = sorted(self.times)
        middle = found[len(found) // 2] if found else 0.0
        most = found[-1] if found else 0.0
        return f"{self._title}: {self.count} kills, median {middle:.1f} s, longest {most:.1f} s"


def _is_new(played: Played, victim: str, old: process_table.Process) -> bool:
    process = played.process(victim)
    return process is not None and process.pid != old.pid


@contextmanager
def local_cluster(folder: Path) -> Iterator[LocalCluster]:
    assert importlib.util.find_spec("tensorflow"), "NO TENSORFLOW: `make e2e-local` installs it"
    with LocalCluster(folder, workdir=PROGRAMS, parts=WHOLE) as cluster:
        yield cluster
        cluster.end()
        assert_nothing_is_left(cluster)


@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("mode", ["Auto", "Group"])
def test_a_collective_job_survives_the_loss_of_its_workers(tmp_path: Path, mode: str) -> None:
    workers = [f"worker-{index}" for index in range(3)]
    kills = Kills(f"collective, {mode}")
    with local_cluster(tmp_path / "cluster") as cluster:
        while kills.count < KILLS:
            played = Played(cluster, tmp_path / f"job-{kills.count}", f"job-{kills.count}")
            played.submit("collective.py", {"Worker": 3}, mode=mode, steps=150)
            victims = [kills.choose(workers) for _ in range(min(MOST_PER_JOB, KILLS - kills.count))]
            killed = [each for each in victims if kills.one(played, each, trainers=workers)]
            played.finish()
            assert played.verdict() == "Succeeded", played.status()
            assert _causes(played) == [("Killed", each) for each in killed], played.status()
            assert _restarts(played) == len(killed)
            assert {played.progress(each)[1] for each in workers} == {150}
    print(kills.told())


@pytest.mark.timeout(7200, func_only=True)
def test_a_collective_job_under_the_rules_of_training_operator_fails(tmp_path: Path) -> None:
    workers = [f"worker-{index}" for index in range(3)]
    kills = Kills("collective, Replica")
    with local_cluster(tmp_path / "cluster") as cluster:
        played = Played(cluster, tmp_path / "job", "job")
        played.submit("collective.py", {"Worker": 3}, mode="Replica", steps=150)
        assert kills.one(played, "worker-1", trainers=workers)
        played.finish()
        assert played.verdict() == "Failed"
    print(kills.told())


@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("victims", [("chief-0", "worker-0", "worker-1"), ("ps-0",)])
@pytest.mark.parametrize("mode", ["Auto", "Group"])
def test_a_job_with_parameter_servers_resumes_from_its_checkpoint(
    tmp_path: Path, mode: str, victims: Sequence[str]
) -> None:
    kills = Kills(f"parameter servers, {mode}, {'/'.join(victims)}")
    with local_cluster(tmp_path / "cluster") as cluster:
        while kills.count < KILLS:
            played = Played(cluster, tmp_path / f"job-{kills.count}", f"job-{kills.count}")
            roles = {"Chief": 1, "PS": 1, "Worker": 2}
            played.submit("servers.py", roles, mode=mode, steps=150)
            for _ in range(min(MOST_PER_JOB, KILLS - kills.count)):
                kills.one(played, kills.choose(victims), trainers=["chief-0"])
            played.finish()
            assert played.verdict() == "Succeeded", played.status()
            _assert_resumed(played, "chief-0")
    print(kills.told())


@pytest.mark.timeout(7200, func_only=True)
def test_workers_that_need_nobody_keep_their_pods_when_another_is_lost(tmp_path: Path) -> None:
    workers = [f"worker-{index}" for index in range(3)]
    kills = Kills("independent, Auto")
    with local_cluster(tmp_path / "cluster") as cluster:
        while kills.count < KILLS:
            played = Played(cluster, tmp_path / f"job-{kills.count}", f"job-{kills.count}")
            played.submit("independent.py", {"Worker": 3}, mode="Auto", steps=ENDLESS)
            played.until("all train", lambda played=played: played.trains(workers))
            before = played.uids()
            for _ in range(min(MOST_PER_JOB, KILLS - kills.count)):
                assert kills.one(played, "worker-1", trainers=workers)
            after = played.uids()
            assert [before[each] == after[each] for each in workers] == [True, False, True]
            cluster.call("DELETE", f"{JOBS}/{played.name}")
    print(kills.told())


def _causes(played: Played) -> list[tuple[str, str]]:
    incidents = played.status().get("diagnosis", {}).get("incidents", [])
    return [(each["cause"], each["replica"]) for each in incidents]


def _restarts(played: Played) -> int:
    found = played.status().get("replicaStatuses", {}).values()
    return sum(each.get("restarts", 0) for each in found)


def _assert_resumed(played: Played, replica: str) -> None:
    """Each new process goes on from a saved step, which is at most ten steps back."""
    history = played.history(replica)
    for (pid, step), (next_pid, next_step) in itertools.pairwise(history):
        assert next_pid == pid or next_step > step - 10, (pid, step, next_pid, next_step)
