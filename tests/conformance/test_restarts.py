"""Failures: which replicas start again, which end the job, and when enough is enough."""

from typing import Any

import pytest

from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, condition_of, conditions_of, counts_of, restarts_of
from tests.support.tfjobs import container, of_types, replica

Json = dict[str, Any]
LIMIT = "Job j has failed because it has reached the specified backoff limit"
DEADLINE = "Job j has failed because it was active longer than specified deadline"


async def failed(scene: Scene, message: str, *, seconds: float = 30.0) -> Json:
    job = await scene.comes_to("Failed", seconds=seconds)
    condition = condition_of(job, "Failed")
    assert (condition["reason"], condition["message"]) == ("TFJobFailed", message)
    assert "completionTime" in job["status"]
    assert conditions_of(job)[-1] == "Failed"
    return job


@pytest.mark.scenario(79, 96, "R30")
async def test_retryable_exit_restarts_the_pod_and_never_shows_failed(scene: Scene) -> None:
    scene.puppet.play("j-worker-0", runs, exits(130, 0))
    submitted = await scene.submit("W1", restart="ExitCode")
    job = await scene.comes_to("Succeeded")
    assert restarts_of(job) == 1
    history = [conditions_of(each) for each in await scene.history(submitted)]
    assert ["Created", "Restarting"] in history
    assert not any("Failed" in each for each in history)
    message = "job j is restarting because Worker replica(s) failed."
    await scene.event("TFJobRestarting", message, kind="Warning")
    await scene.event("ExitedWithCode", "exited with code 130")
    await scene.event("SuccessfulDeletePod", "Deleted pod: j-worker-0")


@pytest.mark.scenario(80)
async def test_permanent_exit_fails_the_job_and_keeps_the_pod(scene: Scene) -> None:
    scene.puppet.play("*", runs, exits(1))
    await scene.submit("W1", restart="ExitCode")
    text = 'job "j" is failing because "Worker" replica(s) failed.'
    await failed(scene, text)
    await scene.event("TFJobFailed", text, kind="Warning")
    await scene.settled()
    assert (await scene.pods())["j-worker-0"]["status"]["phase"] == "Failed"


@pytest.mark.scenario(81, 86)
@pytest.mark.parametrize(
    ("code", "is_retried"),
    [(2, False), (3, False), (128, False), (137, True), (138, True), (139, False), (143, True)],
)
async def test_exit_code_decides_between_restart_and_failure(
    scene: Scene, code: int, is_retried: bool
) -> None:
    scene.puppet.play("*", runs, exits(code, 0))
    await scene.submit("W1", restart="ExitCode")
    wanted = "Succeeded" if is_retried else "Failed"
    job = await scene.comes_to(wanted)
    assert restarts_of(job) == (1 if is_retried else 0)


@pytest.mark.scenario(82, 96)
async def test_ps_that_is_killed_starts_again_while_the_chief_stays(scene: Scene) -> None:
    scene.puppet.play("j-ps-0", runs, exits(137, 0))
    scene.puppet.play("*", runs)
    submitted = await scene.submit("C1 P1", restart="ExitCode")
    chief = await scene.puppet.appears("j-chief-0")
    await scene.until("ps ended well", lambda job: counts_of(job, "PS") == {"succeeded": 1})
    await scene.reaches("Created", "Running")
    history = [conditions_of(each) for each in await scene.history(submitted)]
    assert ["Created", "Restarting"] in history
    assert (await scene.pods())["j-chief-0"]["metadata"]["uid"] == chief["metadata"]["uid"]


@pytest.mark.scenario(83, 84)
@pytest.mark.parametrize(("policy", "codes"), [("Always", (0, 1)), ("OnFailure", (1, 2))])
async def test_container_that_the_kubelet_restarts_is_no_matter_of_the_operator(
    scene: Scene, policy: str, codes: tuple[int, ...]
) -> None:
    await scene.submit(f"P1:{policy} W1")
    pod = await scene.puppet.appears("j-ps-0")
    for name in ("j-worker-0", "j-ps-0"):
        await scene.puppet.run(await scene.puppet.appears(name))
    for code in codes:
        await scene.puppet.finish("j-ps-0", exit_code=code)
    await scene.until("runs", lambda job: counts_of(job, "PS") == {"active": 1})
    await scene.settled()
    same = (await scene.pods())["j-ps-0"]
    assert same["metadata"]["uid"] == pod["metadata"]["uid"]
    assert same["status"]["containerStatuses"][0]["restartCount"] == 2
    assert conditions_of(await scene.job()) == ["Created", "Running"]


