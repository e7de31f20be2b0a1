"""Pods that are evicted, deleted or drained on a real node, whatever their programs do about it.

EVICTIONS sets how many are evicted in all; the default is one round of every combination.
"""

import itertools
import time
from collections.abc import Iterable
from functools import partial

import pytest

from tests.support.node.client import (
    Json,
    Namespace,
    conditions_of,
    rounds_of,
    tfjob,
    until,
)

FOREVER: tuple[str, ...] = ()
ENDS = {
    "exits 0": ("--on-term", "0"),
    "exits 1": ("--on-term", "1"),
    "exits 143": ("--on-term", "143"),
    "ignores SIGTERM": ("--ignore-term",),
}
POLICIES = ("Never", "OnFailure", "Always", "ExitCode")
ROLES = ("Chief", "PS", "Worker", "Evaluator")
COMBINATIONS = list(itertools.product(ROLES, POLICIES, ENDS))
ROUNDS = rounds_of("EVICTIONS", len(COMBINATIONS))
GRACE_SECONDS = 3
FIFTH_DELAY_SECONDS = 40
"""How long a replica waits that has failed that often; a disrupted one does not wait."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_evicted_replica_is_treated_as_its_policy_says(
    namespace: Namespace, role: str, policy: str, number: int
) -> None:
    """One job for each way in which a program can end on SIGTERM, all at the same time."""
    names = {end: f"j{place}" for place, end in enumerate(ENDS)}
    for end, name in names.items():
        namespace.create(job_with(role, policy, name=name, words=ENDS[end]))
    victims = {name: f"{name}-{role.lower()}-0" for name in names.values()}
    pods = namespace.until_running(*every_pod(role, names.values()))
    for pod in victims.values():
        namespace.evict(pod)
    for name, pod in victims.items():
        uid = pods[pod]["metadata"]["uid"]
        if policy == "Never":
            job = namespace.until_condition("Failed", name)
            assert "evict" in job["status"]["diagnosis"]["message"].lower()
        else:
            namespace.until_replaced(pod, uid)
            is_well(namespace, name, others=uids_of(pods, name, but=pod))


def job_with(role: str, policy: str, *, name: str, words: tuple[str, ...]) -> Json:
    """A job with the role in question, which gets the words, and another that runs on."""
    roles = dict.fromkeys(roles_of(role), (1, FOREVER)) | {role: (1, words)}
    job = tfjob(roles, name=name, restart=policy)
    for each in job["spec"]["tfReplicaSpecs"].values():
        each["template"]["spec"]["terminationGracePeriodSeconds"] = GRACE_SECONDS
    return job


def roles_of(role: str) -> tuple[str, str]:
    return (role, "Worker" if role == "Chief" else "Chief")


def every_pod(role: str, names: Iterable[str]) -> list[str]:
    return [f"{name}-{each.lower()}-0" for name in names for each in roles_of(role)]


def uids_of(pods: dict[str, Json], job: str, *, but: str) -> set[str]:
    own = {name: pod for name, pod in pods.items() if name.startswith(f"{job}-") and name != but}
    return {pod["metadata"]["uid"] for pod in own.values()}


def is_well(namespace: Namespace, name: str, *, others: set[str]) -> None:
    """The job goes on, nothing was counted as a failure, and the other pods are the same."""
    job = until("Running again", lambda: _running(namespace, name))
    assert "Failed" not in conditions_of(job)
    assert "Succeeded" not in conditions_of(job)
    counted = [each.get("restarts", 0) for each in job["status"]["replicaStatuses"].values()]
    assert sum(counted) == 0
    assert others <= {pod["metadata"]["uid"] for pod in namespace.pods().values()}


def _running(namespace: Namespace, name: str) -> Json | None:
    job = namespace.job(name)
    return job if "Running" in conditions_of(job) else None


def test_replacement_is_asked_for_at_once_however_often(namespace: Namespace) -> None:
    """From the end of the disrupted pod to the creation of the next, six times in a row."""
    seconds = []
    namespace.create(job_with("Worker", "OnFailure", name="j", words=("--on-term", "0")))
    for _ in range(6):
        pod = namespace.until_running("j-worker-0")["j-worker-0"]
        namespace.evict("j-worker-0")
        uid = pod["metadata"]["uid"]
        gone = until("the old pod is gone", partial(_without, namespace, uid))
        replaced = namespace.until_replaced("j-worker-0", uid)
        created = _seconds(replaced["metadata"]["creationTimestamp"])
        # Both clocks are the node's; creation times are cut to the second.
        seconds.append(created - gone)
    print("seconds to the replacement:", ", ".join(f"{each:.1f}" for each in seconds))
    assert max(seconds) < FIFTH_DELAY_SECONDS


def _without(namespace: Namespace, uid: str) -> float | None:
    uids = {pod["metadata"]["uid"] for pod in namespace.pods().values()}
    return None if uid in uids else time.time()


def _seconds(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone


def test_worker_that_is_deleted_and_exits_0_has_not_succeeded(namespace: Namespace) -> None:
    namespace.create(tfjob({"Worker": (2, ("--on-term", "0"))}, restart="OnFailure"))
    pods = namespace.until_running("j-worker-0", "j-worker-1")
    namespace.delete_pod("j-worker-0")
    namespace.until_replaced("j-worker-0", pods["j-worker-0"]["metadata"]["uid"])
    assert "Succeeded" not in conditions_of(namespace.job())
