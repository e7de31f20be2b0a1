"""TensorFlowTrainingJobs of batch.tensorstack.dev: limits, modes, queues, TensorBoard, edits."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.dialect_jobs import Jobs, id_of, owner_of, phase_of, pod_template, training_job
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture, condition_of
from tests.support.vendor_crds import POD_GROUPS, TENSORBOARDS, crd_of

Json = dict[str, Any]
QUEUE = {"t9kScheduler": {"queue": "default", "priority": 50}}
BOARD = {"image": "t9kpublic/tensorboard:2.11.0", "trainingLogFilesets": ["t9k://pvc/p/log"]}
PAUSED = {"pause": {"enabled": True}}


@pytest.fixture
async def jobs(fixture: JobFixture) -> AsyncIterator[Jobs]:
    made = Jobs(fixture, "batch.tensorstack.dev/v1beta1")
    yield made
    await made.clear()


@contextmanager
def installed(env: Environment, *crds: Json) -> Iterator[None]:
    """Kinds of the vendor's, which the operator finds when it starts."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    env.server.install_crds(crds)
    try:
        env.operator.restart()
        yield
    finally:
        for each in crds:
            env.endpoint.request("DELETE", f"{path}/{each['metadata']['name']}")
        env.operator.kill()


async def begun(jobs: Jobs, roles: str = "worker=1", **fields: Any) -> str:
    made = await jobs.create(training_job(roles, **fields))
    return f"{made['metadata']['name']}-{id_of(made)}"


def main_of(pod: Json) -> Json:
    [found] = [each for each in pod["spec"]["containers"] if each["name"] == "tensorflow"]
    main: Json = found
    return main


@pytest.mark.scenario("B-19")
async def test_job_that_takes_too_long_fails_and_holds_nothing(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    await begun(jobs, "worker=2", runPolicy={"activeDeadlineSeconds": 2, "cleanUpPolicy": "None"})
    job = await jobs.comes_to("Failed")
    assert condition_of(job, "Failed")["reason"] == "DeadlineExceeded"
    await jobs.has("pods", ())


@pytest.mark.scenario("B-19b")
async def test_success_before_the_deadline_counts_when_it_is_seen_later(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, runPolicy={"activeDeadlineSeconds": 3})
    await jobs.comes_to("Running")
    jobs.fixture.env.operator.kill()
    await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=0)

    # The server's clock has to pass the deadline while nobody looks.
    started = (await jobs.get())["status"]["startTime"]
    path = f"/api/v1/namespaces/{jobs.fixture.namespace}/configmaps"
    counter = 0

    async def is_over() -> bool:
        nonlocal counter
        counter += 1
        made = await jobs.fixture.call("POST", path, {"metadata": {"name": f"clock-{counter}"}})
        return _seconds(made["metadata"]["creationTimestamp"]) > _seconds(started) + 4

    await jobs.eventually("the deadline has passed", is_over)
    jobs.fixture.env.operator.start()
    await jobs.comes_to("Succeeded")


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


@pytest.mark.scenario("B-22")
async def test_failure_is_counted_once_by_an_operator_and_the_next(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    base = await begun(jobs, restart="OnFailure")
    await jobs.comes_to("Running")
    # Held, so that the pod is still there when the operator is killed after counting it.
    path = f"/api/v1/namespaces/{jobs.fixture.namespace}/pods/{base}-worker-0"
    hold = {"metadata": {"finalizers": ["example.invalid/hold"]}}
    await jobs.fixture.call("PATCH", path, hold)
    await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=1)
    await jobs.until("counted", lambda each: each["status"].get("backoffCount") == 1)
    jobs.fixture.env.operator.restart()
    await jobs.create(training_job(name="marker", runMode=PAUSED))
    await jobs.comes_to("Paused", name="marker")
    assert (await jobs.get())["status"]["backoffCount"] == 1
    await jobs.fixture.call("PATCH", path, {"metadata": {"finalizers": []}})
    await jobs.until("runs again", lambda each: each["status"]["aggregate"]["running"] == 1)
    assert (await jobs.get())["status"]["backoffCount"] == 1


@pytest.mark.scenario("B-23")
async def test_queue_gives_a_group_before_the_pods(jobs: Jobs) -> None:
    with installed(jobs.fixture.env, crd_of(POD_GROUPS)):
        base = await begun(jobs, "worker=4", scheduler=QUEUE)
        pod = await jobs.pod(f"{base}-worker-3")
        group = await jobs.object("podgroups", "j")
        assert group["spec"] == {"minMember": 4, "queue": "default", "priority": 50}
        assert owner_of(group)["kind"] == "TensorFlowTrainingJob"
        assert _version(group) < _version(pod)
        assert pod["spec"]["schedulerName"] == "t9k-scheduler"
        labels = pod["metadata"]["labels"]
        prefix = "scheduler.tensorstack.dev"
        assert {key: labels[f"{prefix}/{key}"] for key in ("group-name", "queue", "role")} == {
            "group-name": "j",
            "queue": "default",
            "role": "worker",
        }
        await jobs.delete()
        await jobs.has("podgroups", ())


