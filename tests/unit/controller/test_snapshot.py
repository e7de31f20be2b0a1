"""A snapshot holds the job's children, those to claim, and the results of cluster lookups."""

from contextlib import AbstractAsyncContextManager as Opened
from datetime import timedelta
from typing import Any

import pytest

from tests.support.builders import NOW
from tests.support.controller_harness import (
    BATCH,
    FAKE_JOB,
    KEY,
    ControllerHarness,
    child,
    controller_harness,
)
from tests.support.local_apiserver.in_memory import CORE, JOBS, Json
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.snapshot import Snapshot, random_token
from tfjob.core.claim import Claim
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import replica_services
from tfjob.k8s import time

LABELS = {
    "training.kubeflow.org/operator-name": "tfjob-controller",
    "training.kubeflow.org/job-name": "j",
    "training.kubeflow.org/replica-type": "worker",
    "training.kubeflow.org/replica-index": "0",
}


def pod(name: str, labels: Any = None, owner: Json | None = None) -> Json:
    reference = {"apiVersion": "v1", "kind": "x", "name": "x", "uid": "other", "controller": True}
    owners = [] if owner is None else [{**reference, **owner}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or LABELS, "ownerReferences": owners},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }


async def snapshot(harness: ControllerHarness) -> Snapshot:
    await harness.look()
    found = await harness.reader.read(KEY)
    assert found is not None
    return found


async def test_unknown_key_has_no_snapshot(controller: Opened[ControllerHarness]) -> None:
    async with controller as harness:
        await harness.look()
        assert await harness.reader.read(KEY) is None


async def test_snapshot_has_own_children_and_no_others(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        owner = {"kind": "TFJob", "name": "j", "uid": job["metadata"]["uid"]}
        await harness.server.make(f"{CORE}/pods", pod("own", owner=owner))
        await harness.server.make(f"{CORE}/pods", pod("theirs", owner={}))
        await harness.server.make(f"{CORE}/pods", pod("unrelated", labels={"app": "x"}))
        found = await snapshot(harness)
        assert [each.metadata.name for each in found.children.pods] == ["own"]
        assert list(found.to_claim) == []


async def test_matching_orphans_and_relabelled_children_are_to_be_claimed(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        job = await harness.submit("W1")
        owner = {"kind": "TFJob", "name": "j", "uid": job["metadata"]["uid"]}
        await harness.server.make(f"{CORE}/pods", pod("orphan"))
        await harness.server.make(f"{CORE}/pods", pod("renamed", labels={"app": "x"}, owner=owner))
        found = await snapshot(harness)
        to_claim = {(kind, meta.name, claim) for kind, meta, claim in found.to_claim}
        assert to_claim == {("Pod", "orphan", Claim.ADOPT), ("Pod", "renamed", Claim.RELEASE)}
        assert list(found.children.pods) == []


async def test_invalid_job_has_what_it_owns_and_claims_nothing(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        body = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "j"}}
        job = await harness.server.make(JOBS, {**body, "spec": {"tfReplicaSpecs": {}}})
        owner = {"kind": "TFJob", "name": "j", "uid": job["metadata"]["uid"]}
        own = pod("renamed", labels={"app": "x"}, owner=owner)
        await harness.server.make(f"{CORE}/pods", own)
        await harness.server.make(f"{CORE}/pods", pod("theirs", owner={}))
        await harness.server.make(f"{CORE}/pods", pod("orphan"))
        service = {"apiVersion": "v1", "kind": "Service", "metadata": own["metadata"]}
        await harness.server.make(f"{CORE}/services", {**service, "spec": {"clusterIP": "None"}})
        found = await snapshot(harness)
        assert isinstance(found.job, InvalidJob)
        assert [each.metadata.name for each in found.children.pods] == ["renamed"]
        assert [each.metadata.name for each in found.children.services] == ["renamed"]
        assert list(found.to_claim) == []


async def test_job_is_decoded_from_the_bytes_it_came_as(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"suspend": True})
        await harness.look()
        stored = harness.stores.jobs.get(KEY)
        assert stored is not None
        assert stored.manifest()["spec"]["runPolicy"] == {"suspend": True}
        assert stored.stored_status() == {}


async def test_pods_are_those_of_the_batch_jobs_of_the_job() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine")
        own = await harness.server.make(BATCH, child("Job", "toy-mine-0", job))
        other = await harness.server.make(BATCH, child("Job", "theirs", own))
        for name, maker in (("a", own), ("b", other)):
            pod = child("Pod", name, maker, toy_example__job="t")
            await harness.server.make(f"{CORE}/pods", pod)
        orphan = child("Pod", "orphan", job, toy_example__job="t", toy_example__index="0")
        del orphan["metadata"]["ownerReferences"]
        await harness.server.make(f"{CORE}/pods", orphan)
        found = await harness.snapshot()
        assert [each.metadata.name for each in found.children.jobs] == ["toy-mine-0"]
        assert [each.metadata.name for each in found.children.pods] == ["a"]
        assert list(found.to_claim) == []


