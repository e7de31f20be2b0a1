"""Random jobs whose correct result is known beforehand.

Each replica is judged by its own exit codes alone: what follows from the loss of a peer depends on
the order of events, which is chance here.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.support.tfjobs import tfjob
from tfjob.dialects.job_annotations import RECOVERY

Json = dict[str, Any]
RETRYABLE = 137
PERMANENT = 1


class Expected(msgspec.Struct, frozen=True):
    """A job, what becomes of each of its pods, and the ends that are right."""

    manifest: Json
    exit_codes: Mapping[str, Sequence[int]]
    ends: frozenset[str]
    has_ttl: bool

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def clean_policy(self) -> str:
        return str(self.manifest["spec"]["runPolicy"]["cleanPodPolicy"])

    def most_runs(self, pod: str) -> int:
        """How often a pod of this name may be made: once, and once per failure to make good."""
        restarts = any(
            spec["restartPolicy"] == "ExitCode"
            for spec in self.manifest["spec"]["tfReplicaSpecs"].values()
        )
        return 1 + (self.exit_codes.get(pod, ()).count(RETRYABLE) if restarts else 0)


def random_job(name: str, chance: random.Random) -> Expected:
    has_chief, workers = chance.random() < 0.5, chance.randint(1, 3)
    restart = chance.choice(["Never", "OnFailure", "ExitCode"])
    roles = f"{'C1 ' if has_chief else ''}{'P1 ' if chance.random() < 0.4 else ''}W{workers}"
    policy: Json = {"cleanPodPolicy": chance.choice(["None", "Running", "All"])}
    if chance.random() < 0.2:
        policy["ttlSecondsAfterFinished"] = chance.randint(0, 60)
    trained = [f"{name}-worker-{index}" for index in range(workers)]
    leader = f"{name}-chief-0" if has_chief else trained[0]
    exit_codes = {pod: _fate(restart, chance) for pod in {leader, *trained}}
    manifest = tfjob(roles, name=name, restart=restart, run_policy=policy)
    manifest["metadata"]["annotations"] = {RECOVERY: "Replica"}
    return Expected(
        manifest=manifest,
        exit_codes=exit_codes,
        ends=_ends(exit_codes, leader),
        has_ttl="ttlSecondsAfterFinished" in policy,
    )


def _fate(restart: str, chance: random.Random) -> list[int]:
    """Exit codes one after the other; the last is the end."""
    if restart == "Never":
        return [PERMANENT if chance.random() < 0.15 else 0]
    failures = [RETRYABLE] * chance.choice([0, 1, 2, 3])
    if restart == "ExitCode" and chance.random() < 0.15:
        return [*failures, PERMANENT]
    return [*failures, 0]


def _ends(exit_codes: Mapping[str, Sequence[int]], leader: str) -> frozenset[str]:
    """Where another replica fails for good, the leader may or may not be faster."""
    failing = {pod for pod, codes in exit_codes.items() if codes[-1]}
    if leader in failing:
        return frozenset({"Failed"})
    return frozenset({"Succeeded", "Failed"} if failing else {"Succeeded"})