def _version(each: Any) -> int:
    return int(each["metadata"]["resourceVersion"])


@pytest.mark.scenario("B-24")
async def test_job_with_a_queue_waits_for_the_podgroup_kind_and_reports_it(jobs: Jobs) -> None:
    await begun(jobs, "worker=2", scheduler=QUEUE)
    await jobs.fixture.event("PodGroupUnavailable", kind="Warning")
    job = await jobs.until("told", lambda each: (each.get("status") or {}).get("conditions"))
    initialized = condition_of(job, "Initialized")
    assert (initialized["status"], initialized["reason"]) == ("False", "PodGroupUnavailable")
    assert phase_of(job) == "Pending"
    assert await jobs.owned("pods") == set()


@pytest.mark.scenario("B-25", "B-26", "B-27", "B-34")
@pytest.mark.parametrize(
    ("job", "text"),
    [
        (training_job(scheduler={"t9kScheduler": {"queue": "q", "priority": 101}}), "priority"),
        (training_job(scheduler={"t9kScheduler": {"priority": 1}}), "queue"),
        (training_job("ps=2"), "master"),
        (training_job("chief=2 worker=1"), "chief"),
        (training_job("worker=1 worker=1"), "worker"),
        (training_job("trainer=1"), "trainer"),
        (training_job(runPolicy={"cleanUpPolicy": "Some"}), "cleanUpPolicy"),
        (training_job(runPolicy={"backoffLimit": -1}), "backoffLimit"),
        (training_job(runPolicy={"activeDeadlineSeconds": 0}), "activeDeadlineSeconds"),
        (training_job(restart="Sometimes"), "restartPolicy"),
        (
            training_job(tensorboardSpec={**BOARD, "trainingLogFilesets": ["pvc://p/log"]}),
            "t9k://pvc/",
        ),
        (
            training_job(runMode={"debug": {"enabled": True, "replicaSpecs": [{"type": "ps"}]}}),
            "ps",
        ),
    ],
    ids=["priority", "queue", "only ps", "two chiefs", "twice", "type", "clean-up", "limit",
         "deadline", "restart", "fileset", "debug"],
)  # fmt: skip
async def test_job_that_cannot_be_run_is_rejected_by_its_fault(
    jobs: Jobs, job: Json, text: str
) -> None:
    assert text in await jobs.refused(job)


@pytest.mark.scenario("B-26")
async def test_template_without_the_training_container_is_rejected(jobs: Jobs) -> None:
    job = training_job()
    job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["name"] = "trainer"
    assert "tensorflow" in await jobs.refused(job)