@pytest.mark.scenario(84, 85)
@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
async def test_ps_that_ends_well_is_not_run_again(scene: Scene, policy: str) -> None:
    scene.puppet.play("j-ps-0", runs, exits(0))
    scene.puppet.play("*", runs)
    await scene.submit(f"P1:{policy} W1")
    pod = await scene.puppet.appears("j-ps-0")
    job = await scene.until("ps ended", lambda job: counts_of(job, "PS") == {"succeeded": 1})
    assert "Failed" not in conditions_of(job)
    await scene.settled()
    assert (await scene.pods())["j-ps-0"]["metadata"]["uid"] == pod["metadata"]["uid"]


@pytest.mark.scenario(85, "R21")
async def test_ps_that_fails_under_never_fails_the_job(scene: Scene) -> None:
    scene.puppet.play("j-ps-0", runs, exits(1))
    scene.puppet.play("*", runs)
    await scene.submit("P1 W1")
    await failed(scene, f"TFJob {scene.namespace}/j has failed because 1 PS replica(s) failed.")


@pytest.mark.scenario(87)
async def test_restarts_of_all_replicas_share_one_limit(scene: Scene) -> None:
    policy = {"backoffLimit": 4, "cleanPodPolicy": "All"}
    await scene.submit("W4:OnFailure P2", run_policy=policy)
    for index in range(4):
        await scene.puppet.appears(f"j-worker-{index}")
    for name in ("j-ps-0", "j-ps-1"):
        await scene.puppet.run(await scene.puppet.appears(name))
    for index in range(4):
        await scene.puppet.restart_container(f"j-worker-{index}")
    await failed(scene, LIMIT)
    await scene.children()
    await scene.event("TFJobFailed", LIMIT, kind="Normal")


@pytest.mark.scenario(88)
async def test_limit_counts_every_restart_of_one_container(scene: Scene) -> None:
    await scene.submit("W1:OnFailure", run_policy={"backoffLimit": 3})
    await scene.puppet.appears("j-worker-0")
    await scene.puppet.restart_container("j-worker-0", 2)
    await scene.reaches("Created", "Running")
    await scene.puppet.restart_container("j-worker-0", 1)
    await failed(scene, LIMIT)


@pytest.mark.scenario(88, 91)
async def test_limit_0_bears_no_failure_and_needs_one(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W1", run_policy={"backoffLimit": 0})
    await scene.reaches("Created", "Running")
    await scene.puppet.finish("j-worker-0", exit_code=1)
    await failed(scene, LIMIT)


@pytest.mark.scenario(89)
async def test_third_failure_is_one_too_many_for_limit_2(scene: Scene) -> None:
    """The second restart waits ten seconds by contract: a job that fails at once must not spin."""
    scene.puppet.play("*", runs, exits(137))
    await scene.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 2})
    job = await failed(scene, LIMIT, seconds=40)
    assert restarts_of(job) == 2


@pytest.mark.scenario(90)
async def test_init_container_that_never_gets_through_counts_too(scene: Scene) -> None:
    own = replica(1, restart="OnFailure", initContainers=[container("prepare")])
    job = of_types(Worker=own)
    job["spec"]["runPolicy"] = {"backoffLimit": 3}
    await scene.create(job)
    await scene.puppet.bind(await scene.puppet.appears("j-worker-0"))
    state = {
        "name": "prepare",
        "image": "example.invalid/tensorflow",
        "imageID": "",
        "ready": False,
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        "lastState": {},
    }
    path = f"/api/v1/namespaces/{scene.namespace}/pods/j-worker-0/status"
    await scene.call("PATCH", path, {"status": {"initContainerStatuses": [state]}})
    await failed(scene, LIMIT)


