"""Held pods: which job they name, and that none of them waits for a deleted job."""

from contextlib import AbstractAsyncContextManager as Opened
from typing import Any

import msgspec
import pytest

from tests.support.controller_harness import (
    KEY,
    ControllerHarness,
    child,
)
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tfjob.client.errors import Forbidden
from tfjob.controller.event_handler import EventHandler
from tfjob.controller.held_pods import HeldPods, is_held, removable_finalizers
from tfjob.controller.pacing import Pacer, PacingConfig
from tfjob.core.job import FINALIZER
from tfjob.core.plan import FinalizerRemoval
from tfjob.core.scheduling_spec import QUEUE_FINALIZER, QUEUE_MARK
from tfjob.dialects.base import Settings
from tfjob.k8s.meta import ObjectMeta, OwnerReference

A, B = ("default", "a"), ("default", "b")
LABELS = {
    "training.kubeflow.org/operator-name": "tfjob-controller",
    "training.kubeflow.org/job-name": "j",
    "training.kubeflow.org/replica-type": "worker",
    "training.kubeflow.org/replica-index": "0",
}


def test_held_pod_is_found_by_its_jobs_until_it_is_released() -> None:
    held = HeldPods()
    held.put(A, [KEY, B])
    held.put(B, [KEY])
    assert (sorted(held.of(KEY)), held.of(B)) == ([A, B], [A])
    held.put(A, [B])
    assert (held.of(KEY), held.of(B)) == ([B], [A])
    held.put(A, [])
    held.put(B, [])
    held.put(B, [])
    assert (held.of(KEY), held.jobs) == ([], [])


def test_queue_finalizer_is_removed_from_marked_pods_only() -> None:
    """Another controller may use the label of a job on pods that Kueue holds for it."""
    owner = OwnerReference(kind="StatefulSet", name="s", uid="s", controller=True)
    deleted = "2026-01-02T03:04:05Z"
    theirs = ObjectMeta(
        name="p",
        uid="u",
        finalizers=[QUEUE_FINALIZER],
        deletion_timestamp=deleted,
        owner_references=[owner],
    )
    assert (is_held(theirs), removable_finalizers(theirs)) == (False, [])
    ours = msgspec.structs.replace(theirs, annotations={QUEUE_MARK: "j-u-3"}, owner_references=[])
    assert is_held(ours)
    assert removable_finalizers(ours) == [
        FinalizerRemoval(name="p", uid="u", finalizer=QUEUE_FINALIZER)
    ]
    living = msgspec.structs.replace(ours, deletion_timestamp=None)
    assert removable_finalizers(living) == []


async def seen(harness: ControllerHarness) -> list[Any]:
    """Let the informers catch up and the event handler see each pod; returns its requests."""
    await harness.look()
    pacer = Pacer(PacingConfig(is_on=False), clock=lambda: 0.0)
    handler = EventHandler(harness.kind.dialect, stores=harness.stores, pacer=pacer)
    return [each.key for pod in harness.stores.pods for each in handler.child_changed(None, pod)]


async def finalizers(harness: ControllerHarness, name: str = "j-worker-0") -> list[str]:
    pod = await harness.server.ask("GET", f"{CORE}/pods/{name}")
    found: list[str] = pod["metadata"].get("finalizers", [])
    return found


async def a_held_pod(harness: ControllerHarness, owner: dict[str, Any] | None) -> None:
    body = child("Pod", "j-worker-0", owner or await harness.job())
    body["metadata"] |= {"labels": LABELS, "finalizers": ["x/y", FINALIZER]}
    if owner is None:
        del body["metadata"]["ownerReferences"]
    await harness.server.make(f"{CORE}/pods", body)


