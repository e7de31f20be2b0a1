"""What users of training operators have asked for over the years, as promises that hold."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, condition_of, conditions_of, counts_of, restarts_of

Json = dict[str, Any]


@pytest.mark.scenario("R1")
async def test_replica_that_has_succeeded_is_not_run_again(scene: Scene) -> None:
    scene.puppet.play("j-worker-1", runs, exits(0))
    scene.puppet.play("*", runs)
    await scene.submit("W2", restart="OnFailure")
    await scene.until("one is done", lambda job: counts_of(job) == {"active": 1, "succeeded": 1})
    done = scene.puppet.pods["j-worker-1"]
    await scene.delete_pod("j-worker-1")
    await scene.puppet.gone(done)
    await scene.settled()
    assert set(await scene.pods()) == {"j-worker-0"}
    job = await scene.job()
    assert job["status"]["replicaStatuses"]["Worker"]["completedIndexes"] == "1"
    assert counts_of(job)["active"] == 1


@pytest.mark.scenario("R2", 132)
async def test_job_whose_pods_ended_and_vanished_unseen_runs_only_what_is_not_done(
    scene: Scene,
) -> None:
    scene.puppet.play("j-worker-1", runs, exits(0))
    scene.puppet.play("*", runs)
    await scene.submit("W2", restart="OnFailure", successPolicy="AllWorkers")
    await scene.until("one is done", lambda job: counts_of(job) == {"active": 1, "succeeded": 1})
    scene.world.operator.kill()
    for name in ("j-worker-0", "j-worker-1"):
        path = f"/api/v1/namespaces/{scene.namespace}/pods/{name}?gracePeriodSeconds=0"
        await scene.call("DELETE", path)
    await scene.puppet.until("no pod is left", lambda pods: not pods)
    scene.world.operator.start()
    await scene.puppet.appears("j-worker-0")
    await scene.puppet.idle()
    await scene.puppet.finish("j-worker-0", exit_code=0)
    await scene.comes_to("Succeeded")
    assert set(await scene.pods()) == {"j-worker-0"}


@pytest.mark.scenario("R6")
async def test_limit_counts_over_restarts_of_the_operator(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 2})
    for count in (1, 2):
        failed = await _failed(scene)
        await _restarted(scene, count)
        scene.world.operator.restart()
        await scene.puppet.gone(failed)
    await _failed(scene)
    job = await scene.comes_to("Failed", seconds=40)
    assert restarts_of(job) == 2
    assert "backoff limit" in condition_of(job, "Failed")["message"]


async def _failed(scene: Scene) -> Mapping[str, Any]:
    """The pod of the only worker, which ran and failed."""
    pod = await scene.puppet.appears("j-worker-0")
    await scene.puppet.idle()
    await scene.puppet.finish(pod, exit_code=137)
    return pod


async def _restarted(scene: Scene, count: int) -> None:
    await scene.until(f"restart {count}", lambda job: restarts_of(job) == count, seconds=30)


@pytest.mark.scenario("R7")
async def test_evaluator_deleted_by_hand_comes_again_and_failed_is_never_shown(
    scene: Scene,
) -> None:
    scene.puppet.play("*", runs)
    submitted = await scene.submit("C1 E1", restart="ExitCode")
    await scene.until("both run", lambda job: counts_of(job, "Evaluator") == {"active": 1})
    old = scene.puppet.pods["j-evaluator-0"]
    await scene.delete_pod("j-evaluator-0")
    await scene.puppet.gone(old)
    await scene.puppet.appears("j-evaluator-0")
    await scene.reaches("Created", "Running")
    history = [conditions_of(each) for each in await scene.history(submitted)]
    assert not any("Failed" in each for each in history)


@pytest.mark.scenario("R10")
async def test_clean_up_of_what_runs_keeps_the_failed_pod(scene: Scene) -> None:
    scene.puppet.play("j-worker-1", runs, exits(1))
    scene.puppet.play("*", runs)
    await scene.submit("P1 W2", run_policy={"cleanPodPolicy": "Running"})
    await scene.comes_to("Failed")
    await scene.children("j-worker-1")


@pytest.mark.scenario("R11")
async def test_time_to_live_runs_on_while_the_operator_is_away(scene: Scene) -> None:
    scene.puppet.play("*", runs, exits(0))
    await scene.submit("W1", run_policy={"ttlSecondsAfterFinished": 2})
    await scene.comes_to("Succeeded")
    scene.world.operator.restart()
    await scene.gone()


@pytest.mark.scenario("R13")
async def test_last_wish_holds_after_many_quick_ones(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W2")
    for wish in [True, False] * 5:
        await scene.patch({"runPolicy": {"suspend": wish}})
    await scene.until("both run", lambda job: counts_of(job) == {"active": 2})
    job = await scene.comes_to("Running")
    assert "Failed" not in conditions_of(job)
    for wish in [True, False] * 5 + [True]:
        await scene.patch({"runPolicy": {"suspend": wish}})
    job = await scene.comes_to("Suspended")
    assert "Failed" not in conditions_of(job)
    await scene.children()


@pytest.mark.scenario("R14")
async def test_pods_made_after_resuming_follow_the_template_of_then(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    job = await scene.submit("W1")
    await scene.reaches("Created", "Running")
    await scene.patch({"runPolicy": {"suspend": True}})
    await scene.comes_to("Suspended")
    await scene.children()
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"][0]["image"] = "example.invalid/newer"
    changes = {
        "runPolicy": {"suspend": False},
        "tfReplicaSpecs": {"Worker": {"template": template}},
    }
    await scene.patch(changes)
    pod = await scene.puppet.appears("j-worker-0")
    assert pod["spec"]["containers"][0]["image"] == "example.invalid/newer"


@pytest.mark.scenario("R41")
async def test_small_job_does_not_wait_behind_a_large_one(scene: Scene) -> None:
    path = f"/api/v1/namespaces/{scene.namespace}/pods"
    since = (await scene.call("GET", path))["metadata"]["resourceVersion"]
    scene.world.operator.kill()
    await scene.submit("W150", name="large")
    await scene.submit("W1", name="small")
    scene.world.operator.start()
    await scene.puppet.until("all pods are there", lambda pods: len(pods) == 151)
    made = [each for each in await scene.changes(path, since=since) if each["type"] == "ADDED"]
    order = [each["object"]["metadata"]["name"] for each in made]
    assert order.index("small-worker-0") < 75
