"""Each change of a job or of a child becomes a reconcile request for its job."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import a_pod, meta
from tests.support.fake_dialect import FakeDialect
from tfjob.client.store import Store
from tfjob.client.watch_codec import Key
from tfjob.client.workqueue import Priority
from tfjob.controller.event_handler import EventHandler, Request
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import BATCH_WINDOW, BATCH_WINDOW_STARTING, LoadSignals, Pacer
from tfjob.controller.snapshot import Stores
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.child_types import BatchJob, Service
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import Pod, PodCondition, PodSpec

LONG = "t" * 70


class World:
    """Stores with some jobs, and the requests of a handler."""

    def __init__(self, dialect: Dialect | None = None, *, is_busy: bool = False) -> None:
        dialect = dialect or KubeflowV1()
        self.stores = Stores(
            jobs=Store[JobObject](),
            pods=Store[Pod](label=dialect.job_label),
            services=Store[Service](label=dialect.job_label),
            batch_jobs=Store[BatchJob](label=dialect.job_label),
        )
        for name in ("j", "a", "b", LONG, LONG[:63]):
            self.stores.jobs.put(JobObject(metadata=meta(name)))
        pacer = Pacer(
            load=LoadSignals(has_queued_creates=lambda: is_busy),
            clock=lambda: 0.0,
            shows_children=dialect.shows_children,
        )
        self.handler = EventHandler(dialect, stores=self.stores, pacer=pacer)

    def asked(self, old: Any, new: Any) -> dict[Key, float]:
        return {each.key: each.delay for each in self.handler.child_changed(old, new)}


def keys(old: Any, new: Any) -> dict[Key, float]:
    return World().asked(old, new)


def pod(name: str = "j", *, label: str = "", **fields: Any) -> Pod:
    owner = OwnerReference(api_version="x", kind="TFJob", name=name, uid="U", controller=True)
    labels = {"training.kubeflow.org/job-name": label} if label else {}
    return Pod(
        metadata=ObjectMeta(
            name="p",
            namespace="n",
            labels=labels,
            owner_references=[owner] if name else [],
            **fields,
        )
    )


def owned(kind: str, owner: str, owner_uid: str, **fields: Any) -> ObjectMeta:
    reference = OwnerReference(kind=kind, name=owner, uid=owner_uid, controller=True)
    return ObjectMeta(namespace="n", owner_references=[reference], **fields)


def test_owned_child_requests_its_owner() -> None:
    assert set(keys(None, pod("j", label="other"))) == {("n", "j")}


def test_orphan_requests_the_job_that_its_label_names() -> None:
    assert set(keys(None, pod("", label="j"))) == {("n", "j")}
    assert keys(None, pod("")) == {}


def test_child_with_a_new_owner_requests_both_jobs() -> None:
    assert set(keys(pod("a"), pod("b"))) == {("n", "a"), ("n", "b")}


def test_child_of_an_unknown_job_requests_nothing() -> None:
    harness = World()
    harness.stores.jobs.remove(("n", "j"))
    assert harness.asked(pod("j"), None) == {}
    assert set(harness.asked(pod("j"), pod("a"))) == {("n", "a")}


def test_siblings_are_the_pods_of_the_same_owner() -> None:
    harness = World(is_busy=True)
    pending, up = a_pod("worker", 0, phase="Pending"), a_pod("worker", 0, phase="Running")
    other = msgspec.structs.replace(a_pod("worker", 1, phase="Pending").metadata, name="other")
    stranger = msgspec.structs.replace(
        other, owner_references=owned("TFJob", "b", "B").owner_references
    )
    harness.stores.pods.put(up)
    harness.stores.pods.put(Pod(metadata=stranger, status=pending.status))
    assert set(harness.asked(pending, up).values()) == {BATCH_WINDOW}
    harness.stores.pods.put(a_pod("worker", 1, phase="Pending"))
    assert set(harness.asked(pending, up).values()) == {BATCH_WINDOW_STARTING}


def bound(before: Pod, *conditions: PodCondition, **fields: Any) -> Pod:
    """The same pod after it was scheduled."""
    return msgspec.structs.replace(
        before,
        metadata=msgspec.structs.replace(before.metadata, resource_version="2", **fields),
        spec=PodSpec(node_name="node-1"),
        status=msgspec.structs.replace(before.status, conditions=conditions),
    )


SCHEDULED = PodCondition(type="PodScheduled", status="True")


def test_pod_that_was_only_scheduled_requests_nothing() -> None:
    before = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    assert keys(before, bound(before, SCHEDULED)) == {}
    assert keys(before, bound(before, SCHEDULED, labels={"moved": "away"}))


def test_pod_that_was_scheduled_after_a_wait_requests_its_job() -> None:
    unschedulable = PodCondition(type="PodScheduled", status="False", reason="Unschedulable")
    new = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    waiting = msgspec.structs.replace(bound(new, unschedulable), spec=PodSpec())
    assert keys(new, waiting)
    assert keys(waiting, bound(waiting, SCHEDULED))
    assert keys(new, bound(new, unschedulable))


@pytest.mark.parametrize("is_new", [True, False])
def test_job_requests_itself_and_a_new_one_has_high_priority(*, is_new: bool) -> None:
    job = JobObject(metadata=meta("j"))
    found = list(World().handler.job_changed(*((None, job) if is_new else (job, None))))
    assert found == [Request(("n", "j"), 0.0, Priority.HIGH if is_new else Priority.NORMAL)]


def test_pod_of_a_batch_job_requests_the_owner_of_that_batch_job() -> None:
    harness = World(FakeDialect())
    assert harness.stores.batch_jobs is not None
    made = Pod(metadata=owned("Job", "toy-1", "B", labels={"toy.example/job": LONG[:63]}))
    assert set(harness.asked(None, made)) == {("n", LONG[:63])}
    maker = BatchJob(metadata=owned("ToyJob", LONG, "U", name="toy-1", uid="B"))
    harness.stores.batch_jobs.put(maker)
    assert set(harness.asked(None, made)) == {("n", LONG)}
    another = msgspec.structs.replace(maker.metadata, uid="C")
    harness.stores.batch_jobs.put(BatchJob(metadata=another))
    assert set(harness.asked(None, made)) == {("n", LONG[:63])}


def test_child_in_another_namespace_does_not_request_the_job_it_names() -> None:
    for each in (pod("j", label="j"), pod("", label="j")):
        metadata = msgspec.structs.replace(each.metadata, namespace="evil")
        assert keys(None, msgspec.structs.replace(each, metadata=metadata)) == {}


def test_pending_pods_of_another_namespace_delay_nobody() -> None:
    harness = World(is_busy=True)
    other = a_pod("worker", 1, phase="Pending")
    metadata = msgspec.structs.replace(other.metadata, namespace="evil")
    harness.stores.pods.put(msgspec.structs.replace(other, metadata=metadata))
    pending, up = a_pod("worker", 0, phase="Pending"), a_pod("worker", 0, phase="Running")
    assert set(harness.asked(pending, up).values()) == {BATCH_WINDOW}
