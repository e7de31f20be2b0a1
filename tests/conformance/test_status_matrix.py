"""The status of a job whose pods are in given states.

The operator is away while the pods are brought into their states, so that it sees each job as the
contract's table gives it, in one pass; all jobs of the table are played together.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.environment_fixtures import ENVIRONMENTS
from tests.support.environments import Environment
from tests.support.job_fixture import (
    JobFixture,
    condition_of,
    conditions_of,
    counts_of,
    job_fixture_in,
)
from tests.support.tfjobs import tfjob

Json = dict[str, Any]
_RUNNING = ["Created", "Running"]
_DONE = ["Created", "Succeeded"]
_LOST = ["Created", "Failed"]

# Letters are replicas in order of their index: P waits, R runs, S succeeded, s succeeded without a
# word of the container, F failed with exit code 1, K with 130.
ROWS: dict[str, tuple[Json, dict[str, str], list[str], str]] = {
    "r55": (tfjob("C1 W1"), {"chief": "S", "worker": "S"}, _DONE, ""),
    "r56": (tfjob("C1 W1"), {"chief": "R", "worker": "P"}, _RUNNING, ""),
    "r57": (tfjob("C1 W1"), {"chief": "F", "worker": "P"}, _LOST, "1 Chief"),
    "r58": (tfjob("W1"), {"worker": "F"}, _LOST, "1 Worker"),
    "r59": (tfjob("W1"), {"worker": "S"}, _DONE, ""),
    "r60": (tfjob("W1"), {"worker": "R"}, _RUNNING, ""),
    "r61": (tfjob("W4 P2"), {"worker": "sSRR", "ps": "RR"}, _RUNNING, ""),
    "r62": (tfjob("W4 P2"), {"worker": "RRFF", "ps": "RR"}, _LOST, "2 Worker"),
    "r63": (tfjob("W4 P2"), {"worker": "FFSS", "ps": "RR"}, _LOST, "2 Worker"),
    "r64": (tfjob("W4 P2"), {"worker": "SRRR", "ps": "RR"}, _DONE, ""),
    "r65": (tfjob("W4", successPolicy="AllWorkers"), {"worker": "SRRR"}, _RUNNING, ""),
    "r66": (tfjob("W4", successPolicy="AllWorkers"), {"worker": "SSSS"}, _DONE, ""),
    "r67": (tfjob("W4", successPolicy="AllWorkers"), {"worker": "SRRF"}, _LOST, "1 Worker"),
    "r68": (
        tfjob("C1 W4 P2"),
        {"chief": "R", "worker": "FFFF", "ps": "RR"},
        ["Created", "Running=F", "Failed"],
        "4 Worker",
    ),
    "r69": (tfjob("C1 W4 P2"), {"chief": "R", "worker": "SSSS", "ps": "RR"}, _RUNNING, ""),
    "r70": (
        tfjob("C1 W4 P2"),
        {"chief": "R", "worker": "SSSS", "ps": "RF"},
        ["Created", "Running=F", "Failed"],
        "1 PS",
    ),
    "r71": (tfjob("C1 W4 P2"), {"chief": "F", "worker": "SSSS", "ps": "RR"}, _LOST, "1 Chief"),
    "r72": (tfjob("C1 W4 P2"), {"chief": "S", "worker": "FFFF", "ps": "RR"}, _DONE, ""),
    "ps-only": (tfjob("P2"), {"ps": "SS"}, _DONE, ""),
}


async def _act(fixture: JobFixture, pod: str, letter: str) -> None:
    kubelet = fixture.kubelet
    if letter == "s":
        await kubelet.set_phase(pod, "Succeeded")
        path = f"/api/v1/namespaces/{fixture.namespace}/pods/{pod}/status"
        await fixture.call("PATCH", path, {"status": {"containerStatuses": None}})
    elif letter != "P":
        await kubelet.run(pod)
        if letter in "SFK":
            await kubelet.finish(pod, exit_code={"S": 0, "F": 1, "K": 130}[letter])


async def _played(env: Environment) -> dict[str, Json]:
    async with job_fixture_in(env) as fixture:
        for name, (job, *_) in ROWS.items():
            await fixture.create({**job, "metadata": {"name": name}})
        for name in ROWS:
            await fixture.until(
                "started", lambda job: "startTime" in job.get("status", {}), name=name
            )
        pods = [
            f"{name}-{role}-{index}"
            for name, (_, states, *_) in ROWS.items()
            for role, letters in states.items()
            for index in range(len(letters))
        ]
        await fixture.children(*pods)
        env.operator.kill()
        for name, (_, states, *_) in ROWS.items():
            for role, letters in states.items():
                for index, letter in enumerate(letters):
                    await _act(fixture, f"{name}-{role}-{index}", letter)
        env.operator.start()
        return {name: await fixture.comes_to(row[2][-1], name=name) for name, row in ROWS.items()}


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def matrix(request: pytest.FixtureRequest) -> Iterator[dict[str, Json]]:
    """Every job of the table after one pass over its pods, in each environment in turn."""
    env: Environment = request.getfixturevalue(f"{request.param}_env")
    env.operator.start()
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(asyncio.run, _played(env)).result()


@pytest.mark.scenario(55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 74)
@pytest.mark.parametrize("name", ROWS)
def test_pods_make_the_conditions_of_the_table(matrix: dict[str, Json], name: str) -> None:
    _, _, conditions, fault = ROWS[name]
    job = matrix[name]
    found = conditions_of(job)
    # Running may have been seen before the end, and then it is false at the end.
    assert [each for each in found if each != "Running=F"] == [
        each for each in conditions if each != "Running=F"
    ]
    if "Running=F" in conditions:
        assert found == conditions
    if fault:
        wanted = f"has failed because {fault} replica(s) failed."
        assert condition_of(job, "Failed")["message"].endswith(wanted)
        assert "completionTime" in job["status"]


@pytest.mark.scenario(63, 69, 76)
def test_replicas_are_counted_by_their_phase(matrix: dict[str, Json]) -> None:
    assert counts_of(matrix["r63"]) == {"succeeded": 2, "failed": 2}
    assert counts_of(matrix["r69"]) == {"succeeded": 4}
    assert counts_of(matrix["r69"], "PS") == {"active": 2}


@pytest.mark.scenario(73)
async def test_all_retryable_failures_restart_and_none_fails_the_job(fixture: JobFixture) -> None:
    names = ["j-chief-0", "j-ps-0", "j-ps-1", *(f"j-worker-{index}" for index in range(4))]
    await fixture.submit("C1 P2 W4", restart="ExitCode")
    await fixture.children(*names)
    await fixture.until("started", lambda job: "startTime" in job.get("status", {}))
    fixture.env.operator.kill()
    for name in names:
        await _act(fixture, name, "R" if "ps" in name else "K")
    before = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
    fixture.env.operator.start()
    job = await fixture.until("restarts", lambda job: _restarts(job) == 5)
    assert "Failed" not in conditions_of(job)

    async def are_replaced() -> bool:
        after = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
        kept = {name for name in after if before[name] == after[name]}
        return set(after) == set(names) and kept == {"j-ps-0", "j-ps-1"}

    await fixture.eventually("all but the servers are replaced", are_replaced)


def _restarts(job: Json) -> int:
    entries = job["status"]["replicaStatuses"].values()
    return sum(each.get("restarts", 0) for each in entries)
