"""TfJobs of tensorflow.org/v1alpha1: their children, and how they end."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.dialect_jobs import (
    Jobs,
    entry,
    env_of,
    id_of,
    owner_of,
    phase_of,
    pod_template,
    tf_job,
)
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture

Json = dict[str, Any]
WHOLE = (entry("MASTER"), entry("WORKER"), entry("PS", 2))
NO_TRAINING = {"spec": {"containers": [{"name": "main", "image": "example.invalid/a"}]}}


@pytest.fixture
async def jobs(fixture: JobFixture) -> AsyncIterator[Jobs]:
    made = Jobs(fixture, "tensorflow.org/v1alpha1")
    yield made
    await made.clear()


async def started(jobs: Jobs, job: Json) -> str:
    """The runtime id of a job once it is stored and its children are being made."""
    made = await jobs.create(job)
    name = made["metadata"]["name"]
    found = await jobs.until("has begun", lambda each: phase_of(each) != "", name=name)
    return id_of(found)


async def settled(jobs: Jobs) -> None:
    """Wait until the operator has looked at all that was there: it serves jobs in order."""
    for name in ("marker-1", "marker-2"):
        await started(jobs, tf_job(name=name))
        await jobs.delete(name)


def states_of(job: Json) -> dict[str, tuple[str, dict[str, int]]]:
    found = job["status"]["replicaStatuses"]
    return {each["tf_replica_type"]: (each["state"], each["ReplicasStates"]) for each in found}


@pytest.mark.scenario("A-01", "A-02", "A-03", "A-32")
async def test_published_example_has_all_its_children_under_one_runtime_id(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    rid = await started(jobs, tf_job(*WHOLE))
    assert len(rid) == 4
    assert rid.isalnum()
    assert rid == rid.lower()
    names = {f"{role}-{rid}-{index}" for role, index in
             (("master", 0), ("worker", 0), ("ps", 0), ("ps", 1))}  # fmt: skip
    await jobs.has("jobs", names)
    await jobs.has("services", names)
    await jobs.has("configmaps", {f"cm-ps-{rid}"})
    job = await jobs.comes_to("Running")
    assert job["status"]["state"] == "Running"
    cluster = (
        f'{{"cluster":{{"master":["master-{rid}-0:2222"],"ps":["ps-{rid}-0:2222",'
        f'"ps-{rid}-1:2222"],"worker":["worker-{rid}-0:2222"]}},'
    )
    pods = [await jobs.pod(f"{name}-{rid}-{index}") for name, index in (("worker", 0), ("ps", 1))]
    assert env_of(pods[0]) == cluster + '"task":{"type":"worker","index":0},"environment":"cloud"}'
    assert env_of(pods[1]) == cluster + '"task":{"type":"ps","index":1},"environment":"cloud"}'
    server = pods[1]["spec"]["containers"][0]
    listed = (
        f"master|master-{rid}-0:2222,ps|ps-{rid}-0:2222;ps-{rid}-1:2222,worker|worker-{rid}-0:2222"
    )
    assert server["command"] == [
        *("python", "/ps-server/grpc_tensorflow_server.py", "--cluster_spec", listed),
        *("--job_name", "ps", "--task_id", "1"),
    ]
    for kind in ("jobs", "services", "configmaps"):
        for child in (await jobs.objects(kind)).values():
            owner = owner_of(child)
            assert owner["uid"] == job["metadata"]["uid"]
            assert (owner["controller"], owner["blockOwnerDeletion"]) == (True, True)


@pytest.mark.scenario("A-03", "A-04")
async def test_what_a_user_left_out_is_shown(jobs: Jobs) -> None:
    await started(jobs, tf_job({"template": pod_template()}, entry("PS", 1)))
    job = await jobs.get()
    assert [each["tfPort"] for each in job["spec"]["replicaSpecs"]] == [2222, 2222]
    master, server = job["status"]["replicaSpecs"]
    assert master == {"tfReplicaType": "MASTER", "IsDefaultPS": False}
    assert server["IsDefaultPS"] is True
    [container] = server["template"]["spec"]["containers"]
    assert container["image"] == job["spec"]["tfImage"] == "tensorflow/tensorflow:1.3.0"
    assert [each["mountPath"] for each in container["volumeMounts"]] == ["/ps-server"]


@pytest.mark.scenario("A-05")
async def test_runtime_id_and_ports_of_a_user_are_kept(jobs: Jobs) -> None:
    entries = (
        entry("MASTER", tfPort=42),
        entry("PS", 2, tfPort=22),
        entry("WORKER", 3, tfPort=40),
    )
    rid = await started(jobs, tf_job(*entries, RuntimeId="runtime"))
    assert rid == "runtime"
    config = json.loads(env_of(await jobs.pod("worker-runtime-2")))
    assert config["cluster"] == {
        "master": ["master-runtime-0:42"],
        "ps": ["ps-runtime-0:22", "ps-runtime-1:22"],
        "worker": [f"worker-runtime-{index}:40" for index in range(3)],
    }
    for name, port in (("master", 42), ("ps", 22), ("worker", 40)):
        service = await jobs.object("services", f"{name}-runtime-0")
        [found] = service["spec"]["ports"]
        assert (found["name"], found["port"]) == ("tf-port", port)


@pytest.mark.scenario("A-06")
async def test_older_spellings_mean_the_same(jobs: Jobs) -> None:
    job = tf_job(tensorBoard={"logDir": "/tmp/logs"})  # noqa: S108 - a path in a pod
    job["spec"]["replica_specs"] = job["spec"].pop("replicaSpecs")
    rid = await started(jobs, job)
    await jobs.has("jobs", {f"master-{rid}-0"})
    await jobs.has("deployments", {f"tensorboard-{rid}"})


@pytest.mark.scenario("A-07", "A-08", "A-09", "A-11", "A-12", "A-24")
@pytest.mark.parametrize(
    ("job", "text"),
    [
        (tf_job(entry("MASTER", 2)), "The MASTER must have Replicas = 1"),
        (
            tf_job(entry(), entry("WORKER", template=NO_TRAINING)),
            "Replica type WORKER is missing a container named tensorflow",
        ),
        (tf_job(entry("WORKER")), "Missing ReplicaSpec for chief: MASTER"),
        (tf_job(entry(), entry()), "duplicate ReplicaSpec for type MASTER"),
        (tf_job(entry("EVALUATOR")), "must be one of [MASTER PS WORKER]"),
        (tf_job(entry("master")), "must be one of [MASTER PS WORKER]"),
        (tf_job(tensorboard={}), "tbReplicaSpec.LogDir must be specified"),
        (tf_job(entry(tfPort=0)), "tfPort must be in 1..65535"),
        (tf_job(RuntimeId="Not_A_Label"), "RuntimeId is not a DNS label"),
        (
            tf_job(entry(template=pod_template(restartPolicy="Always"))),
            "restartPolicy must be OnFailure or Never",
        ),
    ],
    ids=["two masters", "no container", "no chief", "twice", "unknown", "misspelt", "no logs",
         "port", "id", "always"],
)  # fmt: skip
async def test_job_that_cannot_be_run_is_rejected_by_its_fault(
    jobs: Jobs, job: Json, text: str
) -> None:
    assert text in await jobs.refused(job)


async def test_running_job_keeps_its_spec(jobs: Jobs) -> None:
    await started(jobs, tf_job())
    words = await jobs.edit_refused({"tfImage": "example.invalid/other"})
    assert "RuntimeId" in words


@pytest.mark.scenario("A-10")
async def test_chosen_chief_decides_alone(jobs: Jobs) -> None:
    chief = {"chief": {"replicaName": "WORKER", "replicaIndex": 0}}
    jobs.fixture.kubelet.script("*", runs)
    rid = await started(jobs, tf_job(entry("WORKER", 2), terminationPolicy=chief))
    await jobs.comes_to("Running")
    await jobs.pod(f"worker-{rid}-1")
    await jobs.until("both run", lambda job: states_of(job)["WORKER"][1] == {"Running": 2})
    await jobs.fixture.kubelet.finish(await jobs.pod(f"worker-{rid}-0"), exit_code=0)
    job = await jobs.comes_to("Done")
    assert job["status"]["state"] == "Succeeded"
    assert states_of(job)["WORKER"] == ("Running", {"Succeeded": 1, "Running": 1})


@pytest.mark.scenario("A-13")
async def test_masters_success_is_the_jobs_and_the_others_stay(jobs: Jobs) -> None:
    jobs.fixture.kubelet.script("*", runs)
    rid = await started(jobs, tf_job(*WHOLE))
    await jobs.until("all run", lambda job: len(job["status"]["replicaStatuses"]) == 3 and all(
        state == "Running" for state, _ in states_of(job).values()))  # fmt: skip
    await jobs.comes_to("Running")
    await jobs.fixture.kubelet.finish(await jobs.pod(f"master-{rid}-0"), exit_code=0)
    job = await jobs.comes_to("Done")
    assert (job["status"]["state"], job["status"]["reason"]) == ("Succeeded", "")
    assert states_of(job) == {
        "MASTER": ("Succeeded", {"Succeeded": 1}),
        "WORKER": ("Running", {"Running": 1}),
        "PS": ("Running", {"Running": 2}),
    }
    await jobs.fixture.event("JobSucceeded", kind="Normal")
    assert f"worker-{rid}-0" in await jobs.owned("jobs")
    assert f"ps-{rid}-1" in await jobs.owned("jobs")


@pytest.mark.scenario("A-14", "A-15", "A-16", "A-17", "A-21")
@pytest.mark.parametrize(
    ("ways", "phase", "state"),
    [
        ([(1, "")], "Done", "Failed"),
        ([(137, "Error")], "Running", "Running"),
        ([(137, "OOMKilled")], "Done", "Failed"),
        ([(143, ""), (0, "")], "Done", "Succeeded"),
    ],
    ids=["final", "killed", "out of memory", "succeeds after a retry"],
)
async def test_masters_exit_decides_although_its_node_restarts_it(
    jobs: Jobs, ways: list[tuple[int, str]], phase: str, state: str
) -> None:
    sidecar = {"name": "sidecar", "image": "example.invalid/a"}
    template = pod_template(sidecar, restartPolicy="OnFailure")
    rid = await started(jobs, tf_job(entry(template=template)))
    pod = await jobs.pod(f"master-{rid}-0")
    await jobs.fixture.kubelet.run(pod)
    await jobs.comes_to("Running")
    await jobs.fixture.kubelet.restart_container(pod, container="sidecar", exit_code=1)
    for code, reason in ways:
        await jobs.fixture.kubelet.finish(pod, exit_code=code, reason=reason)
    await settled(jobs)
    job = await jobs.until("judged", lambda each: phase_of(each) == phase)
    assert job["status"]["state"] == state
    if state == "Failed":
        assert states_of(job)["MASTER"] == ("Failed", {"Failed": 1})
        await jobs.fixture.event("JobFailed", kind="Warning")

        async def is_stopped() -> bool:
            batch = (await jobs.objects("jobs"))[f"master-{rid}-0"]
            return bool(batch["spec"].get("suspend"))

        await jobs.eventually("the batch Job is stopped", is_stopped)


@pytest.mark.scenario("A-18", "A-19")
async def test_failures_of_workers_and_servers_are_shown_and_do_not_fail_the_job(
    jobs: Jobs,
) -> None:
    jobs.fixture.kubelet.script("*", runs)
    rid = await started(jobs, tf_job(*WHOLE))
    await jobs.comes_to("Running")
    for name, times in ((f"worker-{rid}-0", 7), (f"ps-{rid}-0", 1)):
        await jobs.fixture.kubelet.restart_container(await jobs.pod(name), times, exit_code=1)
    job = await jobs.until("shown", lambda each: states_of(each)["WORKER"][0] == "Failed")
    assert (phase_of(job), job["status"]["state"]) == ("Running", "Running")
    batch = (await jobs.objects("jobs"))[f"worker-{rid}-0"]
    assert batch["spec"]["backoffLimit"] == 2147483647
    assert not [
        each for each in batch["status"].get("conditions") or () if each["type"] == "Failed"
    ]


@pytest.mark.scenario("A-20b")
async def test_final_exit_counts_although_a_second_pod_was_created(jobs: Jobs) -> None:
    template = pod_template(restartPolicy="Never")
    rid = await started(jobs, tf_job(entry(template=template)))
    first = await jobs.pod(f"master-{rid}-0")
    await jobs.fixture.kubelet.run(first)
    await jobs.comes_to("Running")
    jobs.fixture.env.operator.kill()
    await jobs.fixture.kubelet.finish(first, exit_code=2)

    async def has_second() -> bool:
        return len(await jobs.owned("pods")) > 1

    await jobs.eventually("a second pod", has_second)
    [second] = await jobs.owned("pods") - {first["metadata"]["name"]}
    await jobs.fixture.kubelet.run(second)
    jobs.fixture.env.operator.start()
    job = await jobs.comes_to("Done")
    assert job["status"]["state"] == "Failed"


@pytest.mark.scenario("A-22", "A-23")
@pytest.mark.parametrize("is_exposed", [False, True], ids=["plain", "exposed"])
async def test_tensorboard_is_a_deployment_and_a_service(jobs: Jobs, is_exposed: bool) -> None:
    more: Json = {}
    if is_exposed:
        azure = {"secretName": "azure-secret", "shareName": "data", "readOnly": False}
        more = {
            "volumes": [{"name": "azurefile", "azureFile": azure}],
            "volumeMounts": [{"name": "azurefile", "mountPath": "/logs"}],
            "serviceType": "LoadBalancer",
        }
    rid = await started(jobs, tf_job(tensorboard={"logDir": "/logs", **more}))
    name = f"tensorboard-{rid}"
    board, service = await jobs.object("deployments", name), await jobs.object("services", name)
    pod = board["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert (board["spec"]["replicas"], container["image"]) == (1, "tensorflow/tensorflow:1.3.0")
    assert container["command"] == ["tensorboard", "--logdir", "/logs", "--host", "0.0.0.0"]  # noqa: S104
    labels = {"tensorflow.org": "", "runtime_id": rid, "tf_job_name": "j", "app": "tensorboard"}
    assert board["metadata"]["labels"] == board["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    [port] = service["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("tb-port", 80, 6006)
    assert service["spec"]["type"] == ("LoadBalancer" if is_exposed else "ClusterIP")
    if is_exposed:
        assert pod["volumes"][0]["azureFile"]["shareName"] == "data"
        assert container["volumeMounts"][0]["mountPath"] == "/logs"
    for child in (board, service):
        assert owner_of(child)["kind"] == "TfJob"


@pytest.mark.scenario("A-29")
async def test_everything_goes_with_the_job_and_its_name_is_free_again(jobs: Jobs) -> None:
    board = {"logDir": "/logs"}
    jobs.fixture.kubelet.script("master-*", runs, exits(0))
    jobs.fixture.kubelet.script("*", runs)
    first = await started(jobs, tf_job(*WHOLE, tensorboard=board))
    await jobs.has("deployments", {f"tensorboard-{first}"})
    await jobs.delete()
    for kind in ("jobs", "pods", "services", "configmaps", "deployments"):
        await jobs.has(kind, ())
    assert await started(jobs, tf_job(*WHOLE)) != first
