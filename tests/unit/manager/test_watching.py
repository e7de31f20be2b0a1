"""Each change of a job or of a child becomes the key of the job it concerns."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import a_pod, meta
from tests.support.fake_dialect import BOARD, FakeDialect
from tests.support.local_apiserver.in_memory import InMemoryApiServer
from tfjob.client.wire import Key
from tfjob.controller.objects import JobObject
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.kubeflow_v1 import KubeflowV1
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import Pod, PodCondition, PodSpec
from tfjob.manager.watching import (
    CAME_UP,
    GATHERING,
    SOME_RUN,
    Reader,
    Source,
    Watches,
    apis_beside,
)

LONG = "t" * 70


class Told:
    """Watches that nobody runs, and the keys they ask for."""

    def __init__(self, dialect: Dialect | None = None, **settings: Any) -> None:
        self.keys: dict[Key, float] = {}
        self.is_busy, self.is_under_way = False, True
        reader = Reader(
            enqueue=lambda key, delay: self.keys.update({key: delay}),
            hurry=lambda key: self.keys.update({key: 0.0}),
            is_busy=lambda: self.is_busy,
            is_under_way=lambda _key: self.is_under_way,
        )
        self.watches = Watches(
            Source(InMemoryApiServer().api),
            dialect or KubeflowV1(),
            Settings(**settings),
            reader=reader,
        )
        for name in ("j", "a", "b", LONG, LONG[:63]):
            self.watches.jobs.store.put(JobObject(metadata=meta(name)))

    def of(self, old: Any, new: Any) -> dict[Key, float]:
        self.keys.clear()
        self.watches._tell(old, new)
        return self.keys


def keys(old: Any, new: Any) -> dict[Key, float]:
    return Told().of(old, new)


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


async def test_child_stands_for_the_job_that_owns_it() -> None:
    assert set(keys(None, pod("j", label="other"))) == {("n", "j")}


async def test_orphan_stands_for_the_job_it_names() -> None:
    assert set(keys(None, pod("", label="j"))) == {("n", "j")}
    assert keys(None, pod("")) == {}


async def test_child_that_changes_hands_concerns_both_jobs() -> None:
    assert set(keys(pod("a"), pod("b"))) == {("n", "a"), ("n", "b")}


async def test_child_of_a_job_that_is_not_there_asks_for_nothing() -> None:
    told = Told()
    told.watches.jobs.store.remove(("n", "j"))
    assert told.of(pod("j"), None) == {}
    assert set(told.of(pod("j"), pod("a"))) == {("n", "a")}


async def test_news_that_others_will_follow_may_wait_and_ends_may_not() -> None:
    running, failed = a_pod(phase="Running"), a_pod(phase="Failed")
    assert set(keys(None, running).values()) == {GATHERING}
    assert set(keys(running, failed).values()) == {0.0}
    assert set(keys(failed, None).values()) == {0.0}
    terminating = a_pod(phase="Running", deleted=-5)
    assert set(keys(running, terminating).values()) == {0.0}


async def test_routine_is_gathered_for_longer_in_a_rush_until_all_pods_run() -> None:
    told = Told()
    told.is_busy = True
    new = msgspec.structs.replace(a_pod("worker", 0, phase="Pending"), spec=PodSpec())
    assert set(told.of(None, new).values()) == {CAME_UP}
    told.is_under_way = False
    assert set(told.of(None, new).values()) == {GATHERING}
    first, second = a_pod("worker", 0, phase="Running"), a_pod("worker", 1, phase="Running")
    told.watches.stores.pods.put(first)
    told.watches.stores.pods.put(a_pod("worker", 1, phase="Pending"))
    assert set(told.of(new, first).values()) == {SOME_RUN}
    assert set(told.of(first, first).values()) == {GATHERING}
    told.watches.stores.pods.put(second)
    assert set(told.of(a_pod("worker", 1, phase="Pending"), second).values()) == {GATHERING}
    assert set(told.of(first, a_pod("worker", 0, phase="Failed")).values()) == {0.0}


async def test_child_of_which_there_is_something_to_tell_is_no_routine_in_a_rush() -> None:
    told = Told()
    told.is_busy = True
    orphan = pod("", label="j")
    assert set(told.of(None, orphan).values()) == {GATHERING}
    unschedulable = PodCondition(type="PodScheduled", status="False", reason="Unschedulable")
    new = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    waiting = msgspec.structs.replace(bound(new, unschedulable), spec=PodSpec())
    assert set(told.of(None, waiting).values()) == {GATHERING}
    assert set(told.of(new, waiting).values()) == {GATHERING}


def bound(before: Pod, *conditions: PodCondition, **fields: Any) -> Pod:
    """The same pod once it has a node."""
    return msgspec.structs.replace(
        before,
        metadata=msgspec.structs.replace(before.metadata, resource_version="2", **fields),
        spec=PodSpec(node_name="node-1"),
        status=msgspec.structs.replace(before.status, conditions=conditions),
    )


SCHEDULED = PodCondition(type="PodScheduled", status="True")


async def test_pod_that_only_gets_its_node_is_no_news() -> None:
    before = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    assert keys(before, bound(before, SCHEDULED)) == {}
    assert keys(before, bound(before, SCHEDULED, labels={"moved": "away"}))


async def test_pod_that_gets_its_node_after_a_wait_is_news() -> None:
    unschedulable = PodCondition(type="PodScheduled", status="False", reason="Unschedulable")
    new = msgspec.structs.replace(a_pod(phase="Pending"), spec=PodSpec())
    waiting = msgspec.structs.replace(bound(new, unschedulable), spec=PodSpec())
    assert keys(new, waiting)
    assert keys(waiting, bound(waiting, SCHEDULED))
    assert keys(new, bound(new, unschedulable))


def test_job_stands_for_itself_and_whoever_cares_is_told() -> None:
    keys: dict[Key, float] = {}
    told: list[tuple[JobObject | None, JobObject | None]] = []
    reader = Reader(
        enqueue=lambda key, delay: keys.update({key: delay}),
        hurry=lambda key: keys.update({key: 0.0}),
        on_job=lambda old, new: told.append((old, new)),
    )
    watches = Watches(Source(InMemoryApiServer().api), KubeflowV1(), Settings(), reader=reader)
    job = JobObject(metadata=meta("j"))
    watches.jobs.store.put(job)
    watches._tell_of_job(job, None)
    assert keys == {(job.metadata.namespace, "j"): 0.0}
    assert told == [(job, None)]


async def test_pod_of_a_batch_job_concerns_the_job_behind_it_whatever_its_label_says() -> None:
    told = Told(FakeDialect())
    assert told.watches.batch_jobs is not None
    made = Pod(metadata=owned("Job", "toy-1", "B", labels={"toy.example/job": LONG[:63]}))
    assert set(told.of(None, made)) == {("n", LONG[:63])}
    maker = BatchJob(metadata=owned("ToyJob", LONG, "U", name="toy-1", uid="B"))
    told.watches.batch_jobs.store.put(maker)
    assert set(told.of(None, made)) == {("n", LONG)}
    another = msgspec.structs.replace(maker.metadata, uid="C")
    told.watches.batch_jobs.store.put(BatchJob(metadata=another))
    assert set(told.of(None, made)) == {("n", LONG[:63])}


async def test_dialect_says_what_is_followed() -> None:
    assert set(Told().watches.all) == {"jobs", "Pod", "Service"}
    assert set(Told(FakeDialect()).watches.all) == {"jobs", "Pod", "Service", "Job", "ConfigMap"}
    served = Told(FakeDialect(), served=frozenset({BOARD.name}))
    assert "Board" in served.watches.all
    assert "Board" in served.watches.stores.companions
    groups = Told(gang_scheduler_name="volcano").watches
    assert "PodGroup" in groups.all
    assert groups.stores.pod_groups is not None


@pytest.mark.parametrize("scheduler", ["", "none", "volcano", "Volcano", "others"])
def test_groups_are_among_the_kinds_beside_if_there_are_any(scheduler: str) -> None:
    found = apis_beside(KubeflowV1(), Settings(gang_scheduler_name=scheduler))
    assert [each.kind for each in found] == ([] if scheduler in {"", "none"} else ["PodGroup"])
