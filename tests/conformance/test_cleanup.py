"""What is left when a job has ended, and for how long."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, conditions_of, counts_of

Json = dict[str, Any]
SEVEN = ["j-chief-0", "j-ps-0", "j-ps-1", *(f"j-worker-{index}" for index in range(4))]


async def ended(scene: Scene, name: str = "j") -> Json:
    return await scene.comes_to("Succeeded", "Failed", name=name)


@pytest.mark.scenario(102, 104)
@pytest.mark.parametrize(("policy", "left"), [("All", []), ("Running", ["j-worker-0"])])
async def test_pods_that_still_run_go_with_their_services(
    scene: Scene, policy: str, left: list[str]
) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W4 P2", run_policy={"cleanPodPolicy": policy})
    await scene.until("all run", lambda job: counts_of(job) == {"active": 4})
    await scene.puppet.idle()
    await scene.puppet.finish("j-worker-0", exit_code=0)
    await ended(scene)
    await scene.children(*left)


@pytest.mark.scenario(103)
@pytest.mark.parametrize("policy", ["Running", "None"])
async def test_pods_that_have_ended_stay_unless_all_shall_go(scene: Scene, policy: str) -> None:
    scene.puppet.play("*", runs, exits(0))
    names = ["j-worker-0", "j-worker-1"]
    await scene.submit("W2", successPolicy="AllWorkers", run_policy={"cleanPodPolicy": policy})
    await ended(scene)
    await scene.settled()
    await scene.children(*names)


@pytest.mark.scenario(105)
async def test_failed_job_leaves_everything_by_default(scene: Scene) -> None:
    scene.puppet.play("j-worker-1", runs, exits(1))
    scene.puppet.play("*", runs)
    await scene.submit("P1 W2")
    await ended(scene)
    await scene.settled()
    await scene.children("j-ps-0", "j-worker-0", "j-worker-1")


@pytest.mark.scenario(107, 108, 109)
@pytest.mark.parametrize(
    ("policy", "left"),
    [("All", []), ("Running", [name for name in SEVEN if "-ps-" not in name]), (None, SEVEN)],
)
async def test_parameter_servers_stay_or_go_as_the_policy_says(
    scene: Scene, policy: str | None, left: list[str]
) -> None:
    scene.puppet.play("j-ps-*", runs)
    scene.puppet.play("j-worker-*", runs, exits(0))
    scene.puppet.play("j-chief-0", runs)
    await scene.submit("C1 P2 W4", run_policy={"cleanPodPolicy": policy} if policy else None)
    await scene.until("workers ended", lambda job: counts_of(job) == {"succeeded": 4})
    await scene.until("ps run", lambda job: counts_of(job, "PS") == {"active": 2})
    await scene.puppet.finish("j-chief-0", exit_code=0)
    await ended(scene)
    await scene.children(*left)
    if policy is None:
        await scene.until("told as ended", lambda job: counts_of(job, "PS") == {"succeeded": 2})
        phases = {pod["status"]["phase"] for pod in (await scene.pods()).values()}
        assert phases == {"Running", "Succeeded"}


@pytest.mark.scenario(110)
@pytest.mark.parametrize("code", [0, 1])
async def test_job_goes_when_its_time_to_live_is_over(scene: Scene, code: int) -> None:
    scene.puppet.play("*", runs, exits(code))
    await scene.submit("W1", run_policy={"ttlSecondsAfterFinished": 1})
    await scene.submit("W1", name="kept")
    await scene.gone()
    await scene.event("SuccessfulDeleteJob", "Deleted job: j", kind="Normal")
    await scene.children("kept-worker-0")
    await ended(scene, "kept")


@pytest.mark.scenario(111, 112)
@pytest.mark.parametrize("is_time_known", [True, False])
async def test_job_that_ended_a_day_ago_goes_at_once(scene: Scene, is_time_known: bool) -> None:
    """Also where an older operator forgot to note when it ended: the condition knows."""
    scene.world.operator.kill()
    await scene.submit("W1", run_policy={"ttlSecondsAfterFinished": 180})
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {
        "type": "Succeeded",
        "status": "True",
        "reason": "TFJobSucceeded",
        "message": "done",
        "lastUpdateTime": yesterday,
        "lastTransitionTime": yesterday,
    }
    status: Json = {"conditions": [condition], "replicaStatuses": {}}
    if is_time_known:
        status["completionTime"] = yesterday
    await scene.call("PATCH", f"{scene.jobs_path()}/j/status", {"status": status})
    scene.world.operator.start()
    await scene.gone()


@pytest.mark.scenario(111, "R12")
async def test_time_to_live_0_stores_the_end_first_and_a_suspended_job_stays(scene: Scene) -> None:
    scene.puppet.play("*", runs, exits(0))
    policy = {"ttlSecondsAfterFinished": 0}
    await scene.submit("W1", name="asleep", run_policy={**policy, "suspend": True})
    await scene.submit("W1", run_policy=policy)
    await scene.gone()
    await scene.event("TFJobSucceeded")
    assert conditions_of(await scene.job("asleep")) == ["Created", "Suspended"]
