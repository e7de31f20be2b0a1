"""TensorFlowTrainingJobs of batch.tensorstack.dev: their children, and how they end."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.dialect_jobs import Jobs, env_of, id_of, owner_of, phase_of, training_job
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, condition_of

Json = dict[str, Any]
NONE = dict.fromkeys(
    ("creating", "pending", "running", "succeeded", "failed", "unknown", "deleted"), 0
)


@pytest.fixture
async def jobs(fixture: JobFixture) -> AsyncIterator[Jobs]:
    made = Jobs(fixture, "batch.tensorstack.dev/v1beta1")
    yield made
    await made.clear()


async def begun(jobs: Jobs, roles: str = "worker=1", **fields: Any) -> str:
    """The first part of the names of a new job's children."""
    made = await jobs.create(training_job(roles, **fields))
    return f"{made['metadata']['name']}-{id_of(made)}"


async def settled(jobs: Jobs) -> None:
    """Wait until the operator has looked at all that was there: it serves jobs in order."""
    for name in ("marker-1", "marker-2"):
        await jobs.create(training_job(name=name, runMode={"pause": {"enabled": True}}))
        await jobs.comes_to("Paused", name=name)
        await jobs.delete(name)


def statuses_of(job: Json) -> dict[str, str]:
    return {each["type"]: each["status"] for each in job["status"]["conditions"]}


def replicas_of(job: Json, role: str) -> list[str]:
    """The phases of the replicas of one type."""
    [task] = [each for each in job["status"]["tasks"] if each["type"] == role]
    return [each["phase"] for each in task["replicas"]]


async def uid_of(jobs: Jobs, pod: str) -> str:
    return str((await jobs.pod(pod))["metadata"]["uid"])


async def comes_again(jobs: Jobs, pod: str, uid: str) -> None:
    async def is_another() -> bool:
        found = (await jobs.objects("pods")).get(pod)
        return found is not None and found["metadata"]["uid"] != uid

    await jobs.eventually(f"{pod} comes again", is_another)


@pytest.mark.scenario("B-01", "B-02", "B-38")
async def test_published_example_has_its_pods_and_services(jobs: Jobs) -> None:
    job = training_job("worker=4", restart="OnFailure")
    job["spec"]["replicaSpecs"][0]["template"]["spec"]["restartPolicy"] = "Always"
    made = await jobs.create(job)
    base = f"j-{id_of(made)}"
    names = [f"{base}-worker-{index}" for index in range(4)]
    await jobs.has("pods", names)
    await jobs.has("services", names)
    assert phase_of(await jobs.until("seen", phase_of)) == "Pending"
    for index, name in enumerate(names):
        pod, service = await jobs.pod(name), await jobs.object("services", name)
        labels = pod["metadata"]["labels"]
        assert (labels["replica-type"], labels["replica-index"]) == ("worker", str(index))
        assert ("job-role" in labels) == (index == 0)
        assert pod["spec"]["restartPolicy"] == "Never"
        assert service["spec"]["clusterIP"] == "None"
        assert owner_of(pod)["uid"] == owner_of(service)["uid"] == made["metadata"]["uid"]
    hosts = ",".join(f'"{name}:2222"' for name in names)
    expected = f'{{"cluster":{{"worker":[{hosts}]}},"task":{{"type":"worker","index":2}}}}'
    assert env_of(await jobs.pod(names[2])) == expected


@pytest.mark.scenario("B-03", "B-04", "B-05")
async def test_whole_cluster_runs_and_leaves_its_evaluator_out(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, "chief=1 ps=2 worker=4 evaluator=1")
    job = await jobs.comes_to("Running")
    assert job["status"]["aggregate"] == {**NONE, "running": 8}
    wanted = {"Initialized": "True", "ReplicaFailure": "False", "Running": "True"}
    assert statuses_of(job) == wanted
    workers = ",".join(f'"{base}-worker-{index}:2222"' for index in range(4))
    cluster = (
        f'{{"cluster":{{"chief":["{base}-chief-0:2222"],"ps":["{base}-ps-0:2222",'
        f'"{base}-ps-1:2222"],"worker":[{workers}]}},"task":'
    )
    for name, task in (("ps-1", '{"type":"ps","index":1}}'),
                       ("evaluator-0", '{"type":"evaluator","index":0}}')):  # fmt: skip
        assert env_of(await jobs.pod(f"{base}-{name}")) == cluster + task
    chief = await jobs.pod(f"{base}-chief-0")
    assert chief["metadata"]["labels"]["job-role"] == "master"
    await jobs.fixture.event("Created", "A TensorFlowTrainingJob has been created: j")
    await jobs.fixture.event("Start", "The job has been initialized successfully.")


