"""One reconcile of one job, observed at the API server."""

from contextlib import AbstractAsyncContextManager as Opened
from datetime import timedelta

import pytest

from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tfjob.client.errors import ApiError, Forbidden, Transient
from tfjob.client.request import Request
from tfjob.controller import child_writer


async def test_new_job_gets_its_children_and_its_first_status(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("C1 W2")
        result = await harness.one_pass()
        names = ["j-chief-0", "j-worker-0", "j-worker-1"]
        assert await harness.server.names("pods") == names
        assert await harness.server.names("services") == names
        assert await harness.conditions() == ["Created"]
        assert set(result.versions) == {"Pod", "Service"}
        assert result.errors == []
        assert harness.counted("created_pods_total") == 3
        assert harness.counted("succeeded_service_creation_total") == 3
        created = "training_operator_jobs_created_total"
        assert harness.counted(created, job_namespace="default", framework="tensorflow") == 1


async def test_second_pass_over_a_settled_job_writes_nothing(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W2")
        await harness.one_pass()
        await harness.one_pass()
        before = harness.server.backend.store.revision
        result = await harness.one_pass()
        assert harness.server.backend.store.revision == before
        assert (result.versions, result.errors, result.retries_soon) == ({}, [], False)


async def test_job_that_is_gone_needs_nothing(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        result = await harness.one_pass()
        assert (result.requeue_at, result.errors, result.retries_soon) == (None, [], False)


async def test_stale_cache_makes_no_second_child(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit("W2")
        await harness.one_pass()
        pods = await harness.server.ask("GET", f"{CORE}/pods")
        harness.stores.pods.remove(("default", "j-worker-0"))
        result = await harness.reconciler.reconcile(KEY)
        assert result.errors == []
        again = await harness.server.ask("GET", f"{CORE}/pods")
        assert again["items"] == pods["items"]
        assert harness.counted("created_pods_total") == 2


async def test_failing_child_stops_neither_the_others_nor_the_status(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        is_chief = request.verb == "create" and b'"j-chief-0"' in (request.body or b"")
        return Forbidden("exceeded quota") if is_chief and "/pods" in request.path else None

    async with controller as harness:
        await harness.submit("C1 W2")
        harness.server.refuse = refuse
        result = await harness.one_pass()
        assert await harness.server.names("pods") == ["j-worker-0", "j-worker-1"]
        assert await harness.conditions() == ["Created"]
        assert [error.message for error in result.errors] == ["exceeded quota"]
        assert harness.counted("failed_pods_total") == 1
        told = await harness.told()
        assert ("Warning", "FailedCreatePod") in [(kind, reason) for kind, reason, _ in told]
        assert any("exceeded quota" in message for _, _, message in told)


async def test_events_follow_the_status_that_proves_them(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Transient("500") if request.path.endswith("/status") else None

    async with controller as harness:
        await harness.submit("W1")
        harness.server.refuse = refuse
        result = await harness.one_pass()
        assert len(result.errors) == 1
        created = "training_operator_jobs_created_total"
        assert harness.counted(created, job_namespace="default", framework="tensorflow") == 0
        reasons = {reason for _, reason, _ in await harness.told()}
        assert reasons == {"SuccessfulCreatePod", "SuccessfulCreateService"}


@pytest.mark.scenario(147)
async def test_nothing_is_restarted_where_the_count_cannot_be_stored(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Transient("500") if request.path.endswith("/status") else None

    async with controller as harness:
        await harness.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 1})
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 137)
        first = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        harness.server.refuse = refuse
        for _ in range(6):
            await harness.one_pass()
        found = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert found["metadata"]["uid"] == first["metadata"]["uid"]
        harness.server.refuse = lambda _: None
        for _ in range(3):
            await harness.one_pass()
        await harness.end_pod("j-worker-0", 137)
        for _ in range(3):
            await harness.one_pass()
        assert "Failed" in await harness.conditions()


async def test_verdict_is_stored_before_the_pods_it_follows_from_go(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Transient("500") if request.path.endswith("/status") else None

    async with controller as harness:
        await harness.submit("W1", run_policy={"cleanPodPolicy": "All"})
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 0)
        harness.server.refuse = refuse
        await harness.one_pass()
        assert await harness.server.names("pods") == ["j-worker-0"]
        harness.server.refuse = lambda _: None
        await harness.one_pass()
        await harness.one_pass()
        assert await harness.server.names("pods") == []
        assert "Succeeded" in await harness.conditions()


async def test_failed_pod_is_replaced_and_counted_once(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", restart="ExitCode")
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 137)
        await harness.one_pass()
        assert await harness.server.names("pods") == []
        assert "Restarting" in await harness.conditions()
        await harness.one_pass()
        assert await harness.server.names("pods") == ["j-worker-0"]
        restarted = "training_operator_jobs_restarted_total"
        assert harness.counted(restarted, job_namespace="default", framework="tensorflow") == 1
        assert harness.counted("tfjob_pods_replaced_total", job_namespace="default") == 1
        assert harness.counted("deleted_pods_total") == 1


async def test_finished_job_goes_when_its_time_has_come(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"ttlSecondsAfterFinished": 60})
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 0)
        await harness.one_pass()
        assert "Succeeded" in await harness.conditions()
        result = await harness.one_pass()
        assert result.requeue_at == harness.time + timedelta(seconds=60)
        harness.time += timedelta(seconds=61)
        await harness.one_pass()
        assert (await harness.job())["code"] == 404
        deleted = "training_operator_jobs_deleted_total"
        assert harness.counted(deleted, job_namespace="default", framework="tensorflow") == 1


async def test_job_that_cannot_be_deleted_is_tried_again(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"ttlSecondsAfterFinished": 0})
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 0)
        await harness.one_pass()
        harness.server.refuse = lambda request: (
            Forbidden("not you")
            if request.verb == "delete" and "/tfjobs/" in request.path
            else None
        )
        harness.time += timedelta(seconds=1)
        result = await harness.one_pass()
        assert [error.message for error in result.errors] == ["not you"]
        assert (await harness.job())["code"] == 200