async def test_a_pod_whose_job_is_gone_is_released(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await a_held_pod(harness, await harness.submit("W1"))
        await harness.server.ask("DELETE", f"{JOBS}/j")
        assert await seen(harness) == [KEY]
        result = await harness.reconciler.reconcile(KEY)
        assert result.errors == []
        assert await finalizers(harness) == ["x/y"]


async def test_a_pod_of_an_earlier_job_of_the_same_name_is_released(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await a_held_pod(harness, await harness.submit("W1"))
        await harness.server.ask("DELETE", f"{JOBS}/j")
        await harness.submit("W1")
        await seen(harness)
        await harness.one_pass()
        assert await finalizers(harness) == ["x/y"]


async def test_a_pod_whose_job_only_the_server_knows_yet_stays_held(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await a_held_pod(harness, await harness.submit("W1"))
        await seen(harness)
        harness.stores.jobs.remove(KEY)
        assert (await harness.reconciler.reconcile(KEY)).errors == []
        assert await finalizers(harness) == ["x/y", FINALIZER]


async def test_a_pod_of_another_controller_that_carries_the_finalizer_is_released(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        other = {**job, "kind": "Other", "metadata": {**job["metadata"], "uid": "other"}}
        await a_held_pod(harness, other)
        await seen(harness)
        await harness.one_pass()
        assert await finalizers(harness) == ["x/y"]


async def test_held_orphan_is_adopted_before_its_result_counts(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await a_held_pod(harness, None)
        await seen(harness)
        harness.reader.settings = Settings(has_result_finalizers=True)
        for _ in range(3):
            await harness.one_pass()
        assert await finalizers(harness) == ["x/y", FINALIZER]
        harness.reader.settings = Settings()
        await harness.one_pass()
        assert await finalizers(harness) == ["x/y"]


async def test_a_terminating_orphan_is_released(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.submit("W1")
        await a_held_pod(harness, None)
        await harness.server.ask("DELETE", f"{CORE}/pods/j-worker-0")
        await seen(harness)
        await harness.one_pass()
        assert await finalizers(harness) == ["x/y"]


async def test_released_child_loses_its_finalizer(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        body = child("Pod", "j-worker-0", job)
        labels = {**LABELS, "training.kubeflow.org/job-name": "other"}
        body["metadata"] |= {"labels": labels, "finalizers": ["x/y", FINALIZER]}
        await harness.server.make(f"{CORE}/pods", body)
        await seen(harness)
        await harness.one_pass()
        pod = await harness.server.ask("GET", f"{CORE}/pods/j-worker-0")
        assert pod["metadata"].get("ownerReferences", []) == []
        assert pod["metadata"]["finalizers"] == ["x/y"]


@pytest.mark.parametrize("has_job", [True, False])
async def test_a_release_that_is_refused_is_reported_and_tried_again(
    controller: Opened[ControllerHarness], *, has_job: bool
) -> None:
    async with controller as harness:
        await a_held_pod(harness, await harness.submit("W1"))
        if not has_job:
            await harness.server.ask("DELETE", f"{JOBS}/j")
        await seen(harness)
        error = Forbidden("no", status=403)
        harness.server.refuse = lambda request: error if request.verb == "patch" else None
        assert error in (await harness.one_pass()).errors
        harness.server.refuse = lambda _: None
        await harness.one_pass()
        assert await finalizers(harness) == ["x/y"]


async def test_operator_that_lost_leadership_releases_nothing(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await a_held_pod(harness, await harness.submit("W1"))
        await harness.server.ask("DELETE", f"{JOBS}/j")
        await seen(harness)
        harness.may_write = lambda: False
        assert (await harness.reconciler.reconcile(KEY)).errors == []
        assert await finalizers(harness) == ["x/y", FINALIZER]


@pytest.mark.parametrize("policy", ["None", "All"])
async def test_held_pod_is_released_once_its_success_is_stored(
    controller: Opened[ControllerHarness], policy: str
) -> None:
    async with controller as harness:
        harness.reader.settings = Settings(has_result_finalizers=True)
        await harness.submit("W2", run_policy={"cleanPodPolicy": policy})
        await harness.one_pass()
        assert await finalizers(harness) == [FINALIZER]
        assert await finalizers(harness, "j-worker-1") == []
        await harness.end_pod("j-worker-0", 0)
        await harness.server.ask("DELETE", f"{CORE}/pods/j-worker-0")
        assert "j-worker-0" in await harness.server.names("pods")
        for _ in range(2):
            await harness.one_pass()
        assert "j-worker-0" not in await harness.server.names("pods")