@pytest.mark.scenario("B-06")
async def test_pending_pod_keeps_the_job_pending(jobs: Jobs) -> None:
    base = await begun(jobs, "worker=3")
    for index in (0, 1):
        await jobs.fixture.kubelet.run(await jobs.pod(f"{base}-worker-{index}"))
    wanted = {**NONE, "pending": 1, "running": 2}
    job = await jobs.until("counted", lambda each: each["status"].get("aggregate") == wanted)
    assert phase_of(job) == "Pending"


@pytest.mark.scenario("B-07", "B-08")
@pytest.mark.parametrize("roles", ["worker=2", "chief=1 worker=2"])
async def test_master_alone_decides_success(jobs: Jobs, roles: str) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, roles)
    await jobs.comes_to("Running")
    await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=0)
    if "chief" in roles:
        await jobs.until("seen", lambda each: each["status"]["aggregate"]["succeeded"] == 1)
        await settled(jobs)
        assert phase_of(await jobs.get()) == "Running"
        await jobs.fixture.kubelet.finish(f"{base}-chief-0", exit_code=0)
    job = await jobs.comes_to("Succeeded")
    ended = {key: statuses_of(job)[key] for key in ("Running", "Failed", "Completed")}
    assert ended == {"Running": "False", "Failed": "False", "Completed": "True"}
    completed = condition_of(job, "Completed")
    assert completed["reason"] == "Succeeded"
    assert completed["message"] == "The job has finished successfully."
    assert f"{base}-worker-1" in await jobs.owned("pods")


@pytest.mark.scenario("B-09", "B-10")
@pytest.mark.parametrize(
    ("policy", "left"),
    [("Unfinished", {"chief-0"}), ("All", set()), ("none", {"chief-0", "ps-0", "worker-0"})],
)
async def test_pods_are_cleaned_up_as_asked(jobs: Jobs, policy: str, left: set[str]) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, "chief=1 ps=1 worker=1", runPolicy={"cleanUpPolicy": policy})
    await jobs.comes_to("Running")
    await jobs.fixture.kubelet.finish(f"{base}-chief-0", exit_code=0)
    await jobs.comes_to("Succeeded")
    await jobs.has("pods", {f"{base}-{each}" for each in left})
    gone = 3 - len(left)
    job = await jobs.until("shown", lambda each: each["status"]["aggregate"]["deleted"] == gone)
    assert (replicas_of(job, "ps") == ["Deleted"]) == ("ps-0" not in left)


@pytest.mark.scenario("B-11", "B-17")
@pytest.mark.parametrize("limit", [None, 0], ids=["Never", "no retries left"])
async def test_permanent_failure_of_the_master_is_reported_with_pod_and_code(
    jobs: Jobs, limit: int | None
) -> None:
    jobs.fixture.kubelet.script("*", runs, exits(1))
    if limit is None:
        base = await begun(jobs)
    else:
        base = await begun(jobs, restart="OnFailure", runPolicy={"backoffLimit": limit})
    job = await jobs.comes_to("Failed")
    failed, trouble = condition_of(job, "Failed"), condition_of(job, "ReplicaFailure")
    assert failed["message"] == (
        f"TensorFlowTrainingJob j has failed: {base}-worker-0 failed with exit code 1"
    )
    assert (trouble["status"], trouble["reason"]) == ("True", "ErrorInPod")
    assert trouble["message"] == f"Pod[{base}-worker-0] exited with error code 1"
    assert statuses_of(job)["Completed"] == "True"
    assert job["status"]["backoffCount"] == 0
    await jobs.fixture.event("Failed", f"{base}-worker-0 failed with exit code 1", kind="Warning")


