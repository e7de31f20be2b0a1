"""Failures: which replicas are restarted, which fail the job, and when a limit is reached."""

from typing import Any

import pytest

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import (
    JobFixture,
    condition_of,
    conditions_of,
    counts_of,
    restarts_of,
)
from tests.support.tfjobs import container, of_types, replica

Json = dict[str, Any]
LIMIT = "Job j has failed because it has reached the specified backoff limit"
DEADLINE = "Job j has failed because it was active longer than specified deadline"


async def failed(fixture: JobFixture, message: str, *, evidence: str = "") -> Json:
    """The failed job. `evidence` ends the message where the pod that proves it is deleted."""
    job = await fixture.comes_to("Failed")
    condition = condition_of(job, "Failed")
    assert condition["reason"] == "TFJobFailed"
    if evidence:
        assert condition["message"].startswith(f"{message}: container tensorflow of pod j-")
        assert condition["message"].endswith(evidence)
    else:
        assert condition["message"] == message
    assert "completionTime" in job["status"]
    assert conditions_of(job)[-1] == "Failed"
    return job


@pytest.mark.scenario(79, 96, "R30")
async def test_retryable_exit_restarts_the_pod_and_never_shows_failed(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-0", runs, exits(130, 0))
    submitted = await fixture.submit("W1", restart="ExitCode")
    job = await fixture.comes_to("Succeeded")
    assert restarts_of(job) == 1
    history = [conditions_of(each) for each in await fixture.history(submitted)]
    assert ["Created", "Restarting"] in history
    assert not any("Failed" in each for each in history)
    message = "job j is restarting because Worker replica(s) failed."
    await fixture.event("TFJobRestarting", message, kind="Warning")
    await fixture.event("ExitedWithCode", "exited with code 130")
    await fixture.event("SuccessfulDeletePod", "Deleted pod: j-worker-0")


@pytest.mark.scenario(80)
async def test_permanent_exit_fails_the_job_and_keeps_the_pod(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(1))
    await fixture.submit("W1", restart="ExitCode")
    text = 'job "j" is failing because "Worker" replica(s) failed.'
    await failed(fixture, text)
    await fixture.event("TFJobFailed", text, kind="Warning")
    await fixture.settled()
    assert (await fixture.pods())["j-worker-0"]["status"]["phase"] == "Failed"


@pytest.mark.scenario(81, 86)
@pytest.mark.parametrize(
    ("code", "is_retried"),
    [(2, False), (3, False), (128, False), (137, True), (138, True), (139, False), (143, True)],
)
async def test_exit_code_decides_between_restart_and_failure(
    fixture: JobFixture, code: int, is_retried: bool
) -> None:
    fixture.kubelet.script("*", runs, exits(code, 0))
    await fixture.submit("W1", restart="ExitCode")
    wanted = "Succeeded" if is_retried else "Failed"
    job = await fixture.comes_to(wanted)
    assert restarts_of(job) == (1 if is_retried else 0)


@pytest.mark.scenario(82, 96)
async def test_ps_that_is_killed_starts_again_while_the_chief_stays(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-ps-0", runs, exits(137, 0))
    fixture.kubelet.script("*", runs)
    submitted = await fixture.submit("C1 P1", restart="ExitCode")
    chief = await fixture.kubelet.appears("j-chief-0")
    await fixture.until("ps ended well", lambda job: counts_of(job, "PS") == {"succeeded": 1})
    await fixture.reaches("Created", "Running")
    history = [conditions_of(each) for each in await fixture.history(submitted)]
    assert ["Created", "Restarting"] in history
    assert (await fixture.pods())["j-chief-0"]["metadata"]["uid"] == chief["metadata"]["uid"]


@pytest.mark.scenario(83, 84)
@pytest.mark.parametrize(("policy", "codes"), [("Always", (0, 1)), ("OnFailure", (1, 2))])
async def test_container_that_the_kubelet_restarts_is_no_matter_of_the_operator(
    fixture: JobFixture, policy: str, codes: tuple[int, ...]
) -> None:
    await fixture.submit(f"P1:{policy} W1")
    pod = await fixture.kubelet.appears("j-ps-0")
    for name in ("j-worker-0", "j-ps-0"):
        await fixture.kubelet.run(await fixture.kubelet.appears(name))
    for code in codes:
        await fixture.kubelet.finish("j-ps-0", exit_code=code)
    await fixture.until("runs", lambda job: counts_of(job, "PS") == {"active": 1})
    await fixture.settled()
    same = (await fixture.pods())["j-ps-0"]
    assert same["metadata"]["uid"] == pod["metadata"]["uid"]
    assert same["status"]["containerStatuses"][0]["restartCount"] == 2
    assert conditions_of(await fixture.job()) == ["Created", "Running"]


@pytest.mark.scenario(84, 85)
@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
async def test_ps_that_succeeds_is_not_run_again(fixture: JobFixture, policy: str) -> None:
    fixture.kubelet.script("j-ps-0", runs, exits(0))
    fixture.kubelet.script("*", runs)
    await fixture.submit(f"P1:{policy} W1")
    pod = await fixture.kubelet.appears("j-ps-0")
    job = await fixture.until("ps ended", lambda job: counts_of(job, "PS") == {"succeeded": 1})
    assert "Failed" not in conditions_of(job)
    await fixture.settled()
    assert (await fixture.pods())["j-ps-0"]["metadata"]["uid"] == pod["metadata"]["uid"]


@pytest.mark.scenario(85, "R21")
async def test_ps_that_fails_under_never_fails_the_job(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-ps-0", runs, exits(1))
    fixture.kubelet.script("*", runs)
    await fixture.submit("P1 W1")
    await failed(fixture, f"TFJob {fixture.namespace}/j has failed because 1 PS replica(s) failed.")


@pytest.mark.scenario(87)
async def test_restarts_of_all_replicas_share_one_limit(fixture: JobFixture) -> None:
    policy = {"backoffLimit": 4, "cleanPodPolicy": "All"}
    await fixture.submit("W4:OnFailure P2", run_policy=policy)
    for index in range(4):
        await fixture.kubelet.appears(f"j-worker-{index}")
    for name in ("j-ps-0", "j-ps-1"):
        await fixture.kubelet.run(await fixture.kubelet.appears(name))
    for index in range(4):
        await fixture.kubelet.restart_container(f"j-worker-{index}")
    await failed(fixture, LIMIT, evidence="exited with code 1 (Error)")
    await fixture.children()
    await fixture.event("TFJobFailed", LIMIT, kind="Normal")
    text = "Error pod j-worker-0 container tensorflow exitCode: 1 terminated message: "
    await fixture.event("Error", text, kind="Warning")


@pytest.mark.scenario(88)
async def test_limit_counts_every_restart_of_one_container(fixture: JobFixture) -> None:
    await fixture.submit("W1:OnFailure", run_policy={"backoffLimit": 3})
    await fixture.kubelet.appears("j-worker-0")
    await fixture.kubelet.restart_container("j-worker-0", 2)
    await fixture.reaches("Created", "Running")
    await fixture.kubelet.restart_container("j-worker-0", 1)
    await failed(fixture, LIMIT, evidence="pod j-worker-0 exited with code 1 (Error)")


@pytest.mark.scenario(88, 91)
async def test_limit_0_is_reached_by_the_first_failure_and_not_before(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1", run_policy={"backoffLimit": 0})
    await fixture.reaches("Created", "Running")
    await fixture.kubelet.finish("j-worker-0", exit_code=1)
    await failed(fixture, LIMIT)


@pytest.mark.scenario(89)
async def test_third_failure_is_one_too_many_for_limit_2(fixture: JobFixture) -> None:
    """The second restart waits ten seconds by contract: a job that fails at once must not spin."""
    fixture.kubelet.script("*", runs, exits(137))
    await fixture.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 2})
    job = await failed(fixture, LIMIT)
    assert restarts_of(job) == 2


@pytest.mark.scenario(90)
async def test_init_container_that_never_gets_through_counts_too(fixture: JobFixture) -> None:
    own = replica(1, restart="OnFailure", initContainers=[container("prepare")])
    job = of_types(Worker=own)
    job["spec"]["runPolicy"] = {"backoffLimit": 3}
    await fixture.create(job)
    await fixture.kubelet.bind(await fixture.kubelet.appears("j-worker-0"))
    state = {
        "name": "prepare",
        "image": "example.invalid/tensorflow",
        "imageID": "",
        "ready": False,
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        "lastState": {},
    }
    path = f"/api/v1/namespaces/{fixture.namespace}/pods/j-worker-0/status"
    await fixture.call("PATCH", path, {"status": {"initContainerStatuses": [state]}})
    await failed(fixture, LIMIT)


@pytest.mark.scenario(92, 94)
async def test_deadline_ends_a_job_whose_pods_say_nothing(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    policy = {"activeDeadlineSeconds": 2, "cleanPodPolicy": "All"}
    await fixture.submit("W4 P2", run_policy=policy)
    await fixture.submit("W1", name="k")
    await failed(fixture, DEADLINE)
    await fixture.children("k-worker-0")
    await fixture.event("TFJobFailed", DEADLINE, kind="Normal")
    assert conditions_of(await fixture.job("k")) == ["Created", "Running"]


@pytest.mark.scenario(95, "R9")
async def test_deadline_stops_what_runs_and_keeps_what_ended(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-1", runs, exits(0))
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", run_policy={"activeDeadlineSeconds": 2})
    await failed(fixture, DEADLINE)
    await fixture.children("j-worker-1")


@pytest.mark.scenario(97)
async def test_permanent_failure_shows_while_another_replica_restarts(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-1", runs, exits(137))
    fixture.kubelet.script("*", runs)
    await fixture.submit("P1:Never W2:ExitCode")
    await fixture.until("waits to restart again", lambda job: restarts_of(job) == 2)
    await fixture.kubelet.finish("j-ps-0", exit_code=1)
    await failed(fixture, f"TFJob {fixture.namespace}/j has failed because 1 PS replica(s) failed.")


@pytest.mark.scenario(98, "R35")
async def test_pod_that_a_user_deletes_is_recreated_and_not_counted(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    submitted = await fixture.submit("W2", restart="OnFailure")
    await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})
    old = fixture.kubelet.pods["j-worker-1"]
    await fixture.delete_pod("j-worker-1")
    await fixture.kubelet.gone(old)
    await fixture.kubelet.appears("j-worker-1")
    job = await fixture.until("both run again", lambda job: counts_of(job) == {"active": 2})
    assert restarts_of(job) == 0
    history = [conditions_of(each) for each in await fixture.history(submitted)]
    assert not any("Failed" in each for each in history)


@pytest.mark.scenario(99)
async def test_pod_that_a_user_deletes_fails_the_job_under_never(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2")
    await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})
    await fixture.delete_pod("j-worker-1")
    message = f"TFJob {fixture.namespace}/j has failed because 1 Worker replica(s) failed."
    await failed(fixture, message)


@pytest.mark.scenario(86, 100, "R4", "R5")
@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode"])
async def test_evicted_replica_is_recreated(fixture: JobFixture, policy: str) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", restart=policy)
    await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})
    old = fixture.kubelet.pods["j-worker-1"]
    await fixture.kubelet.evict("j-worker-1")
    await fixture.kubelet.gone(old)
    await fixture.kubelet.appears("j-worker-1")
    job = await fixture.until("both run again", lambda job: counts_of(job) == {"active": 2})
    assert conditions_of(job)[0] == "Created"
    assert "Failed" not in conditions_of(job)
    assert restarts_of(job) == 0


@pytest.mark.scenario(101)
async def test_dynamic_worker_that_fails_is_tolerated(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-2", runs, exits(1))
    fixture.kubelet.script("*", runs)
    await fixture.submit("W3", enableDynamicWorker=True)
    wanted = {"active": 2, "failed": 1}
    job = await fixture.until("one failed", lambda job: counts_of(job) == wanted)
    assert conditions_of(job) == ["Created", "Running"]
    await fixture.settled()
    assert (await fixture.pods())["j-worker-2"]["status"]["phase"] == "Failed"


@pytest.mark.scenario(132)
async def test_restart_survives_an_operator_that_is_killed_in_its_midst(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", restart="ExitCode")
    await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})
    fixture.env.operator.kill()
    await fixture.kubelet.finish("j-worker-1", exit_code=137)
    fixture.env.operator.start()
    await fixture.until("restarted once", lambda job: restarts_of(job) == 1)
    fixture.env.operator.restart()
    job = await fixture.until("both run again", lambda job: counts_of(job) == {"active": 2})
    assert restarts_of(job) == 1
