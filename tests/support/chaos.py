"""Kills processes of a local cluster at random times while jobs run.

Every draw comes from one seed, and a failure names it with all kills so far. What is checked is the
contract: a killed replica has exit code 137 and the restart policy decides; a killed operator or
API server changes no verdict; acknowledged writes stay; nothing runs twice.
"""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.support import process_table
from tests.support.controlplane.endpoint import ApiError
from tests.support.local_cluster import LocalCluster
from tests.support.patience import PATIENCE

Json = dict[str, Any]
KILLED = 137
_PAUSE = 0.05
_MOST_KILLS = 6
"""Kills per job. Kills that end no container have no other limit."""
_HARMLESS = frozenset({"operator", "apiserver"})
_PLURALS = {
    "TFJob": "/apis/kubeflow.org/v1/namespaces/{}/tfjobs",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
}


@dataclass
class Round:
    """One job and what was done to it."""

    namespace: str
    job: Json
    hits: int = 0
    """Replicas that a kill certainly ended."""
    near: int = 0
    """Containers that were about to begin or to end when a kill came."""
    told: list[str] = field(default_factory=list)

    @property
    def losses(self) -> int:
        return self.hits + self.near

    @property
    def path(self) -> str:
        jobs = _PLURALS["TFJob"].format(self.namespace)
        return f"{jobs}/{self.job['metadata']['name']}"

    @property
    def policies(self) -> set[str]:
        replicas = self.job["spec"]["tfReplicaSpecs"].values()
        return {str(each.get("restartPolicy", "Never")) for each in replicas}


class Writer:
    """Writes objects all the time and remembers which of them were acknowledged."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.acknowledged: dict[str, str] = {}

    def __enter__(self) -> "Writer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def lost(self) -> dict[str, str]:
        """Acknowledged objects that are missing or changed."""
        found = self._cluster.call("GET", "/api/v1/namespaces/default/configmaps")["items"]
        kept = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}
        made = dict(self.acknowledged)
        return {name: made[name] for name in made if kept.get(name) != made[name]}

    def _write(self) -> None:
        number = 0
        while not self._is_over.wait(_PAUSE):
            number += 1
            body = {"metadata": {"name": f"note-{number}"}}
            with suppress(OSError, ApiError):
                path = "/api/v1/namespaces/default/configmaps"
                made = self._cluster.call("POST", path, body)["metadata"]
                self.acknowledged[made["name"]] = made["resourceVersion"]


class Chaos:
    """Rounds of jobs on one cluster until enough has been killed."""

    def __init__(self, cluster: LocalCluster, *, seed: int, span: float) -> None:
        self.kills = 0
        self._cluster = cluster
        self._seed = seed
        self._draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self._span = span
        self._rounds: list[Round] = []

    def play(self, documents: Sequence[Json], *, most: int, limit: float) -> Round:
        """One job from its creation to its verdict; up to `most` containers are lost on the way."""
        current = self._submit(documents)
        self._rounds.append(current)
        try:
            while current.losses < most and len(current.told) < _MOST_KILLS:
                if self._is_over(current, within=self._span * self._draw.random()):
                    break
                self._kill(current)
            what = f"{current.path} has a verdict"
            self._cluster.until(what, lambda: self._is_over(current), seconds=limit)
            self._judge(current)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story()}") from error
        return current

    def story(self) -> str:
        """The seed, and every kill so far."""
        lines = [f"  {each.path}: {', '.join(each.told) or 'spared'}" for each in self._rounds]
        return "\n".join([f"seed {self._seed}, {self.kills} kills:", *lines])

    def _submit(self, documents: Sequence[Json]) -> Round:
        namespace = f"round-{len(self._rounds)}"
        self._cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for each in documents:
            self._cluster.call("POST", _PLURALS[each["kind"]].format(namespace), each)
        job = next(each for each in documents if each["kind"] == "TFJob")
        return Round(namespace=namespace, job=job)

    def _kill(self, current: Round) -> None:
        """Kill one process of one kind, the kinds being equally likely."""
        found = self._running()
        choices: dict[str, Sequence[process_table.Process]] = {
            "replica": process_table.replicas(found),
            "supervisor": process_table.supervisors(found),
        }
        kinds = [*self._cluster.parts, *(kind for kind in choices if choices[kind])]
        kind = self._draw.choice(kinds)
        if kind in self._cluster.parts:
            self._kill_part(kind, current)
        else:
            self._kill_process(kind, self._draw.choice(choices[kind]), current)

    def _kill_part(self, part: str, current: Round) -> None:
        self._cluster.pause(part)
        found = self._running()
        alive = [f"{each.host}" for each in process_table.replicas(found)]
        self._cluster.kill(part)
        self.kills += 1
        if part not in _HARMLESS:
            current.hits += len(alive)
            current.near += len(process_table.supervisors(found)) - len(alive)
        current.told.append(f"{part} ({', '.join(alive) or 'nothing'} running)")
        self._cluster.start(part)

    def _kill_process(self, kind: str, process: process_table.Process, current: Round) -> None:
        if not process.kill():
            return
        self.kills += 1
        current.hits += kind == "replica"
        current.near += kind == "supervisor"
        current.told.append(f"{kind} {process.run}")

    def _running(self) -> list[process_table.Process]:
        found = self._cluster.running()
        assert not process_table.twice(found), (
            f"one replica runs twice: {process_table.twice(found)}"
        )
        return found

    def _is_over(self, current: Round, *, within: float = 0.0) -> bool:
        """Whether the job has its verdict, now or within some seconds."""
        deadline = time.monotonic() + within
        while True:
            with suppress(OSError):
                if self._verdict(current):
                    return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, _PAUSE))

    def _verdict(self, current: Round) -> str:
        job = self._cluster.call("GET", current.path)
        conditions = job.get("status", {}).get("conditions", [])
        found = [each["type"] for each in conditions if each["status"] == "True"]
        return next((each for each in found if each in {"Succeeded", "Failed"}), "")

    def _judge(self, current: Round) -> None:
        """The verdict is what the contract promises for what happened."""
        verdict, containers = self._verdict(current), self._containers(current)
        codes = {each["state"].get("terminated", {}).get("exitCode") for each in containers}
        what = f"{current.path} has {verdict}, exit codes {codes}"
        if current.policies != {"Never"}:
            assert verdict == "Succeeded", what
            return
        assert not any(each["restartCount"] for each in containers), f"{what}, restarted"
        # A kill may come when a program is about to end by itself.
        assert codes == ({KILLED} if verdict == "Failed" else {0}), what
        assert verdict == "Succeeded" or current.losses, f"{what}, and no kill was near"

    def _containers(self, current: Round) -> list[Json]:
        path = f"/api/v1/namespaces/{current.namespace}/pods"
        pods = self._cluster.call("GET", path)["items"]
        return [each for pod in pods for each in pod["status"]["containerStatuses"]]


def assert_nothing_is_left(cluster: LocalCluster) -> None:
    """After the last part has ended, no container process is left and no port is open."""
    deadline = time.monotonic() + PATIENCE
    while (left := (cluster.running(), cluster.open_ports())) != ([], {}):
        assert time.monotonic() < deadline, f"processes and ports that are left: {left}"
        time.sleep(_PAUSE)
