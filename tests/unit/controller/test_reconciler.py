"""One pass over one job, seen from the API server."""

from contextlib import AbstractAsyncContextManager as Opened
from datetime import timedelta

import pytest

from tests.support.played_api import CORE, JOBS
from tests.unit.controller.conftest import KEY, Desk
from tfjob.client.errors import ApiError, Conflict, Forbidden, NotLeadingError, Transient
from tfjob.client.request import Request
from tfjob.controller import children
from tfjob.controller.objects import JobObject


async def test_new_job_gets_its_children_and_its_first_status(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("C1 W2")
        outcome = await world.one_pass()
        names = ["j-chief-0", "j-worker-0", "j-worker-1"]
        assert await world.server.names("pods") == names
        assert await world.server.names("services") == names
        assert await world.conditions() == ["Created"]
        assert set(outcome.versions) == {"Pod", "Service"}
        assert outcome.errors == []
        assert world.counted("created_pods_total") == 3
        assert world.counted("succeeded_service_creation_total") == 3
        created = "training_operator_jobs_created_total"
        assert world.counted(created, job_namespace="default", framework="tensorflow") == 1


async def test_second_pass_over_a_settled_job_writes_nothing(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W2")
        await world.one_pass()
        await world.one_pass()
        before = world.server.backend.store.revision
        outcome = await world.one_pass()
        assert world.server.backend.store.revision == before
        assert (outcome.versions, outcome.errors, outcome.is_waiting) == ({}, [], False)


async def test_job_that_is_gone_needs_nothing(desk: Opened[Desk]) -> None:
    async with desk as world:
        outcome = await world.one_pass()
        assert (outcome.wake_at, outcome.errors, outcome.is_waiting) == (None, [], False)


async def test_stale_cache_makes_no_second_child(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W2")
        await world.one_pass()
        pods = await world.server.ask("GET", f"{CORE}/pods")
        world.stores.pods.remove(("default", "j-worker-0"))
        outcome = await world.reconciler.reconcile(KEY)
        assert outcome.errors == []
        again = await world.server.ask("GET", f"{CORE}/pods")
        assert again["items"] == pods["items"]
        assert world.counted("created_pods_total") == 2


async def test_failing_child_stops_neither_the_others_nor_the_status(desk: Opened[Desk]) -> None:
    def refuse(request: Request) -> ApiError | None:
        is_chief = request.verb == "create" and b'"j-chief-0"' in (request.body or b"")
        return Forbidden("exceeded quota") if is_chief and "/pods" in request.path else None

    async with desk as world:
        await world.submit("C1 W2")
        world.server.refuse = refuse
        outcome = await world.one_pass()
        assert await world.server.names("pods") == ["j-worker-0", "j-worker-1"]
        assert await world.conditions() == ["Created"]
        assert [error.message for error in outcome.errors] == ["exceeded quota"]
        assert world.counted("failed_pods_total") == 1
        told = await world.told()
        assert ("Warning", "FailedCreatePod") in [(kind, reason) for kind, reason, _ in told]
        assert any("exceeded quota" in message for _, _, message in told)


async def test_events_follow_the_status_that_proves_them(desk: Opened[Desk]) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Transient("500") if request.path.endswith("/status") else None

    async with desk as world:
        await world.submit("W1")
        world.server.refuse = refuse
        outcome = await world.one_pass()
        assert len(outcome.errors) == 1
        created = "training_operator_jobs_created_total"
        assert world.counted(created, job_namespace="default", framework="tensorflow") == 0
        reasons = {reason for _, reason, _ in await world.told()}
        assert reasons == {"SuccessfulCreatePod", "SuccessfulCreateService"}


@pytest.mark.scenario(147)
async def test_nothing_is_restarted_where_the_count_cannot_be_stored(desk: Opened[Desk]) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Transient("500") if request.path.endswith("/status") else None

    async with desk as world:
        await world.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 1})
        await world.one_pass()
        await world.end_pod("j-worker-0", 137)
        first = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
        world.server.refuse = refuse
        for _ in range(6):
            await world.one_pass()
        found = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert found["metadata"]["uid"] == first["metadata"]["uid"]
        world.server.refuse = lambda _: None
        for _ in range(3):
            await world.one_pass()
        await world.end_pod("j-worker-0", 137)
        for _ in range(3):
            await world.one_pass()
        assert "Failed" in await world.conditions()


async def test_verdict_is_stored_before_the_pods_it_follows_from_go(desk: Opened[Desk]) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Transient("500") if request.path.endswith("/status") else None

    async with desk as world:
        await world.submit("W1", run_policy={"cleanPodPolicy": "All"})
        await world.one_pass()
        await world.end_pod("j-worker-0", 0)
        world.server.refuse = refuse
        await world.one_pass()
        assert await world.server.names("pods") == ["j-worker-0"]
        world.server.refuse = lambda _: None
        await world.one_pass()
        await world.one_pass()
        assert await world.server.names("pods") == []
        assert "Succeeded" in await world.conditions()


async def test_failed_pod_is_replaced_and_counted_once(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1", restart="ExitCode")
        await world.one_pass()
        await world.end_pod("j-worker-0", 137)
        await world.one_pass()
        assert await world.server.names("pods") == []
        assert "Restarting" in await world.conditions()
        await world.one_pass()
        assert await world.server.names("pods") == ["j-worker-0"]
        restarted = "training_operator_jobs_restarted_total"
        assert world.counted(restarted, job_namespace="default", framework="tensorflow") == 1
        assert world.counted("deleted_pods_total") == 1


async def test_finished_job_goes_when_its_time_has_come(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1", run_policy={"ttlSecondsAfterFinished": 60})
        await world.one_pass()
        await world.end_pod("j-worker-0", 0)
        await world.one_pass()
        assert "Succeeded" in await world.conditions()
        outcome = await world.one_pass()
        assert outcome.wake_at == world.time + timedelta(seconds=60)
        world.time += timedelta(seconds=61)
        await world.one_pass()
        assert (await world.job())["code"] == 404
        deleted = "training_operator_jobs_deleted_total"
        assert world.counted(deleted, job_namespace="default", framework="tensorflow") == 1


async def test_job_that_cannot_be_deleted_is_tried_again(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1", run_policy={"ttlSecondsAfterFinished": 0})
        await world.one_pass()
        await world.end_pod("j-worker-0", 0)
        await world.one_pass()
        world.server.refuse = lambda request: (
            Forbidden("not you")
            if request.verb == "delete" and "/tfjobs/" in request.path
            else None
        )
        world.time += timedelta(seconds=1)
        outcome = await world.one_pass()
        assert [error.message for error in outcome.errors] == ["not you"]
        assert (await world.job())["code"] == 200


async def test_invalid_job_fails_with_its_faults_and_gets_no_child(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.server.make(
            JOBS,
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "TFJob",
                "metadata": {"name": "j"},
                "spec": {"tfReplicaSpecs": {"Worker": {"replicas": "many"}}},
            },
        )
        await world.one_pass()
        (condition,) = (await world.job())["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("Failed", "InvalidTFJobSpec")
        assert "the spec is invalid: " in condition["message"]
        assert await world.server.names("pods") == []
        before = world.server.backend.store.revision
        await world.one_pass()
        assert world.server.backend.store.revision == before


async def test_orphan_is_adopted_before_anything_is_decided(desk: Opened[Desk]) -> None:
    async with desk as world:
        job = await world.submit("W1")
        await world.one_pass()
        await world.one_pass()
        pod = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
        del pod["metadata"]["ownerReferences"]
        assert (await world.server.ask("PUT", f"{CORE}/pods/j-worker-0", pod))["code"] == 200
        outcome = await world.one_pass()
        assert outcome.is_waiting
        owned = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
        (owner,) = owned["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)


async def test_adoption_that_may_succeed_later_is_waited_for(desk: Opened[Desk]) -> None:
    async with desk as world:
        await orphaned_pod(world)
        error = Transient("500")
        world.server.refuse = lambda request: error if request.verb == "patch" else None
        assert (await world.one_pass()).errors == [error]


async def test_stray_that_is_refused_for_good_does_not_stop_its_job(desk: Opened[Desk]) -> None:
    async with desk as world:
        await orphaned_pod(world)
        await world.server.ask("DELETE", f"{CORE}/services/j-worker-0")
        error = Forbidden("no")
        world.server.refuse = lambda request: error if request.verb == "patch" else None
        assert error in (await world.one_pass()).errors
        assert (await world.server.ask("GET", f"{CORE}/services/j-worker-0"))["kind"] == "Service"


async def orphaned_pod(world: Desk) -> None:
    await world.submit("W1")
    await world.one_pass()
    pod = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
    del pod["metadata"]["ownerReferences"]
    await world.server.ask("PUT", f"{CORE}/pods/j-worker-0", pod)


async def test_limit_that_was_raised_meanwhile_costs_no_pod(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1", run_policy={"activeDeadlineSeconds": 60})
        await world.one_pass()
        world.time += timedelta(seconds=61)
        await world.look()
        job = await world.job()
        job["spec"]["runPolicy"]["activeDeadlineSeconds"] = 600
        assert (await world.server.ask("PUT", f"{JOBS}/j", job))["code"] == 200
        await world.reconciler.reconcile(KEY)
        assert "Failed" not in await world.conditions()
        pod = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert pod["kind"] == "Pod"
        assert "deletionTimestamp" not in pod["metadata"]


async def test_pods_that_an_end_took_away_are_not_made_again_by_a_stale_view(
    desk: Opened[Desk],
) -> None:
    async with desk as world:
        await world.submit("W1", run_policy={"cleanPodPolicy": "All"})
        await world.one_pass()
        await world.look()
        old = world.stores.jobs.get(KEY)
        assert old is not None
        await world.end_pod("j-worker-0", 0)
        await world.one_pass()
        await world.one_pass()
        assert await world.server.names("pods") == []
        await world.look()
        world.stores.jobs.put(old)
        outcome = await world.reconciler.reconcile(KEY)
        assert await world.server.names("pods") == []
        assert await world.conditions() == ["Created", "Succeeded"]
        assert outcome.errors == []


async def test_time_to_live_that_was_taken_back_meanwhile_saves_the_job(
    desk: Opened[Desk],
) -> None:
    async with desk as world:
        await world.submit("W1", run_policy={"ttlSecondsAfterFinished": 5})
        await world.one_pass()
        await world.end_pod("j-worker-0", 0)
        await world.one_pass()
        world.time += timedelta(seconds=60)
        await world.look()
        job = await world.job()
        del job["spec"]["runPolicy"]["ttlSecondsAfterFinished"]
        assert (await world.server.ask("PUT", f"{JOBS}/j", job))["code"] == 200
        outcome = await world.reconciler.reconcile(KEY)
        assert outcome.is_waiting
        assert (await world.job())["kind"] == "TFJob"


async def test_wide_job_is_made_in_several_passes(
    desk: Opened[Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "MOST_CREATES", 3)
    async with desk as world:
        await world.submit("W2")
        assert (await world.one_pass()).has_more
        assert not (await world.one_pass()).has_more
        assert await world.server.names("pods") == ["j-worker-0", "j-worker-1"]


async def test_operator_that_lost_its_lead_in_a_pass_writes_no_more(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1")
        leads = iter([True, True, False, False])
        world.hands._may_write = world.statuses._may_write = lambda: next(leads, False)
        await world.one_pass()
        assert await world.server.names("services") == ["j-worker-0"]
        assert await world.server.names("pods") == []
        with pytest.raises(NotLeadingError):
            await world.statuses.complete(_stored(world), lambda _: {})


async def test_operator_that_lost_its_lead_writes_no_first_status(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1")
        world.statuses._may_write = lambda: False
        with pytest.raises(NotLeadingError):
            await world.one_pass()
        assert "status" not in await world.job()


async def test_first_status_is_stored_before_any_child_is_created(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W2")
        await world.look()
        first = await world.reconciler.reconcile(KEY)
        assert (first.has_more, set(first.versions)) == (True, {"jobs"})
        assert await world.conditions() == ["Created"]
        assert await world.server.names("pods") == []
        assert world.counted("tfjob_first_status_seconds_count") == 1
        await world.look()
        assert not (await world.reconciler.reconcile(KEY)).has_more
        assert len(await world.server.names("pods")) == 2
        assert world.counted("tfjob_first_status_seconds_count") == 1


async def test_status_that_cannot_be_stored_keeps_no_child_from_being_created(
    desk: Opened[Desk],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        return Forbidden("not yours") if request.path.endswith("/status") else None

    async with desk as world:
        await world.submit("W2")
        await world.look()
        world.server.refuse = refuse
        outcome = await world.reconciler.reconcile(KEY)
        assert [str(type(each).__name__) for each in outcome.errors] == ["Forbidden"]
        assert len(await world.server.names("pods")) == 2


async def test_worker_that_may_not_wait_leaves_many_children_to_another(
    desk: Opened[Desk],
) -> None:
    async with desk as world:
        await world.submit("W2")
        await world.look()
        await world.reconciler.reconcile(KEY, most_creates=3)
        assert await world.conditions() == ["Created"]
        await world.look()
        assert (await world.reconciler.reconcile(KEY, most_creates=3)).is_left
        assert await world.server.names("pods") == []
        assert not (await world.reconciler.reconcile(KEY, most_creates=4)).is_left
        assert len(await world.server.names("pods")) == 2


def _stored(world: Desk) -> JobObject:
    found = world.stores.jobs.get(KEY)
    assert found is not None
    return found


async def test_job_that_can_no_longer_be_read_keeps_nothing_running(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1")
        await world.one_pass()
        job = await world.job()
        job["spec"]["tfReplicaSpecs"] = {"Launcher": {}}
        assert (await world.server.ask("PUT", f"{JOBS}/j", job))["code"] == 200
        await world.one_pass()
        assert "Failed" in await world.conditions()
        left = await world.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert left["kind"] == "Status" or "deletionTimestamp" in left["metadata"]


async def test_job_of_another_manager_is_left_alone(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
        before = world.server.backend.store.revision
        await world.one_pass()
        assert world.server.backend.store.revision == before


async def test_status_conflict_that_never_ends_is_an_error(desk: Opened[Desk]) -> None:
    async with desk as world:
        await world.submit("W1")
        world.server.refuse = lambda request: (
            Conflict("modified") if request.path.endswith("/status") else None
        )
        outcome = await world.one_pass()
        assert [type(error) for error in outcome.errors] == [Conflict]
