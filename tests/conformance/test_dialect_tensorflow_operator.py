"""TfJobs of tensorflow.org/v1alpha1: an operator that is configured, killed, or rejected."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.dialect_jobs import Jobs, entry, env_of, id_of, phase_of, pod_template, tf_job
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture

Json = dict[str, Any]
GPU = "alpha.kubernetes.io/nvidia-gpu"
ACCELERATORS = {
    GPU: {
        "volumes": [{"name": "cuda-lib", "hostPath": "/home/cuda", "mountPath": "/usr/local/cuda"}],
        "envVars": [{"name": "CUDA_HOME", "value": "/usr/local/cuda"}],
    }
}


@pytest.fixture
async def jobs(fixture: JobFixture) -> AsyncIterator[Jobs]:
    made = Jobs(fixture, "tensorflow.org/v1alpha1")
    yield made
    await made.clear()


@contextmanager
def configured(jobs: Jobs, folder: Path, **config: Any) -> Iterator[None]:
    """Another operator in the place of the usual one, with a configuration file."""
    file = folder / "controller_config_file.yaml"
    file.write_text(yaml.safe_dump(config))
    env = jobs.fixture.env
    env.operator.kill()
    flags = (f"--controller-config-file={file}", f"--namespace={jobs.fixture.namespace}")
    other = env.new_operator(*flags, name=f"configured-{jobs.fixture.namespace}")
    try:
        other.start()
        yield
    finally:
        other.close()


async def begun(jobs: Jobs, job: Json) -> str:
    name = (await jobs.create(job))["metadata"]["name"]
    return id_of(await jobs.until("has begun", lambda each: phase_of(each) != "", name=name))


async def test_what_nobody_knows_is_passed_over(jobs: Jobs) -> None:
    job = tf_job(entry(hyperparameters={"rate": 1}), schedulerName="other", colour="blue")
    rid = await begun(jobs, job)
    await jobs.has("jobs", {f"master-{rid}-0"})
    assert (await jobs.pod(f"master-{rid}-0"))["spec"]["schedulerName"] == "default-scheduler"


async def test_kind_of_a_later_time_is_rejected(jobs: Jobs) -> None:
    assert "TfJob" in await jobs.refused({**tf_job(), "kind": "TFJob"})


async def test_job_with_a_long_name_is_reconciled_when_its_pods_change(jobs: Jobs) -> None:
    """A label holds 63 characters, a name more: a change of a pod must find its job anyway."""
    name = f"{'long-' * 20}name"
    jobs.fixture.kubelet.script("*", runs)
    rid = await begun(jobs, tf_job(name=name))
    await jobs.comes_to("Running", name=name)
    pod = await jobs.pod(f"master-{rid}-0")
    assert pod["metadata"]["labels"]["tf_job_name"] == name[:63].rstrip("-")
    await jobs.fixture.kubelet.finish(pod, exit_code=0)
    assert (await jobs.comes_to("Done", name=name))["status"]["state"] == "Succeeded"


@pytest.mark.scenario("A-25")
@pytest.mark.parametrize("where", [("limits",), ("limits", "requests")], ids=["once", "twice"])
async def test_container_that_asks_for_an_accelerator_gets_its_drivers(
    jobs: Jobs, tmp_path: Path, where: tuple[str, ...]
) -> None:
    asking = pod_template(container={"resources": {each: {GPU: 1} for each in where}})
    with configured(jobs, tmp_path, accelerators=ACCELERATORS):
        rid = await begun(jobs, tf_job(entry(template=asking), entry("WORKER")))
        batch = {name: (await jobs.object("jobs", f"{name}-{rid}-0"))["spec"]["template"]
                 for name in ("master", "worker")}  # fmt: skip
    pod = batch["master"]["spec"]
    assert [each["hostPath"]["path"] for each in pod["volumes"]] == ["/home/cuda"]
    mounts = pod["containers"][0]["volumeMounts"]
    assert [(each["name"], each["mountPath"]) for each in mounts] == [
        ("cuda-lib", "/usr/local/cuda")
    ]
    assert env_of(batch["master"], "CUDA_HOME") == "/usr/local/cuda"
    assert not batch["worker"]["spec"].get("volumes")
    assert env_of(batch["worker"], "CUDA_HOME") is None
    stored = (await jobs.get())["spec"]["replicaSpecs"][0]["template"]["spec"]
    assert "volumes" not in stored


@pytest.mark.scenario("A-31")
async def test_children_can_be_named_after_the_job(jobs: Jobs, tmp_path: Path) -> None:
    name = "n" * 50
    with configured(jobs, tmp_path, v1alpha1={"naming": "jobPrefixed"}):
        rid = await begun(jobs, tf_job(name=name))
        child = f"{'n' * 40}-master-{rid}-0"
        await jobs.has("jobs", {child})
        await jobs.has("services", {child})
        config = json.loads(env_of(await jobs.pod(child)))
        assert config["cluster"] == {"master": [f"{child}:2222"]}


@pytest.mark.scenario("A-33")
async def test_clean_up_leaves_nothing_but_tensorboard(jobs: Jobs, tmp_path: Path) -> None:
    jobs.fixture.kubelet.script("*", runs)
    with configured(jobs, tmp_path, v1alpha1={"cleanPodPolicy": "All"}):
        rid = await begun(jobs, tf_job(entry(), entry("PS"), tensorboard={"logDir": "/logs"}))
        await jobs.comes_to("Running")
        board = f"tensorboard-{rid}"
        await jobs.has("deployments", {board})
        await jobs.fixture.kubelet.finish(await jobs.pod(f"master-{rid}-0"), exit_code=0)
        job = await jobs.comes_to("Done")
        assert job["status"]["state"] == "Succeeded"
        await jobs.has("jobs", ())
        await jobs.has("services", {board})
        await jobs.has("deployments", {board})

        async def replicas_are_gone() -> bool:
            return all(name.startswith(board) for name in await jobs.owned("pods"))

        await jobs.eventually("no pod of a replica", replicas_are_gone)


@pytest.mark.scenario("A-26")
async def test_operator_continues_with_the_runtime_id_that_is_stored(jobs: Jobs) -> None:
    """What a killed operator leaves behind that has stored the id and made nothing yet."""
    jobs.fixture.kubelet.script("*", runs)
    jobs.fixture.env.operator.kill()
    await jobs.create(tf_job(entry(), entry("WORKER"), RuntimeId="76no"))
    jobs.fixture.env.operator.start()
    names = {"master-76no-0", "worker-76no-0"}
    await jobs.has("jobs", names)
    await jobs.has("services", names)
    assert id_of(await jobs.comes_to("Running")) == "76no"


@pytest.mark.scenario("A-27")
async def test_restarted_operator_makes_nothing_twice_and_leaves_ended_jobs_alone(
    jobs: Jobs,
) -> None:
    jobs.fixture.kubelet.script("*", runs)
    done = await begun(jobs, tf_job(name="done"))
    await jobs.fixture.kubelet.finish(await jobs.pod(f"master-{done}-0"), exit_code=0)
    ended = await jobs.comes_to("Done", name="done")
    await begun(jobs, tf_job(entry(), entry("WORKER", 2)))
    await jobs.comes_to("Running")
    before = {name: each["metadata"]["uid"] for name, each in (await jobs.objects("jobs")).items()}
    jobs.fixture.env.operator.restart()
    marker = await begun(jobs, tf_job(name="marker"))
    await jobs.has("jobs", {*before, f"master-{marker}-0"})
    after = {name: each["metadata"]["uid"] for name, each in (await jobs.objects("jobs")).items()}
    assert before.items() <= after.items()
    assert (await jobs.get("done"))["metadata"] == ended["metadata"]
    assert phase_of(await jobs.get()) == "Running"


@pytest.mark.scenario("A-28")
async def test_service_is_recreated_while_the_job_runs_and_not_afterwards(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    rid = await begun(jobs, tf_job(entry(), entry("PS")))
    await jobs.comes_to("Running")
    path = f"/api/v1/namespaces/{jobs.fixture.namespace}/services/ps-{rid}-0"
    uid = (await jobs.object("services", f"ps-{rid}-0"))["metadata"]["uid"]
    await jobs.fixture.call("DELETE", path)

    async def is_another() -> bool:
        found = (await jobs.objects("services")).get(f"ps-{rid}-0")
        return found is not None and found["metadata"]["uid"] != uid

    await jobs.eventually("the service is made again", is_another)
    await jobs.fixture.kubelet.finish(await jobs.pod(f"master-{rid}-0"), exit_code=0)
    await jobs.comes_to("Done")
    await jobs.fixture.call("DELETE", path)
    await begun(jobs, tf_job(name="marker"))
    await begun(jobs, tf_job(name="marker-2"))
    assert f"ps-{rid}-0" not in await jobs.owned("services")


@pytest.mark.scenario("A-30")
async def test_taken_name_is_reported_and_used_once_it_is_free(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    path = f"/apis/batch/v1/namespaces/{jobs.fixture.namespace}/jobs"
    spec = {"template": pod_template(restartPolicy="Never"), "suspend": True}
    await jobs.fixture.call("POST", path, {"metadata": {"name": "master-same-0"}, "spec": spec})
    await jobs.create(tf_job(entry(), entry("WORKER"), RuntimeId="same"))
    job = await jobs.until("told why", lambda each: (each.get("status") or {}).get("reason"))
    assert job["status"]["reason"].startswith("Could not create job resources;")
    assert phase_of(job) == "Creating"
    await jobs.fixture.event("FailedCreate", "master-same-0", kind="Warning")
    await jobs.has("jobs", {"master-same-0", "worker-same-0"})
    gone = {"propagationPolicy": "Background"}
    await jobs.fixture.call("DELETE", f"{path}/master-same-0", gone)
    job = await jobs.comes_to("Running")
    assert job["status"]["reason"] == ""


@pytest.mark.scenario("A-30")
async def test_rejected_child_is_reported_and_created_once_it_is_allowed(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    quotas = f"/api/v1/namespaces/{jobs.fixture.namespace}/resourcequotas"
    hard = {"hard": {"count/jobs.batch": "0"}}
    await jobs.fixture.call("POST", quotas, {"metadata": {"name": "none"}, "spec": hard})

    async def is_counted() -> bool:
        found = await jobs.fixture.call("GET", f"{quotas}/none")
        return "used" in found.get("status", {})

    await jobs.eventually("the quota is counted", is_counted)
    rid = await begun(jobs, tf_job(entry(), entry("WORKER")))
    job = await jobs.until(
        "told why", lambda each: each["status"]["reason"].startswith("Could not create")
    )
    assert job["status"]["reason"].startswith("Could not create job resources;")
    assert phase_of(job) == "Creating"
    await jobs.fixture.event("FailedCreate", "Error creating:", kind="Warning")
    await jobs.fixture.call("DELETE", f"{quotas}/none")
    await jobs.has("jobs", {f"master-{rid}-0", f"worker-{rid}-0"})
    job = await jobs.comes_to("Running")
    assert job["status"]["reason"] == ""