async def test_invalid_job_fails_with_its_faults_and_gets_no_child(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.server.make(
            JOBS,
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "TFJob",
                "metadata": {"name": "j"},
                "spec": {"tfReplicaSpecs": {"Worker": {"replicas": "many"}}},
            },
        )
        await harness.one_pass()
        (condition,) = (await harness.job())["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("Failed", "InvalidTFJobSpec")
        assert "the spec is invalid: " in condition["message"]
        assert await harness.server.names("pods") == []
        before = harness.server.backend.store.revision
        await harness.one_pass()
        assert harness.server.backend.store.revision == before


async def test_orphan_is_adopted_before_anything_is_decided(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        await harness.one_pass()
        await harness.one_pass()
        pod = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        del pod["metadata"]["ownerReferences"]
        assert (await harness.server.ask("PUT", f"{CORE}/pods/j-worker-0", pod))["code"] == 200
        result = await harness.one_pass()
        assert result.retries_soon
        owned = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        (owner,) = owned["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)


async def test_adoption_that_may_succeed_later_is_waited_for(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await orphaned_pod(harness)
        error = Transient("500")
        harness.server.refuse = lambda request: error if request.verb == "patch" else None
        assert (await harness.one_pass()).errors == [error]


async def test_stray_that_is_rejected_for_good_does_not_stop_its_job(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await orphaned_pod(harness)
        await harness.server.ask("DELETE", f"{CORE}/services/j-worker-0")
        error = Forbidden("no")
        harness.server.refuse = lambda request: error if request.verb == "patch" else None
        assert error in (await harness.one_pass()).errors
        assert (await harness.server.ask("GET", f"{CORE}/services/j-worker-0"))["kind"] == "Service"


async def orphaned_pod(harness: ControllerHarness) -> None:
    await harness.submit("W1")
    await harness.one_pass()
    pod = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
    del pod["metadata"]["ownerReferences"]
    await harness.server.ask("PUT", f"{CORE}/pods/j-worker-0", pod)


async def test_limit_that_was_raised_meanwhile_costs_no_pod(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"activeDeadlineSeconds": 60})
        await harness.one_pass()
        harness.time += timedelta(seconds=61)
        await harness.look()
        job = await harness.job()
        job["spec"]["runPolicy"]["activeDeadlineSeconds"] = 600
        await harness.replace_job(job)
        await harness.reconciler.reconcile(KEY)
        assert "Failed" not in await harness.conditions()
        pod = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert pod["kind"] == "Pod"
        assert "deletionTimestamp" not in pod["metadata"]


async def test_pods_deleted_after_completion_are_not_recreated_from_a_stale_store(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"cleanPodPolicy": "All"})
        await harness.one_pass()
        await harness.look()
        old = harness.stores.jobs.get(KEY)
        assert old is not None
        await harness.end_pod("j-worker-0", 0)
        await harness.one_pass()
        await harness.one_pass()
        assert await harness.server.names("pods") == []
        await harness.look()
        harness.stores.jobs.put(old)
        result = await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == []
        assert await harness.conditions() == ["Created", "Succeeded"]
        assert result.errors == []


async def test_pod_of_a_run_that_another_leader_resumed_is_not_deleted_by_a_stale_view(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"suspend": True})
        await harness.one_pass()
        await harness.look()
        suspended = harness.stores.jobs.get(KEY)
        assert suspended is not None
        job = await harness.job()
        job["spec"]["runPolicy"]["suspend"] = False
        await harness.replace_job(job)
        await harness.one_pass()
        await harness.one_pass()
        assert await harness.server.names("pods") == ["j-worker-0"]
        await harness.look()
        harness.stores.jobs.put(suspended)
        await harness.reconciler.reconcile(KEY)
        [pod] = (await harness.server.ask("GET", f"{CORE}/pods"))["items"]
        assert "deletionTimestamp" not in pod["metadata"]


async def test_ttl_that_was_removed_meanwhile_keeps_the_job(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"ttlSecondsAfterFinished": 5})
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 0)
        await harness.one_pass()
        harness.time += timedelta(seconds=60)
        await harness.look()
        job = await harness.job()
        del job["spec"]["runPolicy"]["ttlSecondsAfterFinished"]
        await harness.replace_job(job)
        result = await harness.reconciler.reconcile(KEY)
        assert result.retries_soon
        assert (await harness.job())["kind"] == "TFJob"


async def test_wide_job_is_created_in_several_passes(
    controller: Opened[ControllerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_writer, "MAX_CREATES", 3)
    async with controller as harness:
        await harness.submit("W2")
        assert (await harness.one_pass()).requeue
        assert not (await harness.one_pass()).requeue
        assert await harness.server.names("pods") == ["j-worker-0", "j-worker-1"]
