"""Children are created and deleted independently, once, and only those that the job owns."""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager as Opened

import msgspec
import pytest

from tests.support.controller_harness import ControllerHarness, child
from tests.support.local_apiserver.in_memory import CORE, Json
from tfjob.client.errors import ApiError, Forbidden, NamespaceTerminating, NotFound, Transient
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.request import Request
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.job_events import JobEventRecorder
from tfjob.controller.result import Report
from tfjob.controller.slow_start import MAX_BACKOFF
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Create, Delete, Plan, Rule, Update

POD = Create(ChildKind.POD, "j-worker-0", "Worker", 0)
POD_PATH = f"{CORE}/pods/j-worker-0"


async def read(harness: ControllerHarness) -> tuple[Job, JobEventRecorder]:
    job = (await harness.snapshot()).job
    assert isinstance(job, Job)
    return job, JobEventRecorder(harness.recorder, job.owner, component="me", version="1")


async def applied(harness: ControllerHarness, plan: Plan) -> Report:
    job, recorder = await read(harness)
    return await harness.child_writer.apply(job, plan, recorder)


def foreign_pod(**metadata: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "j-worker-0", **metadata},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }


async def test_foreign_pod_with_the_name_of_a_child_is_an_error_and_is_kept(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        theirs = await harness.server.make(f"{CORE}/pods", foreign_pod())
        report = await applied(harness, Plan(creates=[POD]))
        assert len(report.errors) == 1
        stored = await harness.server.ask("GET", POD_PATH)
        assert stored["metadata"]["uid"] == theirs["metadata"]["uid"]
        told = await harness.told()
        assert [(kind, reason) for kind, reason, _ in told] == [("Warning", "FailedCreatePod")]
        assert 'pods "j-worker-0" already exists' in told[0][2]


async def test_create_waits_for_a_terminating_pod_of_that_name(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await harness.server.make(f"{CORE}/pods", foreign_pod(finalizers=["example.com/wait"]))
        await harness.server.ask("DELETE", POD_PATH)
        report = await applied(harness, Plan(creates=[POD]))
        assert (report.errors, report.retries_soon) == ([], True)


async def test_existing_pod_of_the_job_counts_as_created(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await applied(harness, Plan(creates=[POD]))
        stored = await harness.server.ask("GET", POD_PATH)
        report = await applied(harness, Plan(creates=[POD]))
        assert report.errors == []
        assert report.versions == {"Pod": stored["metadata"]["resourceVersion"]}
        assert harness.counted("created_pods_total") == 1


async def test_create_is_retried_if_the_conflicting_pod_disappears(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await harness.server.make(f"{CORE}/pods", foreign_pod())
        harness.server.refuse = lambda request: (
            NotFound("gone") if request.verb == "get" and request.path == POD_PATH else None
        )
        report = await applied(harness, Plan(creates=[POD]))
        assert (report.errors, report.retries_soon) == ([], True)


async def relabel(harness: ControllerHarness) -> None:
    """Create the pod, and take the labels of the job from it."""
    await applied(harness, Plan(creates=[POD]))
    pod = await harness.server.ask("GET", POD_PATH)
    pod["metadata"]["labels"] = {"app": "other"}
    await harness.server.ask("PUT", POD_PATH, pod)


async def test_relabelled_pod_is_released_and_keeps_its_name(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await relabel(harness)
        harness.stores.pods.remove(("default", "j-worker-0"))
        report = await applied(harness, Plan(creates=[POD]))
        assert len(report.errors) == 1
        stored = await harness.server.ask("GET", POD_PATH)
        assert "ownerReferences" not in stored["metadata"]


async def test_failed_release_does_not_stop_other_children(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W2")
        await relabel(harness)
        harness.server.refuse = lambda request: (
            Transient("500") if request.verb == "patch" else None
        )
        other = Create(ChildKind.POD, "j-worker-1", "Worker", 1)
        report = await applied(harness, Plan(creates=[POD, other]))
        assert await harness.server.names("pods") == ["j-worker-0", "j-worker-1"]
        assert Transient in {type(error) for error in report.errors}


@pytest.mark.scenario("R46")
async def test_pod_with_another_uid_is_not_deleted(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await applied(harness, Plan(creates=[POD]))
        report = await applied(
            harness, Plan(deletes=[Delete("Pod", "j-worker-0", "old-uid", Rule.SCALE_DOWN)])
        )
        assert report.errors == []
        assert await harness.server.names("pods") == ["j-worker-0"]
        assert harness.counted("deleted_pods_total") == 0
        absent = await applied(
            harness, Plan(deletes=[Delete("Pod", "j-worker-7", "x", Rule.SCALE_DOWN)])
        )
        assert absent.errors == []


async def test_rejected_delete_is_reported(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await applied(harness, Plan(creates=[POD]))
        uid = (await harness.server.ask("GET", POD_PATH))["metadata"]["uid"]
        harness.server.refuse = lambda request: (
            Forbidden("not you") if request.verb == "delete" else None
        )
        report = await applied(
            harness, Plan(deletes=[Delete("Pod", "j-worker-0", uid, Rule.SCALE_DOWN)])
        )
        assert [error.message for error in report.errors] == ["not you"]
        harness.server.refuse = lambda _: None
        told = await harness.told()
        assert any(reason == "FailedDeletePod" for _, reason, _ in told)


async def test_writes_are_logged_and_recorded_with_their_rule(
    controller: Opened[ControllerHarness], caplog: pytest.LogCaptureFixture
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        with caplog.at_level(logging.INFO, logger="tfjob"):
            await applied(harness, Plan(creates=[POD]))
            uid = (await harness.server.ask("GET", POD_PATH))["metadata"]["uid"]
            going = Delete("Pod", "j-worker-0", uid, Rule.SCALE_DOWN)
            await applied(harness, Plan(deletes=[going]))
            again = msgspec.structs.replace(POD, rule=Rule.DISRUPTION)
            await applied(harness, Plan(creates=[again]))
        lines = [
            (record.getMessage(), facts["namespace"], facts["job"], facts["child"], facts["rule"])
            for record in caplog.records
            if "rule" in (facts := vars(record))
        ]
        assert lines == [
            ("child deleted", "default", "j", "j-worker-0", "ScaleDown"),
            ("child created", "default", "j", "j-worker-0", "Disruption"),
        ]
        await harness.told()
        events = (await harness.server.ask("GET", f"{CORE}/events"))["items"]
        (told,) = (each for each in events if each["reason"] == "SuccessfulDeletePod")
        assert told["message"] == "Deleted pod: j-worker-0"
        assert told["metadata"]["annotations"] == {
            "tfjob.dev/child": "j-worker-0",
            "tfjob.dev/rule": "ScaleDown",
        }


async def test_misspelt_template_field_is_reported_with_the_message_of_the_server(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        containers = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
        containers[0]["imagePulPolicy"] = "Always"
        path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/j"
        assert (await harness.server.ask("PUT", path, job))["code"] == 200
        report = await applied(harness, Plan(creates=[POD]))
        assert 'unknown field "spec.containers[0].imagePulPolicy"' in report.errors[0].message
        assert await harness.server.names("pods") == []


async def test_terminating_namespace_is_not_retried_and_not_reported(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        is_pod = request.verb == "create" and request.path.endswith("/pods")
        return NamespaceTerminating("going") if is_pod else None

    async with controller as harness:
        await harness.submit("W1")
        harness.server.refuse = refuse
        report = await applied(harness, Plan(creates=[POD]))
        assert report.namespace_terminating
        assert await harness.told() == []


async def test_newest_version_of_each_kind_is_reported(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W12")
        creates = [Create(ChildKind.POD, f"j-worker-{n}", "Worker", n) for n in range(12)]
        report = await applied(harness, Plan(creates=creates))
        pods = await harness.server.ask("GET", f"{CORE}/pods")
        versions = [int(pod["metadata"]["resourceVersion"]) for pod in pods["items"]]
        assert report.versions == {"Pod": str(max(versions))}


@pytest.mark.parametrize("name", ["j-worker-0", "j-worker-9"])
async def test_update_of_a_replaced_child_is_retried(
    controller: Opened[ControllerHarness], name: str
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await applied(harness, Plan(creates=[POD]))
        update = Update("Pod", name, "another-uid", {"spec": {"activeDeadlineSeconds": 5}})
        report = await applied(harness, Plan(updates=[update]))
        assert (report.errors, report.retries_soon) == ([], True)


async def test_reported_error_is_that_of_the_first_child_in_plan_order(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        is_pod = request.verb == "create" and request.path.endswith("/pods")
        name = "0" if b'"name":"j-worker-0"' in (request.body or b"") else "1"
        return Forbidden(f"no room for {name}") if is_pod else None

    async with controller as harness:
        await harness.submit("W2")
        harness.server.refuse = refuse
        creates = [Create(ChildKind.POD, f"j-worker-{index}", "Worker", index) for index in (0, 1)]
        assert (await applied(harness, Plan(creates=creates))).first_create_error == "no room for 0"
        harness.elapsed += MAX_BACKOFF
        creates.reverse()
        assert (await applied(harness, Plan(creates=creates))).first_create_error == "no room for 1"
        assert (await applied(harness, Plan())).first_create_error == ""


async def test_existing_companion_counts_as_created_whatever_its_labels(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        body = child("Service", "beside", job)
        stored = await harness.server.make(f"{CORE}/services", body)
        report = await applied(harness, Plan(creates=[Create("Service", "beside", body=body)]))
        assert report.errors == []
        found = await harness.server.ask("GET", f"{CORE}/services/beside")
        assert found["metadata"]["ownerReferences"] == stored["metadata"]["ownerReferences"]


async def test_jobs_of_one_name_in_two_apis_do_not_share_a_lane(
    controller: Opened[ControllerHarness],
) -> None:
    order: list[str] = []

    async with controller as harness:
        await harness.submit("W1")
        job, recorder = await read(harness)
        owner = msgspec.structs.replace(job.owner, kind="Other", uid="another")
        other = msgspec.structs.replace(job, owner=owner)
        child_writer = ChildWriter(harness.server.api, FairSemaphore(1), harness.metrics)
        harness.server.refuse = lambda request: order.append(request.path)

        def plan(prefix: str, count: int) -> Plan:
            names = [f"{prefix}-{number}" for number in range(count)]
            return Plan(
                deletes=[Delete(ChildKind.POD, name, "uid", Rule.SCALE_DOWN) for name in names]
            )

        await asyncio.gather(
            child_writer.apply(job, plan("wide", 20), recorder),
            child_writer.apply(other, plan("narrow", 1), recorder),
        )
    assert order.index(f"{CORE}/pods/narrow-0") < 3


async def test_a_job_of_another_namespace_does_not_wait_for_all_jobs_of_a_busy_one(
    controller: Opened[ControllerHarness],
) -> None:
    order: list[str] = []

    async with controller as harness:
        await harness.submit("W1")
        job, recorder = await read(harness)
        child_writer = ChildWriter(harness.server.api, FairSemaphore(1), harness.metrics)
        harness.server.refuse = lambda request: order.append(request.path)

        def of(namespace: str, uid: str) -> Job:
            owner = msgspec.structs.replace(job.owner, namespace=namespace, uid=uid)
            return msgspec.structs.replace(job, owner=owner)

        plan = Plan(deletes=[Delete(ChildKind.POD, "p", "uid", Rule.SCALE_DOWN)])
        many = [of("default", str(number)) for number in range(50)]
        jobs = [*many, of("small", "one")]
        await asyncio.gather(*(child_writer.apply(each, plan, recorder) for each in jobs))
    assert order.index("/api/v1/namespaces/small/pods/p") < 3


async def test_group_backs_off_after_several_name_conflicts(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        for index in range(40):
            pod = foreign_pod()
            pod["metadata"]["name"] = f"j-worker-{index}"
            await harness.server.make(f"{CORE}/pods", pod)
        await harness.submit("W40")
        result = await harness.one_pass()
        assert 10 < len(result.errors) < 30
        assert result.retry_after
