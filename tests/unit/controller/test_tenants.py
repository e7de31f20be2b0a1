"""Objects of others, and in other namespaces, do not affect a job, whatever owner they name."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, UID, a_pod, meta
from tests.support.fake_dialect import LABEL, FakeDialect, fake_job
from tests.support.local_apiserver.in_memory import InMemoryApiServer
from tests.support.tfjobs import tfjob
from tfjob.client.store import Store
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.job_object import JobObject
from tfjob.controller.snapshot import Snapshot, SnapshotReader, Stores
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.child_types import BatchJob, CompanionObject, PodGroup, Service
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import Pod

HERE, EVIL = "n", "evil"


def an_object(body: dict[str, Any]) -> JobObject:
    body["metadata"] |= {"namespace": HERE, "uid": UID, "resourceVersion": "1"}
    return msgspec.json.decode(msgspec.json.encode(body), type=JobObject)


def a_reader(dialect: Dialect, job: JobObject, **settings: Any) -> SnapshotReader:
    label = dialect.job_label
    stores = Stores(
        jobs=Store[JobObject](),
        pods=Store[Pod](label=label),
        services=Store[Service](label=label),
        batch_jobs=Store[BatchJob](label=label),
        pod_groups=Store[PodGroup](label=label),
        companions={"ConfigMap": Store[CompanionObject](label=label)},
    )
    stores.jobs.put(job)
    lookups = ClusterLookups(InMemoryApiServer().api, clock=lambda: 0.0)
    return SnapshotReader(
        dialect, Settings(**settings), stores=stores, lookups=lookups, now=lambda: NOW
    )


def in_both(made: ObjectMeta) -> list[ObjectMeta]:
    """The same object in the job's namespace and in another one."""
    return [msgspec.structs.replace(made, namespace=each) for each in (HERE, EVIL)]


def toy_meta(name: str, *, owner: str = UID) -> ObjectMeta:
    reference = OwnerReference(kind="ToyJob", name="t", uid=owner, controller=True)
    return ObjectMeta(
        name=name, uid=f"uid-{name}", labels={LABEL: "t"}, owner_references=[reference]
    )


async def snapshot_of(reader: SnapshotReader, name: str) -> Snapshot:
    found = await reader.read((HERE, name))
    assert found is not None
    return found


def namespaces(items: Any) -> list[str]:
    return [each.metadata.namespace for each in items]


@pytest.mark.parametrize("body", [tfjob("W1"), tfjob("")], ids=["readable", "unreadable"])
async def test_pods_and_services_of_another_namespace_are_no_children(body: dict[str, Any]) -> None:
    reader = a_reader(KubeflowV1(), an_object(body))
    for each in in_both(meta("j-worker-0", role="worker", index=0)):
        reader.stores.pods.put(msgspec.structs.replace(a_pod(), metadata=each))
        reader.stores.services.put(Service(metadata=each))
    found = await snapshot_of(reader, "j")
    assert namespaces(found.children.pods) == [HERE]
    assert namespaces(found.children.services) == [HERE]
    assert list(found.to_claim) == []


async def test_pods_of_another_namespace_are_neither_adopted_nor_released() -> None:
    reader = a_reader(KubeflowV1(), an_object(tfjob("W1")))
    orphan = meta("orphan", role="worker", index=0, owner=None)
    foreign = meta("foreign", role="worker", index=0, job="other")
    for made in (orphan, foreign):
        for each in in_both(made):
            reader.stores.pods.put(msgspec.structs.replace(a_pod(), metadata=each))
    found = await snapshot_of(reader, "j")
    to_claim = {(each.name, each.namespace) for _, each, _ in found.to_claim}
    assert to_claim == {("orphan", HERE), ("foreign", HERE)}


async def test_pod_group_of_another_namespace_admits_nobody() -> None:
    policy = {"schedulingPolicy": {"minAvailable": 1}}
    job = an_object(tfjob("W1", run_policy=policy))
    reader = a_reader(KubeflowV1(), job, gang_scheduler_name="volcano")
    assert reader.stores.pod_groups is not None
    here, evil = in_both(meta("j"))
    reader.stores.pod_groups.put(PodGroup(metadata=evil))
    assert (await snapshot_of(reader, "j")).children.pod_group is None
    reader.stores.pod_groups.put(PodGroup(metadata=here))
    group = (await snapshot_of(reader, "j")).children.pod_group
    assert group is not None
    assert group.metadata.namespace == HERE


@pytest.mark.parametrize("replicas", [2, 0], ids=["readable", "unreadable"])
async def test_batch_jobs_of_another_namespace_and_their_pods_are_no_children(
    replicas: int,
) -> None:
    reader = a_reader(FakeDialect(), an_object(fake_job(id="mine", replicas=replicas)))
    assert reader.stores.batch_jobs is not None
    for each in in_both(toy_meta("toy-mine-0")):
        reader.stores.batch_jobs.put(BatchJob(metadata=each))
    for each in in_both(toy_meta("toy-mine-0-x", owner="uid-toy-mine-0")):
        reader.stores.pods.put(msgspec.structs.replace(a_pod(), metadata=each))
    found = await snapshot_of(reader, "t")
    assert namespaces(found.children.jobs) == [HERE]
    assert namespaces(found.children.pods) == [HERE]


async def test_companions_of_another_namespace_do_not_replace_those_of_the_job() -> None:
    reader = a_reader(FakeDialect(), an_object(fake_job(id="mine")))
    evil = in_both(toy_meta("beside-mine"))[1]
    reader.stores.companions["ConfigMap"].put(CompanionObject(metadata=evil))
    reader.stores.services.put(Service(metadata=evil))
    assert (await snapshot_of(reader, "t")).children.companions == {}


async def test_change_in_another_namespace_does_not_unsettle_a_job() -> None:
    stored = an_object(tfjob("W1"))
    reader = a_reader(KubeflowV1(), stored)
    before = reader.fingerprint(stored)
    here, evil = in_both(meta("j-worker-0", role="worker", index=0))
    reader.stores.pods.put(msgspec.structs.replace(a_pod(), metadata=evil))
    assert reader.fingerprint(stored) == before
    reader.stores.pods.put(msgspec.structs.replace(a_pod(), metadata=here))
    assert reader.fingerprint(stored) != before


@pytest.mark.parametrize("body", [tfjob("W1"), tfjob("")], ids=["readable", "unreadable"])
async def test_pod_group_that_a_scheduler_made_for_the_job_is_not_that_of_its_gang(
    body: dict[str, Any],
) -> None:
    reader = a_reader(KubeflowV1(), an_object(body), gang_scheduler_name="volcano")
    assert reader.stores.pod_groups is not None
    for name, expected in ((f"podgroup-{UID}", None), ("j", "j")):
        here = msgspec.structs.replace(meta(name), namespace=HERE)
        reader.stores.pod_groups.put(PodGroup(metadata=here))
        group = (await snapshot_of(reader, "j")).children.pod_group
        assert (None if group is None else group.metadata.name) == expected
