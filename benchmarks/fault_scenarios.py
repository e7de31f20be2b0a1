"""Faults that users of training operators meet, each with what must come of it.

A scenario returns if the operator does what is demanded, and raises NotSo with what it did. Those
marked as disruptive stop the operator or the API server and run alone.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple

from benchmarks.fault_trial import Trial
from tests.support.controlplane.endpoint import ApiError

WORKER: Final = "j-worker-0"


class Scenario(NamedTuple):
    title: str
    demand: str
    play: Callable[[Trial], Awaitable[None]]
    is_disruptive: bool = False


async def succeeded_pod_deleted(trial: Trial) -> None:
    await trial.submit("W2", restart="OnFailure", successPolicy="AllWorkers")
    await trial.running(WORKER, "j-worker-1")
    await trial.kubelet.finish("j-worker-1", exit_code=0)
    await trial.calm()
    await trial.call("DELETE", f"{trial.core('pods')}/j-worker-1")
    await trial.calm()
    trial.demand(trial.lives("j-worker-1") == 1, "it runs again")


def running_pod_deleted(policy: str) -> Callable[[Trial], Awaitable[None]]:
    async def play(trial: Trial) -> None:
        await trial.submit("W1", restart=policy)
        await trial.running(WORKER)
        await trial.comes_to("Running")
        await trial.call("DELETE", f"{trial.core('pods')}/{WORKER}")
        await trial.replaced(WORKER)
        await trial.running(WORKER)
        await trial.calm()
        conditions = await trial.conditions()
        trial.demand("Failed" not in conditions, f"shown as {', '.join(conditions)}")

    return play


async def disrupted_pod(trial: Trial) -> None:
    await trial.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 1})
    for lives in (1, 2, 3):
        await trial.running(WORKER)
        if lives < 3:
            await trial.kubelet.disrupt(WORKER)
            await trial.eventually("replaced", _has_lived(trial, lives + 1))
    await trial.calm()
    conditions = await trial.conditions()
    trial.demand("Failed" not in conditions, "two evictions used up a backoffLimit of 1")


def _has_lived(trial: Trial, count: int) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return trial.lives() >= count

    return is_so


async def _fail_until_the_end(trial: Trial, *, limit: int, with_restarts: bool = False) -> None:
    await trial.submit("W1", restart="ExitCode", run_policy={"backoffLimit": limit})
    for lives in range(1, limit + 2):
        await trial.eventually(f"life {lives}", _has_lived(trial, lives))
        await trial.running(WORKER)
        await trial.kubelet.finish(WORKER, exit_code=137)
        if with_restarts:
            await trial.stop_operator()
            await trial.start_operator()
    await trial.comes_to("Failed")
    await trial.calm()
    trial.demand(trial.lives() == limit + 1, f"{trial.lives()} pods instead of {limit + 1}")


async def backoff_limit(trial: Trial) -> None:
    await _fail_until_the_end(trial, limit=3)


async def operator_killed_between_failures(trial: Trial) -> None:
    await _fail_until_the_end(trial, limit=3, with_restarts=True)


async def second_writer(trial: Trial) -> None:
    await trial.submit("W1")

    async def write() -> None:
        for number in range(10_000):
            await trial.patch({"metadata": {"annotations": {"n": str(number)}}})
            await asyncio.sleep(0.05)

    writing = asyncio.create_task(write())
    try:
        await trial.comes_to("Running")
        await trial.kubelet.finish(WORKER, exit_code=0)
        await trial.comes_to("Succeeded")
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def suspension_flips(trial: Trial) -> None:
    await trial.submit("W2")
    for number in range(21):
        await trial.patch({"spec": {"runPolicy": {"suspend": number % 2 == 0}}})
        await asyncio.sleep(0.1)
    await trial.patch({"spec": {"runPolicy": {"suspend": False}}})
    await trial.running(WORKER, "j-worker-1", seconds=90)
    await trial.comes_to("Running")
    conditions = await trial.conditions()
    trial.demand("Suspended" not in conditions, f"shown as {', '.join(conditions)}")


async def expires_while_away(trial: Trial) -> None:
    await trial.submit("W1", run_policy={"ttlSecondsAfterFinished": 6})
    await trial.running(WORKER)
    await trial.kubelet.finish(WORKER, exit_code=0)
    await trial.comes_to("Succeeded")
    await trial.stop_operator()
    await asyncio.sleep(7)
    await trial.start_operator()
    await trial.comes_to("gone")


async def recreated_at_once(trial: Trial) -> None:
    await trial.submit("W1")
    await trial.running(WORKER)
    await trial.call("DELETE", f"{trial.jobs}/j")
    again = await trial.submit("W1")
    await trial.replaced(WORKER)
    await trial.comes_to("Running")
    owner = (await trial.items("pods"))[WORKER]["metadata"]["ownerReferences"][0]["uid"]
    trial.demand(owner == again["metadata"]["uid"], "the pod belongs to the old job")


async def forged_pod_elsewhere(trial: Trial) -> None:
    job = await trial.submit("W1", restart="ExitCode")
    await trial.running(WORKER)
    pod = (await trial.items("pods"))[WORKER]
    forged = {
        "metadata": {
            "name": WORKER,
            "labels": pod["metadata"]["labels"],
            "ownerReferences": pod["metadata"]["ownerReferences"],
        },
        "spec": {"containers": [{"name": "tensorflow", "image": "example.invalid/x"}]},
    }
    path = "/api/v1/namespaces/default/pods"
    await trial.call("POST", path, forged)
    with suppress(ApiError):
        failed = {"status": {"phase": "Failed", "reason": "Evicted"}}
        await trial.call("PATCH", f"{path}/{WORKER}/status", failed)
    await trial.calm()
    conditions = await trial.conditions()
    trial.demand(conditions[-1:] == ["Running"], f"shown as {', '.join(conditions)}")
    trial.demand(trial.lives() == 1, f"{trial.lives()} pods instead of 1 for {job['kind']}")
    with suppress(ApiError):
        await trial.call("DELETE", f"{path}/{WORKER}?gracePeriodSeconds=0")


async def quick_restarts(trial: Trial) -> None:
    names = [f"q{number}" for number in range(10)]
    for name in names:
        await trial.submit("W2", name=name)
        await trial.stop_operator()
        await trial.start_operator()
    pods = [f"{name}-worker-{index}" for name in names for index in range(2)]
    await trial.running(*pods)
    await trial.calm()
    twice = [pod for pod in pods if trial.lives(pod) != 1]
    trial.demand(not twice, f"made more than once: {', '.join(twice)}")


async def quota_freed(trial: Trial) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    await trial.call("POST", trial.core("resourcequotas"), quota)

    async def is_counted() -> bool:
        found = await trial.items("resourcequotas")
        return bool(found["few"].get("status", {}).get("hard"))

    await trial.eventually("the quota is counted", is_counted)
    await trial.submit("W3")
    await trial.running(WORKER)
    await asyncio.sleep(10)
    await trial.call("DELETE", f"{trial.core('resourcequotas')}/few")
    await trial.running("j-worker-1", "j-worker-2", seconds=60)


async def server_away(trial: Trial) -> None:
    await trial.submit("W1", restart="ExitCode")
    await trial.running(WORKER)
    await asyncio.to_thread(trial.plane.stop_apiserver)
    await asyncio.sleep(20)
    await asyncio.to_thread(trial.plane.start_apiserver)
    await trial.kubelet.finish(WORKER, exit_code=0)
    await trial.comes_to("Succeeded", seconds=60)
    trial.demand(trial.lives() == 1, f"{trial.lives()} pods instead of 1")


async def failed_while_away(trial: Trial) -> None:
    await trial.submit("W1", restart="Never")
    await trial.running(WORKER)
    await trial.comes_to("Running")
    await trial.stop_operator()
    await trial.kubelet.finish(WORKER, exit_code=1)
    await trial.start_operator()
    await trial.comes_to("Failed")
    trial.demand(trial.lives() == 1, f"{trial.lives()} pods instead of 1")


async def vanished_while_away(trial: Trial) -> None:
    await trial.submit("W2", restart="OnFailure", successPolicy="AllWorkers")
    await trial.running(WORKER, "j-worker-1")
    await trial.kubelet.finish("j-worker-1", exit_code=0)
    await trial.calm()
    await trial.stop_operator()
    await trial.call("DELETE", f"{trial.core('pods')}/j-worker-1?gracePeriodSeconds=0")
    await trial.start_operator()
    await trial.calm()
    trial.demand(trial.lives("j-worker-1") == 1, "it runs again")


async def deadline_while_away(trial: Trial) -> None:
    await trial.submit("W1", run_policy={"activeDeadlineSeconds": 5})
    await trial.running(WORKER)
    await trial.comes_to("Running")
    await trial.stop_operator()
    await asyncio.sleep(6)
    await trial.start_operator()
    await trial.comes_to("Failed")


async def deleted_while_away(trial: Trial) -> None:
    await trial.submit("W2")
    await trial.running(WORKER, "j-worker-1")
    await trial.stop_operator()
    await trial.call("DELETE", f"{trial.jobs}/j")
    await trial.start_operator()

    async def is_empty() -> bool:
        return not await trial.items("pods") and not await trial.items("services")

    await trial.eventually("nothing is left", is_empty)


async def service_deleted(trial: Trial) -> None:
    await trial.submit("P1 W1")
    await trial.running("j-ps-0", WORKER)
    await trial.comes_to("Running")
    await trial.call("DELETE", f"{trial.core('services')}/j-ps-0")

    async def is_back() -> bool:
        return "j-ps-0" in await trial.items("services")

    await trial.eventually("the service is back", is_back)


async def clean_up_after_success(trial: Trial) -> None:
    await trial.submit("C1 P1", run_policy={"cleanPodPolicy": "All"})
    await trial.running("j-chief-0", "j-ps-0")
    await trial.comes_to("Running")
    await trial.stop_operator()
    await trial.kubelet.finish("j-chief-0", exit_code=0)
    await trial.start_operator()
    await trial.comes_to("Succeeded")

    async def is_empty() -> bool:
        return not await trial.items("pods")

    await trial.eventually("no pod is left", is_empty)


async def bad_job_beside(trial: Trial) -> None:
    with suppress(ApiError):
        await trial.submit("W1", name="bad", run_policy={"backoffLimit": -5})
    await trial.submit("W1")
    await trial.running(WORKER)
    await trial.comes_to("Running")


SCENARIOS: Final = (
    Scenario("succeeded pod deleted", "not run again", succeeded_pod_deleted),
    Scenario("running pod deleted, OnFailure", "replaced", running_pod_deleted("OnFailure")),
    Scenario("running pod deleted, ExitCode", "replaced", running_pod_deleted("ExitCode")),
    Scenario("pod evicted twice, backoffLimit 1", "replaced, not counted", disrupted_pod),
    Scenario("exit code 137 every time, backoffLimit 3", "exactly 4 pods", backoff_limit),
    Scenario("another writer every 50 ms", "runs and succeeds", second_writer),
    Scenario("20 quick flips of suspend", "the last value takes effect", suspension_flips),
    Scenario("deleted and created again immediately", "gets its own pods", recreated_at_once),
    Scenario("forged pod in another namespace", "has no effect", forged_pod_elsewhere),
    Scenario("quota exceeded, then freed", "continues", quota_freed),
    Scenario("service deleted", "recreated", service_deleted),
    Scenario("invalid job beside a valid one", "the valid one runs", bad_job_beside),
    Scenario(
        "operator killed after each failure, backoffLimit 3",
        "exactly 4 pods",
        operator_killed_between_failures,
        is_disruptive=True,
    ),
    Scenario(
        "TTL expires while the operator is down",
        "deleted",
        expires_while_away,
        is_disruptive=True,
    ),
    Scenario(
        "pod fails while the operator is down", "Failed", failed_while_away, is_disruptive=True
    ),
    Scenario(
        "succeeded pod is deleted while the operator is down",
        "not run again",
        vanished_while_away,
        is_disruptive=True,
    ),
    Scenario(
        "deadline passes while the operator is down",
        "Failed",
        deadline_while_away,
        is_disruptive=True,
    ),
    Scenario(
        "job deleted while the operator is down",
        "nothing left",
        deleted_while_away,
        is_disruptive=True,
    ),
    Scenario(
        "chief succeeds while the operator is down",
        "cleaned up",
        clean_up_after_success,
        is_disruptive=True,
    ),
    Scenario(
        "10 restarts of the operator while 10 jobs start",
        "each pod created once",
        quick_restarts,
        is_disruptive=True,
    ),
    Scenario("API server down for 20 s", "succeeds", server_away, is_disruptive=True),
)
