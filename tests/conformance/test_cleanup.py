"""What is left when a job has ended, and for how long."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, conditions_of, counts_of

Json = dict[str, Any]
SEVEN = ["j-chief-0", "j-ps-0", "j-ps-1", *(f"j-worker-{index}" for index in range(4))]


async def ended(fixture: JobFixture, name: str = "j") -> Json:
    return await fixture.comes_to("Succeeded", "Failed", name=name)


@pytest.mark.scenario(102, 104)
@pytest.mark.parametrize(("policy", "left"), [("All", []), ("Running", ["j-worker-0"])])
async def test_pods_that_still_run_go_with_their_services(
    fixture: JobFixture, policy: str, left: list[str]
) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W4 P2", run_policy={"cleanPodPolicy": policy})
    await fixture.until("all run", lambda job: counts_of(job) == {"active": 4})
    await fixture.kubelet.idle()
    await fixture.kubelet.finish("j-worker-0", exit_code=0)
    await ended(fixture)
    await fixture.children(*left)


@pytest.mark.scenario(103)
@pytest.mark.parametrize("policy", ["Running", "None"])
async def test_pods_that_have_ended_stay_unless_all_shall_go(
    fixture: JobFixture, policy: str
) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    names = ["j-worker-0", "j-worker-1"]
    await fixture.submit("W2", successPolicy="AllWorkers", run_policy={"cleanPodPolicy": policy})
    await ended(fixture)
    await fixture.settled()
    await fixture.children(*names)


@pytest.mark.scenario(105)
async def test_failed_job_leaves_everything_by_default(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-1", runs, exits(1))
    fixture.kubelet.script("*", runs)
    await fixture.submit("P1 W2")
    await ended(fixture)
    await fixture.settled()
    await fixture.children("j-ps-0", "j-worker-0", "j-worker-1")


@pytest.mark.scenario(107, 108, 109)
@pytest.mark.parametrize(
    ("policy", "left"),
    [("All", []), ("Running", [name for name in SEVEN if "-ps-" not in name]), (None, SEVEN)],
)
async def test_parameter_servers_stay_or_go_as_the_policy_says(
    fixture: JobFixture, policy: str | None, left: list[str]
) -> None:
    fixture.kubelet.script("j-ps-*", runs)
    fixture.kubelet.script("j-worker-*", runs, exits(0))
    fixture.kubelet.script("j-chief-0", runs)
    await fixture.submit("C1 P2 W4", run_policy={"cleanPodPolicy": policy} if policy else None)
    await fixture.until("workers ended", lambda job: counts_of(job) == {"succeeded": 4})
    await fixture.until("ps run", lambda job: counts_of(job, "PS") == {"active": 2})
    await fixture.kubelet.finish("j-chief-0", exit_code=0)
    await ended(fixture)
    await fixture.children(*left)
    if policy is None:
        await fixture.until("told as ended", lambda job: counts_of(job, "PS") == {"succeeded": 2})
        phases = {pod["status"]["phase"] for pod in (await fixture.pods()).values()}
        assert phases == {"Running", "Succeeded"}


@pytest.mark.scenario(110)
@pytest.mark.parametrize("code", [0, 1])
async def test_job_is_deleted_when_its_ttl_has_expired(fixture: JobFixture, code: int) -> None:
    fixture.kubelet.script("*", runs, exits(code))
    await fixture.submit("W1", run_policy={"ttlSecondsAfterFinished": 1})
    await fixture.submit("W1", name="kept")
    await fixture.gone()
    await fixture.event("SuccessfulDeleteJob", "Deleted job: j", kind="Normal")
    await fixture.children("kept-worker-0")
    await ended(fixture, "kept")


@pytest.mark.scenario(111, 112, "R11")
@pytest.mark.parametrize("is_time_known", [True, False])
async def test_job_that_ended_a_day_ago_goes_at_once(
    fixture: JobFixture, is_time_known: bool
) -> None:
    """Also where an older operator forgot to note when it ended: the condition knows."""
    fixture.env.operator.kill()
    await fixture.submit("W1", run_policy={"ttlSecondsAfterFinished": 180})
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
    await fixture.call("PATCH", f"{fixture.jobs_path()}/j/status", {"status": status})
    fixture.env.operator.start()
    await fixture.gone()


@pytest.mark.scenario(111, "R12")
async def test_ttl_0_stores_the_end_first_and_a_suspended_job_stays(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    policy = {"ttlSecondsAfterFinished": 0}
    await fixture.submit("W1", name="asleep", run_policy={**policy, "suspend": True})
    await fixture.submit("W1", run_policy=policy)
    await fixture.gone()
    await fixture.event("TFJobSucceeded")
    assert conditions_of(await fixture.job("asleep")) == ["Created", "Suspended"]
