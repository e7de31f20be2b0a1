"""A job from its creation to its end, as its user sees it."""

import pytest

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, condition_of, conditions_of, counts_of
from tests.support.tfjobs import of_types, replica

SIX = [f"j-worker-{index}" for index in range(4)] + ["j-ps-0", "j-ps-1"]


@pytest.mark.scenario(50, "R29")
async def test_single_worker_goes_from_created_to_succeeded_and_tells_so(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.submit("W1")
    job = await fixture.comes_to("Succeeded")
    ended = condition_of(job, "Succeeded")
    assert conditions_of(job) in (["Created", "Succeeded"], ["Created", "Running=F", "Succeeded"])
    assert ended["reason"] == "TFJobSucceeded"
    assert ended["message"] == f"TFJob {fixture.namespace}/j successfully completed."
    assert condition_of(job, "Created")["message"] == "TFJob j is created."
    assert counts_of(job) == {"succeeded": 1}
    assert job["status"]["startTime"] <= job["status"]["completionTime"]
    for reason, message in (
        ("SuccessfulCreatePod", "Created pod: j-worker-0"),
        ("SuccessfulCreateService", "Created service: j-worker-0"),
        ("ExitedWithCode", f"Pod: {fixture.namespace}.j-worker-0 exited with code 0"),
        ("TFJobSucceeded", f"TFJob {fixture.namespace}/j successfully completed."),
    ):
        event = await fixture.event(reason, message, kind="Normal")
        assert event["source"]["component"] == "tfjob-controller"


@pytest.mark.scenario(41, 42, 43)
async def test_new_job_is_created_and_has_all_children_and_no_numbers(fixture: JobFixture) -> None:
    await fixture.submit("W4 P2")
    await fixture.children(*SIX)
    job = await fixture.reaches("Created")
    assert condition_of(job, "Created")["reason"] == "TFJobCreated"
    assert (counts_of(job, "Worker"), counts_of(job, "PS")) == ({}, {})
    assert "startTime" in job["status"]


@pytest.mark.scenario(44)
async def test_running_pods_make_the_job_running_and_are_counted(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W4 P2")
    job = await fixture.until(
        "all run",
        lambda job: (
            "Running" in conditions_of(job)
            and (counts_of(job), counts_of(job, "PS")) == ({"active": 4}, {"active": 2})
        ),
    )
    running = condition_of(job, "Running")
    assert running["reason"] == "TFJobRunning"
    assert running["message"] == f"TFJob {fixture.namespace}/j is running."
    assert conditions_of(job) == ["Created", "Running"]
    await fixture.children(*SIX)


@pytest.mark.scenario(45, 46, 47, "R46")
async def test_missing_children_are_recreated_and_nothing_else_is_touched(
    fixture: JobFixture,
) -> None:
    """Pods vanish while the operator is away: one that waits, one that runs, with services."""
    await fixture.submit("W4 P2", restart="OnFailure")
    await fixture.children(*SIX)
    await fixture.kubelet.run("j-worker-2")
    fixture.env.operator.kill()
    before = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
    base = f"/api/v1/namespaces/{fixture.namespace}"
    for name in ("j-worker-3", "j-ps-1"):
        await fixture.call("DELETE", f"{base}/pods/{name}?gracePeriodSeconds=0")
        await fixture.call("DELETE", f"{base}/services/{name}")
    fixture.env.operator.start()
    await fixture.children(*SIX)
    job = await fixture.reaches("Created", "Running")
    assert counts_of(job) == {"active": 1}
    after = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
    changed = {name for name in SIX if before[name] != after[name]}
    assert changed == {"j-worker-3", "j-ps-1"}


@pytest.mark.scenario(48, 52)
async def test_job_whose_workers_all_succeed_succeeds(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.submit("W3")
    job = await fixture.comes_to("Succeeded")
    assert condition_of(job, "Succeeded")["reason"] == "TFJobSucceeded"


@pytest.mark.scenario(51)
async def test_smoke_job_tells_of_seven_pods_and_seven_services(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.submit("C1 P2 W4")
    await fixture.comes_to("Succeeded")

    async def all_are_told() -> bool:
        told = [each["reason"] for each in await fixture.events()]
        pods, services = "SuccessfulCreatePod", "SuccessfulCreateService"
        return (told.count(pods), told.count(services)) == (7, 7)

    await fixture.eventually("seven of each", all_are_told)


@pytest.mark.scenario(53)
async def test_chief_that_succeeds_ends_the_job_while_workers_run(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.create(of_types(Chief=replica(1), Ps=replica(2), Worker=replica(4)))
    await fixture.until("workers run", lambda job: counts_of(job) == {"active": 4})
    await fixture.kubelet.finish("j-chief-0", exit_code=0)
    job = await fixture.comes_to("Succeeded")
    assert "Failed" not in conditions_of(job)
    await fixture.until("workers count", lambda job: counts_of(job) == {"succeeded": 4})
    phases = {
        pod["status"]["phase"] for name, pod in (await fixture.pods()).items() if "worker" in name
    }
    assert phases == {"Running"}


@pytest.mark.scenario(54)
async def test_worker_0_that_succeeds_ends_the_job(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-0", runs, exits(0))
    fixture.kubelet.script("*", runs)
    await fixture.submit("P2 W4")
    await fixture.comes_to("Succeeded")


@pytest.mark.scenario("R31")
async def test_sidecar_that_continues_does_not_keep_the_job_from_succeeding(
    fixture: JobFixture,
) -> None:
    pair = [{"name": name, "image": "example.invalid/a"} for name in ("tensorflow", "sidecar")]
    await fixture.create(of_types(Worker=replica(1, containers=pair)))
    await fixture.kubelet.appears("j-worker-0")
    await fixture.kubelet.run("j-worker-0")
    pod = await fixture.kubelet.finish("j-worker-0", exit_code=0)
    assert pod["status"]["phase"] == "Running"
    await fixture.comes_to("Succeeded")


@pytest.mark.scenario("R36")
async def test_type_with_no_replicas_has_no_pod(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("P0 W1")
    await fixture.reaches("Created", "Running")
    await fixture.children("j-worker-0")