@pytest.mark.scenario("B-12", "B-21")
async def test_failed_pod_is_recreated_under_its_name_and_is_counted(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, "worker=2", restart="OnFailure")
    await jobs.comes_to("Running")
    name = f"{base}-worker-0"
    uid = await uid_of(jobs, name)
    await jobs.fixture.kubelet.finish(name, exit_code=1)
    await comes_again(jobs, name, uid)
    job = await jobs.until(
        "well again",
        lambda each: (
            each["status"].get("backoffCount") == 1
            and statuses_of(each)["ReplicaFailure"] == "False"
            and each["status"]["aggregate"]["running"] == 2
        ),
    )
    assert (phase_of(job), job["status"]["tasks"][0]["restartCount"]) == ("Running", 1)
    uid = await uid_of(jobs, f"{base}-worker-1")
    await jobs.fixture.delete_pod(f"{base}-worker-1")
    await comes_again(jobs, f"{base}-worker-1", uid)
    assert (await jobs.get())["status"]["backoffCount"] == 1


@pytest.mark.scenario("B-13", "B-14", "B-20")
@pytest.mark.parametrize("code", [130, 137, 138, 143, 1, 134, 255, None])
async def test_exit_code_decides_whether_the_master_is_tried_again(
    jobs: Jobs, code: int | None
) -> None:
    base = await begun(jobs, restart="ExitCode")
    pod = await jobs.pod(f"{base}-worker-0")
    await jobs.fixture.kubelet.run(pod)
    if code is None:
        await jobs.fixture.kubelet.evict(pod)
    else:
        await jobs.fixture.kubelet.finish(pod, exit_code=code)
    if code in {1, 134, 255}:
        job = await jobs.comes_to("Failed")
        assert job["status"]["backoffCount"] == 0
        return
    await comes_again(jobs, f"{base}-worker-0", pod["metadata"]["uid"])
    await jobs.until("counted", lambda each: each["status"].get("backoffCount") == 1)


@pytest.mark.scenario("B-15")
async def test_final_failure_of_another_worker_leaves_the_job_running(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, "worker=3", restart="ExitCode")
    await jobs.comes_to("Running")
    await jobs.fixture.kubelet.finish(f"{base}-worker-2", exit_code=1)
    job = await jobs.until("seen", lambda each: statuses_of(each)["ReplicaFailure"] == "True")
    assert (phase_of(job), replicas_of(job, "worker")[2]) == ("Running", "Failed")
    await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=0)
    await jobs.comes_to("Succeeded")


@pytest.mark.scenario("B-16")
async def test_retries_are_shared_by_all_replicas(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, "worker=4", restart="OnFailure", runPolicy={"backoffLimit": 2})
    await jobs.comes_to("Running")
    for index in (1, 2):
        name = f"{base}-worker-{index}"
        uid = await uid_of(jobs, name)
        await jobs.fixture.kubelet.finish(name, exit_code=1)
        await comes_again(jobs, name, uid)
    await jobs.until("both run", lambda each: each["status"]["aggregate"]["running"] == 4)
    await jobs.fixture.kubelet.finish(f"{base}-worker-3", exit_code=1)
    job = await jobs.until("stays", lambda each: replicas_of(each, "worker")[3] == "Failed")
    assert phase_of(job) == "Running"
    await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=1)
    job = await jobs.comes_to("Failed")
    assert job["status"]["backoffCount"] == 2


@pytest.mark.scenario("B-18")
async def test_always_tries_again_what_succeeded_but_for_the_master(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, "worker=2", restart="Always")
    await jobs.comes_to("Running")
    uid = await uid_of(jobs, f"{base}-worker-1")
    await jobs.fixture.kubelet.finish(f"{base}-worker-1", exit_code=0)
    await comes_again(jobs, f"{base}-worker-1", uid)
    await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=0)
    job = await jobs.comes_to("Succeeded")
    assert job["status"]["backoffCount"] == 1


@pytest.mark.scenario("B-36")
async def test_finished_job_shows_each_container(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs, exits(0))
    base = await begun(jobs)
    uid = await uid_of(jobs, f"{base}-worker-0")
    job = await jobs.comes_to("Succeeded")
    [task] = job["status"]["tasks"]
    shown = {"name": f"{base}-worker-0", "uid": uid, "phase": "Succeeded"}
    container = {"name": "tensorflow", "state": "Terminated", "exitCode": 0}
    assert task["replicas"] == [{**shown, "containers": [container]}]
    assert (task["type"], task["restartCount"]) == ("worker", 0)