async def test_what_nobody_knows_is_passed_over(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    await begun(jobs, runMode={"elastic": {"enabled": True}}, colour="blue")
    await jobs.comes_to("Running")


@pytest.mark.scenario("B-28")
async def test_debug_mode_starts_pods_without_the_training(jobs: Jobs) -> None:
    init = [{"name": "load", "image": "example.invalid/a"}]
    template = pod_template(
        container={"command": ["python"], "args": ["train.py"]}, initContainers=init
    )
    shell = {"type": "worker", "skipInitContainer": True, "command": ["/usr/bin/sshd"]}
    job = training_job(
        "worker=1 ps=1", runMode={"debug": {"enabled": True, "replicaSpecs": [shell]}}
    )
    for each in job["spec"]["replicaSpecs"]:
        each["template"] = template
    jobs.fixture.kubelet.script("*", runs)
    made = await jobs.create(job)
    base = f"j-{id_of(made)}"
    worker, server = [dict(await jobs.pod(f"{base}-{each}-0")) for each in ("worker", "ps")]
    assert (main_of(worker)["command"], main_of(server)["command"]) == (
        ["/usr/bin/sshd"],
        ["sleep", "inf"],
    )
    assert not main_of(worker).get("args")
    assert not main_of(server).get("args")
    assert not worker["spec"].get("initContainers")
    assert [each["name"] for each in server["spec"]["initContainers"]] == ["load"]
    assert "TF_CONFIG" in {each["name"] for each in main_of(worker)["env"]}
    await jobs.comes_to("Running")


@pytest.mark.scenario("B-29", "B-31")
@pytest.mark.parametrize("key", ["enabled", "enable"])
async def test_job_created_paused_has_no_pod(jobs: Jobs, key: str) -> None:
    await begun(jobs, "worker=2", runMode={"pause": {key: True}})
    job = await jobs.comes_to("Paused")
    assert condition_of(job, "Paused")["status"] == "True"
    assert await jobs.owned("pods") == set()


@pytest.mark.scenario("B-30")
async def test_resumed_job_uses_the_resume_commands(jobs: Jobs) -> None:
    resume = [{"type": "worker", "command": ["resume"]}]
    job = training_job("worker=2", runMode={"pause": {"enabled": False, "resumeSpecs": resume}})
    first = {"command": ["train"], "args": ["--fast"]}
    job["spec"]["replicaSpecs"][0]["template"] = pod_template(container=first)
    base = f"j-{id_of(await jobs.create(job))}"
    for index in (0, 1):
        await jobs.fixture.kubelet.run(await jobs.pod(f"{base}-worker-{index}"))
    await jobs.comes_to("Running")
    await jobs.patch({"runMode": {"pause": {"enabled": True}}})
    await jobs.comes_to("Paused")
    await jobs.has("pods", ())
    await jobs.patch({"runMode": {"pause": {"enabled": False}}})
    found = await jobs.comes_to("Resuming")
    assert condition_of(found, "Paused")["status"] == "False"
    for index in (0, 1):
        pod = await jobs.pod(f"{base}-worker-{index}")
        assert (main_of(dict(pod))["command"], main_of(dict(pod))["args"]) == (
            ["resume"],
            ["--fast"],
        )
        await jobs.fixture.kubelet.run(pod)
    found = await jobs.comes_to("Running")
    assert found["status"]["backoffCount"] == 0


@pytest.mark.scenario("B-32")
async def test_tensorboard_is_left_to_the_vendors_kind_where_it_is_installed(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    with installed(jobs.fixture.env, crd_of(TENSORBOARDS)):
        base = await begun(jobs, tensorboardSpec=BOARD)
        board = await jobs.object("tensorboards", base)
        assert board["spec"] == BOARD
        assert owner_of(board)["kind"] == "TensorFlowTrainingJob"
        await jobs.comes_to("Running")
        path = (
            f"/apis/tensorstack.dev/v1beta1/namespaces/{jobs.fixture.namespace}/tensorboards/{base}"
        )
        await jobs.fixture.call("PATCH", path, {"status": {"phase": "Running"}})
        job = await jobs.until("ready", lambda each: each["status"]["tensorboard"]["ready"])
        shown = job["status"]["tensorboard"]
        assert (shown["reason"], shown["note"]) == (
            "DependentReady",
            f"TensorBoard [{base}] is ready",
        )
        assert shown["dependent"]["uid"] == board["metadata"]["uid"]
        await jobs.fixture.kubelet.finish(f"{base}-worker-0", exit_code=0)
        await jobs.comes_to("Succeeded")
        assert base in await jobs.owned("tensorboards")
        assert await jobs.owned("deployments") == set()


@pytest.mark.scenario("B-33", "B-37")
async def test_tensorboard_is_built_where_the_vendors_kind_is_missing(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    claims = f"/api/v1/namespaces/{jobs.fixture.namespace}/persistentvolumeclaims"
    size = {"requests": {"storage": "1Gi"}}
    claim = {
        "metadata": {"name": "p"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": size},
    }
    await jobs.fixture.call("POST", claims, claim)
    base = await begun(jobs, tensorboardSpec=BOARD)
    board, service = await jobs.object("deployments", base), await jobs.object("services", base)
    pod = board["spec"]["template"]["spec"]
    [container], [volume] = pod["containers"], pod["volumes"]
    [mount] = container["volumeMounts"]
    assert container["image"] == BOARD["image"]
    assert volume["persistentVolumeClaim"]["claimName"] == "p"
    assert (mount["subPath"], mount["readOnly"]) == ("log", True)
    [port] = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, 6006)
    await jobs.comes_to("Running")
    await jobs.delete()
    for kind in ("pods", "services", "deployments"):
        await jobs.has(kind, ())
    assert (await jobs.fixture.call("GET", f"{claims}/p"))["metadata"]["name"] == "p"


@pytest.mark.scenario("B-35")
async def test_running_job_keeps_its_replicas(jobs: Jobs) -> None:
    base = await begun(jobs, "worker=1")
    uid = (await jobs.pod(f"{base}-worker-0"))["metadata"]["uid"]
    await jobs.until("seen", phase_of)
    words = await jobs.edit_refused(
        {"replicaSpecs": training_job("worker=2")["spec"]["replicaSpecs"]}
    )
    assert "runMode.pause.enabled" in words
    with pytest.raises(ApiError):
        await jobs.patch({"runPolicy": {"backoffLimit": 7}})
    assert (await jobs.pod(f"{base}-worker-0"))["metadata"]["uid"] == uid
    assert await jobs.owned("pods") == {f"{base}-worker-0"}
