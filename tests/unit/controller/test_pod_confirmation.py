"""Decisions about pods are made on pods that are not older than the job's status."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager as Opened
from typing import Any

import msgspec
import pytest

from tests.support.controller_harness import FAKE_JOB, KEY, ControllerHarness, controller_harness
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tests.support.tfjobs import tfjob
from tfjob.client.errors import ApiError, Transient
from tfjob.client.store import Store
from tfjob.client.watch_codec import Page
from tfjob.controller.pod_confirmation import PodConfirmer
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.pod import Pod

LISTED = f"{CORE}/pods"


def listing(
    harness: ControllerHarness, error: Callable[[], ApiError | None] = lambda: None
) -> list[str]:
    """The lists of pods that the operator asks for from now on."""
    return harness.noted("list", LISTED, error)


async def store_status(harness: ControllerHarness, worker: dict[str, Any], **more: str) -> None:
    """What another leader stores about the workers; `more` are conditions."""
    stored = await harness.job()
    status = stored["status"]
    status["replicaStatuses"]["Worker"] = worker
    status["conditions"] += [
        {"type": kind, "status": value, "reason": "TFJobResumed"} for kind, value in more.items()
    ]
    await harness.replace_job(stored, status=True)


async def see_job(harness: ControllerHarness) -> None:
    """Let the cache of jobs catch up, and leave that of pods as it is."""
    cache = harness.stores.pods
    pods, version = list(cache), cache.version
    await harness.look()
    clear(cache)
    for each in pods:
        cache.put(each)
    cache.version = version


def clear(cache: Store[Pod]) -> None:
    for known in cache:
        cache.remove((known.metadata.namespace, known.metadata.name))


async def running(harness: ControllerHarness) -> None:
    """A job of one worker that runs."""
    await harness.submit("W1", restart="ExitCode")
    await harness.one_pass()
    await harness.kubelet.run("j-worker-0")
    await harness.one_pass()


async def ended(harness: ControllerHarness, code: int) -> None:
    """Its pod has ended, as the cache shows, and is gone since."""
    await running(harness)
    await harness.end_pod("j-worker-0", code)
    await harness.look()
    await harness.server.ask("DELETE", f"{LISTED}/j-worker-0")


async def restarts(harness: ControllerHarness) -> int:
    found: int = (await harness.job())["status"]["replicaStatuses"]["Worker"].get("restarts", 0)
    return found


async def test_pod_that_another_leader_has_counted_and_forgotten_is_not_counted_again(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await ended(harness, 137)
        await store_status(harness, {"restarts": 1}, Suspended="False")
        await see_job(harness)
        await harness.reconciler.reconcile(KEY)
        assert await restarts(harness) == 1


async def test_success_of_an_earlier_run_does_not_decide_the_job(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await ended(harness, 0)
        await store_status(harness, {}, Suspended="False")
        await see_job(harness)
        await harness.reconciler.reconcile(KEY)
        assert "Succeeded" not in await harness.conditions()


async def test_status_that_another_leader_stores_in_between_is_decided_on_with_its_pods(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await ended(harness, 137)
        await store_status(harness, {"restarts": 1}, Suspended="False")
        await harness.reconciler.reconcile(KEY)  # Its write meets a conflict.
        assert await restarts(harness) == 1


async def test_cache_that_differed_from_the_server_is_not_trusted_afterwards(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await ended(harness, 137)
        await store_status(harness, {"restarts": 1}, Suspended="False")
        for _ in range(3):
            await see_job(harness)
            await harness.reconciler.reconcile(KEY)
            await harness.annotate_job()
        assert await restarts(harness) == 1


async def test_job_that_this_process_alone_has_written_costs_no_list(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        lists = listing(harness)
        await running(harness)
        await harness.end_pod("j-worker-0", 137)
        await harness.one_pass()
        assert await restarts(harness) == 1
        assert lists == []


async def test_one_list_is_enough_once_the_cache_has_reached_it(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        await harness.annotate_job()
        lists = listing(harness)
        await harness.end_pod("j-worker-0", 137)
        await harness.one_pass()
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 137)
        await harness.one_pass()
        assert await restarts(harness) == 2
        assert len(lists) == 1


async def test_cache_that_shows_the_same_pods_as_the_list_may_still_be_older(
    controller: Opened[ControllerHarness],
) -> None:
    """A pod that lived and was deleted in between is in neither, and the cache will show it."""
    async with controller as harness:
        await running(harness)
        await harness.annotate_job()
        found, confirmer = await harness.snapshot(), harness.statuses.pod_confirmer
        late = msgspec.structs.replace(found, pods_version="1")
        confirmed = await confirmer.confirm(late)
        assert confirmed.children.pods == late.children.pods
        assert confirmer.is_due(late)
        assert not confirmer.is_due(confirmed)
        assert not confirmer.is_due(found)


async def test_pods_are_no_newer_than_when_they_were_read(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        await harness.look()
        read_rest, version = harness.reader._children, harness.stores.pods.version

        async def meanwhile(job: Job, found: Children) -> Children:
            harness.stores.pods.version = "999"
            return await read_rest(job, found)

        harness.reader._children = meanwhile  # type: ignore[method-assign]  # a test's own door
        found = await harness.reader.read(KEY)
        assert found is not None
        assert found.pods_version == version != "999"


async def test_group_is_not_created_beside_an_old_pod_that_a_late_cache_lacks(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = tfjob("C1 W1", restart="ExitCode")
        job["metadata"]["annotations"] = {RECOVERY: "Group"}
        await harness.server.make(JOBS, job)
        await harness.one_pass()
        for name in ("j-chief-0", "j-worker-0"):
            await harness.kubelet.run(name)
        await harness.one_pass()
        await harness.end_pod("j-worker-0", 137)
        await harness.one_pass()
        assert await harness.server.names("pods") == ["j-chief-0"]
        await harness.annotate_job()
        clear(harness.stores.pods)
        await see_job(harness)
        await harness.reconciler.reconcile(KEY)
        assert await harness.server.names("pods") == ["j-chief-0"]
        await harness.kubelet.finish_deletion("j-chief-0")
        await harness.one_pass()
        assert await harness.server.names("pods") == ["j-chief-0", "j-worker-0"]


async def test_process_that_has_lost_the_lead_looks_again(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        harness.reconciler.forget()
        lists = listing(harness)
        await harness.end_pod("j-worker-0", 137)
        await harness.one_pass()
        assert (await restarts(harness), len(lists)) == (1, 1)


async def test_nothing_is_decided_while_the_pods_cannot_be_listed(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        await harness.annotate_job()
        await harness.end_pod("j-worker-0", 137)
        await harness.look()
        listing(harness, lambda: Transient("etcd: leader changed", status=500))
        with pytest.raises(Transient):
            await harness.reconciler.reconcile(KEY)
        assert await restarts(harness) == 0
        assert await harness.server.names("pods") == ["j-worker-0"]


class _OnePage:
    """A server that lists these objects."""

    def __init__(self, *items: bytes) -> None:
        self._items = [msgspec.Raw(each) for each in items]

    async def list_page(self, *_: object, **__: object) -> Any:
        return Page(items=self._items)


async def test_pod_that_cannot_be_read_keeps_its_last_known_state(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        found = await harness.snapshot()
        odd = b'{"metadata":{"namespace":"default","name":"j-worker-0"},"status":{"phase":3}}'
        confirmed = await PodConfirmer(_OnePage(odd), KubeflowV1()).confirm(found)
        assert confirmed.children.pods == found.children.pods


async def test_pod_of_another_owner_with_the_labels_of_the_job_is_not_among_its_pods(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        found = await harness.snapshot()
        pod = await harness.server.ask("GET", f"{LISTED}/j-worker-0")
        pod["metadata"]["ownerReferences"][0]["uid"] = "another"
        page = _OnePage(msgspec.json.encode(pod))
        confirmed = await PodConfirmer(page, KubeflowV1()).confirm(found)
        assert confirmed.children.pods == []


async def test_job_that_runs_as_batch_jobs_is_not_confirmed() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        await harness.submit()
        await harness.one_pass()
        harness.reconciler.forget()
        found = await harness.snapshot()
        assert not harness.statuses.pod_confirmer.is_due(found)


async def test_no_more_than_a_limited_number_of_versions_is_kept(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await running(harness)
        found = await harness.snapshot()
        confirmer = PodConfirmer(harness.server.api, KubeflowV1(), limit=1)
        await confirmer.confirm(found)
        assert not confirmer.is_due(found)
        other = msgspec.structs.replace(found.stored.metadata, uid="another")
        unwritten = msgspec.structs.replace(found.stored, metadata=other, status=msgspec.Raw(b""))
        confirmer.status_stored(unwritten, "9")
        assert confirmer.is_due(found)
