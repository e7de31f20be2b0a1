"""A pod that ended is decided on as it ended, although it was deleted or disrupted right after."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager as Opened
from typing import TypeVar

import msgspec
import pytest

from tests.support.builders import a_job, a_pod
from tests.support.controller_harness import KEY, UNPACED, ControllerHarness
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tfjob.client.errors import ApiError, Transient
from tfjob.client.request import Request
from tfjob.client.store import Store
from tfjob.client.watch_codec import HasMetadata, key_of
from tfjob.controller.ended_pods import EndedPods
from tfjob.controller.event_handler import EventHandler
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import Pod

POD = f"{CORE}/pods/j-worker-0"
T = TypeVar("T", bound=HasMetadata)
Disturb = Callable[[ControllerHarness], Awaitable[None]]


def _by_uid(store: Store[T]) -> dict[str, T]:
    return {each.metadata.uid: each for each in store}


async def see(harness: ControllerHarness) -> None:
    """Let the caches catch up, and the event handler see what has changed."""
    handler = EventHandler(harness.kind.dialect, stores=harness.stores, pacer=UNPACED)
    jobs, pods = _by_uid(harness.stores.jobs), _by_uid(harness.stores.pods)
    await harness.look()
    jobs_now, pods_now = _by_uid(harness.stores.jobs), _by_uid(harness.stores.pods)
    for uid in jobs.keys() | jobs_now.keys():
        list(handler.job_changed(jobs.get(uid), jobs_now.get(uid)))
    for uid in pods.keys() | pods_now.keys():
        list(handler.child_changed(pods.get(uid), pods_now.get(uid)))


async def ended(harness: ControllerHarness, code: int, **fields: object) -> None:
    """A job of one worker that has ended, as the caches show."""
    await harness.submit("W1", restart="ExitCode", **fields)
    await harness.one_pass()
    await harness.kubelet.run("j-worker-0")
    await harness.one_pass()
    await harness.end_pod("j-worker-0", code)
    await see(harness)


async def delete(harness: ControllerHarness) -> None:
    await harness.server.ask("DELETE", POD)


async def drain(harness: ControllerHarness) -> None:
    """The Eviction API marks a pod, and deletes it a moment later."""
    await harness.kubelet.disrupt("j-worker-0")


def deleting(harness: ControllerHarness) -> list[str]:
    """The paths of what the operator deletes from now on."""
    found: list[str] = []

    def note(request: Request) -> ApiError | None:
        if request.verb == "delete":
            found.append(request.path)
        return None

    harness.server.refuse = note
    return found


def no_status(request: Request) -> ApiError | None:
    """The error of a server that stores no status."""
    return Transient("500") if request.path.endswith("/status") else None


async def restarts(harness: ControllerHarness) -> int:
    found: int = (await harness.job())["status"]["replicaStatuses"]["Worker"].get("restarts", 0)
    return found


@pytest.mark.parametrize("disturb", [delete, drain])
async def test_success_stays_a_success(
    controller: Opened[ControllerHarness], disturb: Disturb
) -> None:
    async with controller as harness:
        await ended(harness, 0)
        await disturb(harness)
        await see(harness)
        await harness.reconciler.reconcile(KEY)
        assert "Succeeded" in await harness.conditions()


@pytest.mark.parametrize("disturb", [delete, drain])
async def test_failure_is_counted_once_and_its_replica_runs_again(
    controller: Opened[ControllerHarness], disturb: Disturb
) -> None:
    async with controller as harness:
        await ended(harness, 137)
        first = harness.stores.pods.get((KEY[0], "j-worker-0"))
        await disturb(harness)
        await see(harness)
        assert (await harness.reconciler.reconcile(KEY)).requeue
        assert await restarts(harness) == 1
        for _ in range(2):
            await see(harness)
            assert not (await harness.reconciler.reconcile(KEY)).requeue
        assert await restarts(harness) == 1
        second = (await harness.server.ask("GET", POD))["metadata"]["uid"]
        assert first is not None
        assert second != first.metadata.uid


async def test_end_is_decided_on_again_if_the_decision_could_not_be_stored(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await ended(harness, 0)
        await delete(harness)
        await see(harness)
        harness.server.refuse = no_status
        assert (await harness.reconciler.reconcile(KEY)).errors
        assert await harness.server.names("pods") == []
        harness.server.refuse = lambda _: None
        await harness.reconciler.reconcile(KEY)
        assert "Succeeded" in await harness.conditions()


async def test_list_whose_decision_could_not_be_stored_decides_nothing(
    controller: Opened[ControllerHarness],
) -> None:
    """Somebody has changed the job, so its pods are listed; then the status cannot be stored."""
    async with controller as harness:
        await ended(harness, 0)
        pod = await harness.server.ask("GET", POD)
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        pod["status"].setdefault("conditions", []).append(mark)
        await harness.server.ask("PUT", f"{POD}/status", pod)
        await harness.annotate_job()
        await see(harness)
        harness.server.refuse = no_status
        assert (await harness.reconciler.reconcile(KEY)).errors
        harness.server.refuse = lambda _: None
        await see(harness)
        await harness.reconciler.reconcile(KEY)
        assert "Succeeded" in await harness.conditions()


@pytest.mark.parametrize(("code", "policy"), [(0, "All"), (137, "None")])
async def test_pod_that_the_operator_itself_deletes_costs_no_second_request(
    controller: Opened[ControllerHarness], code: int, policy: str
) -> None:
    async with controller as harness:
        await ended(harness, code, run_policy={"cleanPodPolicy": policy})
        deletes = deleting(harness)
        for _ in range(3):
            await harness.reconciler.reconcile(KEY)
            await see(harness)
        assert deletes.count(POD) == 1
        assert len(harness.stores.ended_pods) == 0


async def test_end_before_a_list_of_pods_was_decided_on_with_that_list(
    controller: Opened[ControllerHarness],
) -> None:
    """The cache shows late what happened in a run that has ended."""
    async with controller as harness:
        await ended(harness, 0)
        await delete(harness)
        await harness.annotate_job()
        late = list(harness.stores.pods)
        found = await harness.snapshot()
        confirmed = await harness.statuses.pod_confirmer.confirm(found)
        harness.statuses.pod_confirmer.decision_stored(confirmed)
        for each in late:
            harness.stores.ended_pods.keep(each)
        await harness.reconciler.reconcile(KEY)
        assert "Succeeded" not in await harness.conditions()
        assert await harness.server.names("pods") == ["j-worker-0"]


async def test_decision_on_older_pods_is_not_that_on_the_list(
    controller: Opened[ControllerHarness],
) -> None:
    """The list was taken, but its decision could not be stored."""
    async with controller as harness:
        await ended(harness, 0)
        await harness.annotate_job()
        older, confirmer = await harness.snapshot(), harness.statuses.pod_confirmer
        uid = older.stored.metadata.uid
        listed = await confirmer.confirm(older)
        older.pods_version = "1"
        confirmer.decision_stored(older)
        assert confirmer.decided_list(uid) == ""
        confirmer.decision_stored(listed)
        assert confirmer.decided_list(uid) == listed.pods_version != ""


@pytest.mark.parametrize("uid", ["another", None])
async def test_pod_of_another_owner_is_not_kept(
    controller: Opened[ControllerHarness], uid: str | None
) -> None:
    async with controller as harness:
        await ended(harness, 0)
        [pod] = harness.stores.pods
        owner = OwnerReference(kind="TFJob", name="j", uid=uid or "", controller=uid is not None)
        meta = msgspec.structs.replace(pod.metadata, owner_references=[owner])
        handler = EventHandler(harness.kind.dialect, stores=harness.stores, pacer=UNPACED)
        list(handler.child_changed(msgspec.structs.replace(pod, metadata=meta), None))
        assert len(harness.stores.ended_pods) == 0
        list(handler.child_changed(pod, None))
        assert len(harness.stores.ended_pods) == 1


async def test_nothing_is_kept_of_a_job_that_is_gone(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await ended(harness, 0)
        await delete(harness)
        await see(harness)
        assert len(harness.stores.ended_pods) == 1
        await harness.server.ask("DELETE", f"{JOBS}/j")
        await see(harness)
        assert len(harness.stores.ended_pods) == 0


JOB = a_job("W3", restart="ExitCode")


def owned(index: int, *, uid: str = "old") -> Pod:
    """A pod that has succeeded, at version 5."""
    pod = a_pod("worker", index, "Succeeded", exit_code=0, uid=f"{uid}-{index}")
    owner = OwnerReference(kind="TFJob", name="j", uid=JOB.owner.uid, controller=True)
    meta: ObjectMeta = msgspec.structs.replace(
        pod.metadata,
        namespace=JOB.namespace,
        labels={**JOB.child_labels, **pod.metadata.labels},
        owner_references=[owner],
        resource_version="5",
    )
    return msgspec.structs.replace(pod, metadata=meta)


def kept(*pods: Pod, cached: tuple[Pod, ...] = (), since: str = "", limit: int = 9) -> list[str]:
    """The names of the pods that are still to be decided on."""
    found, cache = EndedPods(limit=limit), Store[Pod]()
    for each in pods:
        found.keep(each)
    for each in cached:
        cache.put(each)
    shown = found.undecided(JOB, cache, since=since)
    assert len(found) == len(shown)
    return sorted(key_of(each.metadata)[1] for each in shown.values())


def test_pod_is_kept_until_another_has_its_name_or_it_is_released() -> None:
    pod = owned(0)
    assert kept(pod) == kept(pod, cached=(pod,)) == ["j-worker-0"]
    assert kept(pod, cached=(owned(0, uid="new"),)) == []
    orphan = msgspec.structs.replace(pod.metadata, owner_references=[])
    assert kept(pod, cached=(msgspec.structs.replace(pod, metadata=orphan),)) == []


@pytest.mark.parametrize(
    ("since", "is_kept"), [("", True), ("4", True), ("5", False), ("6", False), ("x", False)]
)
def test_pod_is_kept_if_it_ended_after_the_last_list(since: str, is_kept: bool) -> None:
    assert kept(owned(0), since=since) == (["j-worker-0"] if is_kept else [])


def test_no_more_than_a_limited_number_of_pods_is_kept() -> None:
    assert kept(*map(owned, range(3)), limit=2) == ["j-worker-1", "j-worker-2"]


def test_pods_of_another_namespace_do_not_push_out_a_pod() -> None:
    found, own = EndedPods(limit=3), owned(0)
    found.keep(own)
    for index in range(9):
        pod = owned(index)
        found.keep(
            msgspec.structs.replace(
                pod, metadata=msgspec.structs.replace(pod.metadata, namespace="other")
            )
        )
    assert len(found) == 3
    assert list(found.undecided(JOB, Store[Pod](), since="")) == [own.metadata.uid]


def test_pod_of_a_replica_that_was_scaled_down_is_not_kept() -> None:
    assert kept(owned(3)) == []
