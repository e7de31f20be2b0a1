"""What makes an operator use its permissions on jobs of tensorflow.org and batch.tensorstack.dev.

Each scenario ends after the operator's last request. Nothing is checked here: the audit log of
the server lists the requests.
"""

from typing import Any

from tests.support.dialect_jobs import Jobs, entry, id_of, tf_job, training_job
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture
from tests.support.operator_process import OperatorProcess

Json = dict[str, Any]
BOARD = {"logDir": "/logs"}
FILESETS = {"image": "example.invalid/a", "trainingLogFilesets": ["t9k://pvc/p/log"]}
QUEUE = {"t9kScheduler": {"queue": "q"}}
_CONTAINER = {"name": "tensorflow", "image": "example.invalid/a"}
_POD = {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}


async def old_job_is_completed_and_cleared_away(fixture: JobFixture) -> None:
    """Needs an operator that cleans everything up."""
    jobs = Jobs(fixture, "tensorflow.org/v1alpha1")
    fixture.kubelet.script("*", runs)
    await jobs.create(tf_job(entry(), entry("PS"), tensorboard=BOARD, name="old"))
    job = await jobs.until("all of it runs", _is_running, name="old")
    await fixture.kubelet.finish(await jobs.pod(f"master-{id_of(job)}-0"), exit_code=0)
    await jobs.comes_to("Done", name="old")
    await jobs.has("jobs", ())
    await jobs.clear()


async def old_job_fails_for_good(fixture: JobFixture) -> None:
    """Needs an operator that keeps everything: the batch Job of the master is suspended."""
    jobs = Jobs(fixture, "tensorflow.org/v1alpha1")
    await jobs.create(tf_job(name="lost"))
    job = await jobs.until("it has its id", id_of, name="lost")
    master = f"master-{id_of(job)}-0"
    await fixture.kubelet.finish(await jobs.pod(master), exit_code=1)
    await jobs.comes_to("Done", name="lost")

    async def is_suspended() -> bool:
        return bool((await jobs.object("jobs", master))["spec"].get("suspend"))

    await jobs.eventually("its batch Job is suspended", is_suspended)
    await jobs.clear()


def _is_running(job: Json) -> bool:
    counts = job.get("status", {}).get("replicaStatuses", [])
    return [each["state"] for each in counts] == ["Running", "Running"]


async def old_names_are_taken(fixture: JobFixture) -> None:
    jobs = Jobs(fixture, "tensorflow.org/v1alpha1")
    space = fixture.namespace
    labels = {"matchLabels": {"own": "yes"}}
    template = {"metadata": {"labels": {"own": "yes"}}, "spec": {"containers": [_CONTAINER]}}
    for path, body in (
        (f"/apis/batch/v1/namespaces/{space}/jobs", _named("master-same-0", {"template": _POD})),
        (f"/api/v1/namespaces/{space}/configmaps", {"metadata": {"name": "cm-ps-same"}}),
        (
            f"/apis/apps/v1/namespaces/{space}/deployments",
            _named("tensorboard-same", {"selector": labels, "template": template}),
        ),
    ):
        await fixture.call("POST", path, body)
    job = tf_job(entry(), entry("PS"), tensorboard=BOARD, RuntimeId="same", name="same")
    await jobs.create(job)
    for name in ("master-same-0", "cm-ps-same", "tensorboard-same"):
        await fixture.event("FailedCreate", name, name="same")
    await jobs.clear()


async def training_pods_are_adopted(fixture: JobFixture) -> None:
    jobs = Jobs(fixture, "batch.tensorstack.dev/v1beta1")
    labels = {
        "tensorflowtrainingjob": "found",
        "tensorstack.dev/component": "tensorflowtrainingjob",
        "tensorstack.dev/component-type": "user",
        "replica-type": "worker",
        "replica-index": "0",
    }
    pod = {"metadata": {"name": "orphan", "labels": labels}, **_POD}
    await fixture.call("POST", f"/api/v1/namespaces/{fixture.namespace}/pods", pod)
    await jobs.create(training_job(name="found"))

    async def is_adopted() -> bool:
        found = (await fixture.pods()).get("orphan", {"metadata": {"ownerReferences": []}})
        return "ownerReferences" in found["metadata"]

    await jobs.eventually("the orphan is adopted", is_adopted)
    await jobs.clear()


async def tensorboard_is_put_to_sleep(fixture: JobFixture, kind: str) -> None:
    """The TensorBoard is a Deployment of the operator, or an object of the platform."""
    jobs = Jobs(fixture, "batch.tensorstack.dev/v1beta1")
    made = await jobs.create(training_job(name="board", tensorboardSpec=FILESETS))
    name = f"board-{id_of(made)}"
    await jobs.object(kind, name)
    await jobs.patch({"tensorboardSpec": {"suspend": True}}, "board")

    async def sleeps() -> bool:
        spec = (await jobs.objects(kind))[name]["spec"]
        return spec.get("suspend") is True or spec.get("replicas") == 0

    await jobs.eventually(f"{name} sleeps", sleeps)
    await jobs.clear()


async def name_of_the_platforms_tensorboard_is_taken(
    fixture: JobFixture, operator: OperatorProcess
) -> None:
    """The name is known only once the job exists, so the operator is paused meanwhile."""
    jobs = Jobs(fixture, "batch.tensorstack.dev/v1beta1")
    path = f"/apis/tensorstack.dev/v1beta1/namespaces/{fixture.namespace}/tensorboards"
    kind = {"apiVersion": "tensorstack.dev/v1beta1", "kind": "TensorBoard"}
    operator.pause()
    made = await jobs.create(training_job(name="same", tensorboardSpec=FILESETS))
    await fixture.call("POST", path, {**kind, **_named(f"same-{id_of(made)}", {})})
    operator.resume()
    await fixture.event("FailedCreate", "same", name="same")
    await jobs.clear()


async def queued_job_is_gathered(fixture: JobFixture) -> None:
    jobs = Jobs(fixture, "batch.tensorstack.dev/v1beta1")
    path = f"/apis/scheduler.tensorstack.dev/v1beta1/namespaces/{fixture.namespace}/podgroups"
    kind = {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup"}
    await fixture.call("POST", path, {**kind, **_named("queued", {})})
    await jobs.create(training_job("worker=2", name="queued", scheduler=QUEUE))
    await fixture.event("PodGroupUnavailable", name="queued")
    await fixture.call("DELETE", f"{path}/queued")
    await _until_members(jobs, [2])
    await fixture.call("PATCH", f"{path}/queued", {"spec": {"minMember": 1}})
    await _until_members(jobs, [2])
    await jobs.patch({"runMode": {"pause": {"enabled": True}}}, "queued")
    await _until_members(jobs, [])
    await jobs.clear()


async def _until_members(jobs: Jobs, members: list[int]) -> None:
    async def is_so() -> bool:
        found = (await jobs.objects("podgroups")).values()
        return [each["spec"].get("minMember") for each in found] == members

    await jobs.eventually(f"PodGroup of {members}", is_so)


def _named(name: str, spec: Json) -> Json:
    return {"metadata": {"name": name}, "spec": spec}
