"""The stored diagnosis in both worlds: the right replica is blamed, and the proof outlives it."""

from typing import Any

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, conditions_of, counts_of, restarts_of

Json = dict[str, Any]


def diagnosis_of(job: Json) -> Json:
    found: Json = job.get("status", {}).get("diagnosis", {})
    return found


def has_consequences(job: Json) -> bool:
    incidents = diagnosis_of(job).get("incidents") or [{}]
    return bool(incidents[0].get("consequences"))


async def test_a_permanent_exit_is_told_with_its_replica_and_code(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(3))
    await fixture.submit("W1", restart="ExitCode")
    job = await fixture.comes_to("Failed")
    found = diagnosis_of(job)
    assert (found["cause"], found["replica"]) == ("ProgramFailed", "worker-0")
    assert found["exitCode"] == 3
    assert found["remedy"]
    await fixture.event("ProgramFailed", "worker-0 ended with an error", kind="Warning")


async def test_a_cause_outlives_clean_up(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(3))
    policy = {"cleanPodPolicy": "All"}
    await fixture.submit("W1", restart="Never", run_policy=policy)
    await fixture.comes_to("Failed")
    await fixture.settled()
    assert await fixture.pods() == {}
    found = diagnosis_of(await fixture.job())
    assert (found["cause"], found["exitCode"]) == ("ProgramFailed", 3)


async def test_a_job_that_runs_well_has_no_diagnosis(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    submitted = await fixture.submit("W3")
    await fixture.comes_to("Succeeded")
    assert not any(diagnosis_of(each) for each in await fixture.history(submitted))


async def test_suspension_is_told_and_forgotten(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1", run_policy={"suspend": True})
    job = await fixture.reaches("Created", "Suspended")
    assert diagnosis_of(job)["cause"] == "Suspended"
    await fixture.patch({"runPolicy": {"suspend": False}})
    await fixture.until("no diagnosis", lambda each: not diagnosis_of(each))


async def test_survivors_of_a_killed_worker_are_restarted_and_not_counted(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", restart="ExitCode", run_policy={"backoffLimit": 1})
    await fixture.until("both run", lambda each: counts_of(each) == {"active": 2})
    lost = fixture.kubelet.pods["j-worker-1"]
    await fixture.kubelet.finish(lost, exit_code=137)
    await fixture.kubelet.gone(lost)
    await fixture.kubelet.finish("j-worker-0", exit_code=1)
    job = await fixture.until("worker-0 has followed", has_consequences)
    found = diagnosis_of(job)
    assert found["replica"] == "worker-1"
    assert found["incidents"][0]["consequences"] == {"worker": "0"}
    assert restarts_of(job) == 1
    assert "Failed" not in conditions_of(job)