@pytest.mark.scenario(92, 94)
async def test_deadline_ends_a_job_whose_pods_say_nothing(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    policy = {"activeDeadlineSeconds": 2, "cleanPodPolicy": "All"}
    await scene.submit("W4 P2", run_policy=policy)
    await scene.submit("W1", name="k")
    await failed(scene, DEADLINE)
    await scene.children("k-worker-0")
    await scene.event("TFJobFailed", DEADLINE, kind="Normal")
    assert conditions_of(await scene.job("k")) == ["Created", "Running"]


@pytest.mark.scenario(95, "R9")
async def test_deadline_stops_what_runs_and_keeps_what_ended(scene: Scene) -> None:
    scene.puppet.play("j-worker-1", runs, exits(0))
    scene.puppet.play("*", runs)
    await scene.submit("W2", run_policy={"activeDeadlineSeconds": 2})
    await failed(scene, DEADLINE)
    await scene.children("j-worker-1")


@pytest.mark.scenario(97)
async def test_permanent_failure_shows_while_another_replica_restarts(scene: Scene) -> None:
    scene.puppet.play("j-worker-1", runs, exits(137))
    scene.puppet.play("*", runs)
    await scene.submit("P1:Never W2:ExitCode")
    await scene.until("waits to restart again", lambda job: restarts_of(job) == 2)
    await scene.puppet.finish("j-ps-0", exit_code=1)
    await failed(scene, f"TFJob {scene.namespace}/j has failed because 1 PS replica(s) failed.")


@pytest.mark.scenario(98, "R35")
async def test_pod_that_a_user_deletes_is_made_again_at_no_cost(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    submitted = await scene.submit("W2", restart="OnFailure")
    await scene.until("both run", lambda job: counts_of(job) == {"active": 2})
    old = scene.puppet.pods["j-worker-1"]
    await scene.delete_pod("j-worker-1")
    await scene.puppet.gone(old)
    await scene.puppet.appears("j-worker-1")
    job = await scene.until("both run again", lambda job: counts_of(job) == {"active": 2})
    assert restarts_of(job) == 0
    history = [conditions_of(each) for each in await scene.history(submitted)]
    assert not any("Failed" in each for each in history)


@pytest.mark.scenario(99)
async def test_pod_that_a_user_deletes_fails_the_job_under_never(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W2")
    await scene.until("both run", lambda job: counts_of(job) == {"active": 2})
    await scene.delete_pod("j-worker-1")
    message = f"TFJob {scene.namespace}/j has failed because 1 Worker replica(s) failed."
    await failed(scene, message)


@pytest.mark.scenario(86, 100, "R4", "R5")
@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode"])
async def test_evicted_replica_is_made_again(scene: Scene, policy: str) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W2", restart=policy)
    await scene.until("both run", lambda job: counts_of(job) == {"active": 2})
    old = scene.puppet.pods["j-worker-1"]
    await scene.puppet.evict("j-worker-1")
    await scene.puppet.gone(old)
    await scene.puppet.appears("j-worker-1")
    job = await scene.until("both run again", lambda job: counts_of(job) == {"active": 2})
    assert conditions_of(job)[0] == "Created"
    assert "Failed" not in conditions_of(job)
    assert restarts_of(job) == 0


@pytest.mark.scenario(101)
async def test_dynamic_worker_that_fails_is_borne(scene: Scene) -> None:
    scene.puppet.play("j-worker-2", runs, exits(1))
    scene.puppet.play("*", runs)
    await scene.submit("W3", enableDynamicWorker=True)
    wanted = {"active": 2, "failed": 1}
    job = await scene.until("one failed", lambda job: counts_of(job) == wanted)
    assert conditions_of(job) == ["Created", "Running"]
    await scene.settled()
    assert (await scene.pods())["j-worker-2"]["status"]["phase"] == "Failed"


@pytest.mark.scenario(132)
async def test_restart_survives_an_operator_that_is_killed_in_its_midst(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W2", restart="ExitCode")
    await scene.until("both run", lambda job: counts_of(job) == {"active": 2})
    scene.world.operator.kill()
    await scene.puppet.finish("j-worker-1", exit_code=137)
    scene.world.operator.start()
    await scene.until("restarted once", lambda job: restarts_of(job) == 1)
    scene.world.operator.restart()
    job = await scene.until("both run again", lambda job: counts_of(job) == {"active": 2})
    assert restarts_of(job) == 1