async def place_half(harness: ControllerHarness, owner: Json, job: str) -> None:
    """Make a pod on a node and one that finds none, both owned by a batch Job of this job."""
    placed = child("Pod", f"{job}-placed", owner, toy_example__job=job)
    placed["spec"] = {**placed["spec"], "nodeName": "node-1"}
    refused = child("Pod", f"{job}-refused", owner, toy_example__job=job)
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }
    await harness.server.make(f"{CORE}/pods", placed)
    made = await harness.server.make(f"{CORE}/pods", refused)
    made["status"] = {"phase": "Pending", "conditions": [condition]}
    await harness.server.call("PUT", f"{CORE}/pods/{job}-refused/status", made)


async def test_other_half_placed_jobs_are_rivals() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine")
        own = await harness.server.make(BATCH, child("Job", "toy-mine-0", job))
        other = await harness.server.make(BATCH, child("Job", "theirs", own))
        await place_half(harness, own, "t")
        assert list((await harness.snapshot()).children.rivals) == []
        await place_half(harness, other, "u")
        (rival,) = (await harness.snapshot()).children.rivals
        assert (rival.name, rival.placed, rival.waiting) == ("u", 1, 1)
        for name in ("z", "y", "x", "w"):
            await place_half(harness, other, name)
        rivals = (await harness.snapshot()).children.rivals
        assert [each.name for each in rivals] == ["u", "w", "x"]


async def test_companion_service_is_a_companion_whatever_its_labels() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine")
        for kind, plural in (("Service", "services"), ("ConfigMap", "configmaps")):
            body = child(kind, "beside-mine", job)
            await harness.server.make(f"{CORE}/{plural}", body)
        replica = child("Service", "toy-mine-0", job, toy_example__job="t")
        await harness.server.make(f"{CORE}/services", replica)
        found = await harness.snapshot()
        assert isinstance(found.job, Job)
        assert set(found.children.companions) == {
            ("Service", "beside-mine"),
            ("ConfigMap", "beside-mine"),
        }
        own = [each.metadata.name for each in replica_services(found.job, found.children)]
        assert own == ["toy-mine-0"]
        assert list(found.to_claim) == []


async def test_job_that_became_unreadable_still_has_its_batch_jobs_and_their_pods() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit(id="mine", replicas=0)
        own = await harness.server.make(BATCH, child("Job", "toy-mine-0", job))
        await harness.server.make(f"{CORE}/pods", child("Pod", "a", own))
        found = await harness.snapshot()
        assert isinstance(found.job, InvalidJob)
        assert [each.metadata.name for each in found.children.jobs] == ["toy-mine-0"]
        assert [each.metadata.name for each in found.children.pods] == ["a"]


async def test_spec_is_completed_with_a_token_that_no_service_has_yet() -> None:
    async with controller_harness(FAKE_JOB) as harness:
        job = await harness.submit()
        await harness.server.make(f"{CORE}/services", child("Service", "toy-aaaa-0", job))
        found = await harness.snapshot()
        assert harness.reader.defaulted_spec(found.manifest) == {"replicas": 2, "id": "bbbb"}


async def start_pod(harness: ControllerHarness) -> str:
    """Give the job a pod whose node does not get it ready, as of an hour ago; its UID."""
    job = await harness.submit("W1")
    owner = {"kind": "TFJob", "name": "j", "uid": job["metadata"]["uid"]}
    started = pod("j-worker-0", owner=owner)
    started["spec"]["nodeName"] = "a"
    made = await harness.server.make(f"{CORE}/pods", started)
    harness.time = NOW + timedelta(hours=1)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time.render(NOW)}
    made["status"] = {"phase": "Pending", "conditions": [scheduled]}
    await harness.server.ask("PUT", f"{CORE}/pods/j-worker-0/status", made)
    return str(made["metadata"]["uid"])


async def test_events_of_a_pod_that_does_not_start_are_in_the_snapshot(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        uid = await start_pod(harness)
        about = {"kind": "Pod", "name": "j-worker-0", "uid": uid, "namespace": "default"}
        event = {
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": about,
            "reason": "FailedMount",
            "message": "no volume",
        }
        await harness.server.make(f"{CORE}/events", event)
        children = (await snapshot(harness)).children
        assert [each.message for each in children.events] == ["no volume"]
        assert not children.has_unread_events


async def test_events_that_cannot_be_read_now_are_marked_as_unread(
    controller: Opened[ControllerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_many(*_: object, **__: object) -> None:
        return None

    async with controller as harness:
        await start_pod(harness)
        monkeypatch.setattr(ClusterLookups, "pod_events", too_many)
        children = (await snapshot(harness)).children
        assert (children.events, children.has_unread_events) == ((), True)


def test_tokens_are_valid_in_names_and_differ() -> None:
    found = [random_token() for _ in range(50)]
    assert all(len(each) == 4 and each.isascii() and each.isalnum() for each in found)
    assert all(each == each.lower() for each in found)
    assert len(set(found)) > 1
