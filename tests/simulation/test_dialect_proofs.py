"""Exactly once in the other dialects: what is counted under crashes, errors and late watches.

Whatever has no meaning in a dialect is not here: a TfJob has neither a limit nor a suspension.
"""

import asyncio
from typing import Any

import pytest

from tests.support.dialect_jobs import entry, tf_job, training_job
from tests.support.simulation.counted import FAULTY, PODS, CountingCluster, counted, replica_of
from tfjob.dialects.tensorflow.v1alpha1 import TensorflowV1alpha1
from tfjob.dialects.tensorstack.v1beta1 import TensorStackV1beta1

Json = dict[str, Any]
TFJOBS = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
TRAININGS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/tensorflowtrainingjobs"
SEEDS = range(1, 9)
LIMITS = (0, 1, 2, 3)
FLIPS = 8


@pytest.mark.parametrize("seed", SEEDS)
def test_training_restarts_exactly_as_often_as_its_limit_says(seed: int) -> None:
    limit = LIMITS[seed % len(LIMITS)]
    final: Json = {}

    async def act(cluster: CountingCluster) -> None:
        job = training_job("worker=1", restart="OnFailure", runPolicy={"backoffLimit": limit})
        await cluster.ask("POST", TRAININGS, job)
        await asyncio.sleep(FAULTY)
        await cluster.come_to_rest()
        final.update(await cluster.ask("GET", f"{TRAININGS}/j"))

    cluster = counted(
        act, seed=seed, dialect=TensorStackV1beta1(), exit_codes={"j-": [137] * (limit + 5)}
    )
    assert final["status"]["phase"] == "Failed"
    assert final["status"].get("backoffCount", 0) == limit
    assert list(cluster.made.values()) == [limit + 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_training_ends_as_asked_however_often_it_is_paused(seed: int) -> None:
    """An odd seed ends paused."""
    final: Json = {}
    left: list[Json] = []

    async def act(cluster: CountingCluster) -> None:
        await cluster.ask("POST", TRAININGS, training_job("worker=2", restart="Never"))
        for flip in range(FLIPS + seed % 2):
            await asyncio.sleep(cluster.chance.uniform(0.0, 40.0))
            await paused(cluster, is_on=flip % 2 == 0)
        await cluster.come_to_rest()
        final.update(await cluster.ask("GET", f"{TRAININGS}/j"))
        left.extend(await cluster.pods())

    counted(act, seed=seed, dialect=TensorStackV1beta1())
    is_paused = seed % 2 == 1
    assert final["status"]["phase"] == ("Paused" if is_paused else "Running")
    assert len(left) == (0 if is_paused else 2)


async def paused(cluster: CountingCluster, *, is_on: bool) -> None:
    job = await cluster.ask("GET", f"{TRAININGS}/j")
    job["spec"]["runMode"] = {"pause": {"enabled": is_on}}
    found = await cluster.server.ask("PUT", f"{TRAININGS}/j", job)
    if found.get("code") == 409:  # The operator has stored a status meanwhile.
        await paused(cluster, is_on=is_on)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("path", [TFJOBS, TRAININGS])
def test_succeeded_pod_that_is_deleted_never_runs_again(path: str, seed: int) -> None:
    """Workers succeed while what decides runs on; each is deleted once the status counts it."""
    deleted: set[str] = set()

    async def act(cluster: CountingCluster) -> None:
        workers = entry("WORKER", 2)
        training = training_job("chief=1 worker=2", restart="OnFailure")
        job = tf_job(entry(), workers) if path == TFJOBS else training
        await cluster.ask("POST", path, job)
        for _ in range(int(FAULTY)):
            await asyncio.sleep(1.0)
            if successes(await cluster.ask("GET", f"{path}/j")) < 2:
                continue
            for pod in await cluster.pods():
                if pod["status"].get("phase") == "Succeeded":
                    deleted.add(replica_of(pod))
                    await cluster.server.ask("DELETE", f"{PODS}/{pod['metadata']['name']}")
        await cluster.come_to_rest()

    dialect = TensorflowV1alpha1() if path == TFJOBS else TensorStackV1beta1()
    cluster = counted(act, seed=seed, dialect=dialect, exit_codes={"worker": [0]})
    assert len(deleted) == 2
    assert {replica: cluster.made[replica] for replica in deleted} == dict.fromkeys(deleted, 1)


def successes(job: Json) -> int:
    """How many workers have succeeded, as the status of the job says."""
    status = job.get("status", {})
    states = [each.get("ReplicasStates", {}) for each in status.get("replicaStatuses", ())]
    return sum(int(each.get("Succeeded", 0)) for each in states) + sum(
        int(each.get("succeeded", 0)) for each in status.get("tasks", ())
    )
