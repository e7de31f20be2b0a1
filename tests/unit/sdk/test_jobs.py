from typing import Any

import msgspec

from tests.support.fake_dialect import FakeDialect, fake_job
from tests.support.tfjobs import tfjob
from tfjob.dialects.base import Settings
from tfjob.k8s.pod import Pod
from tfjob.sdk import jobs

UID = "u-1"


def found(roles: str) -> jobs.ClusterJob:
    manifest = tfjob(roles)
    manifest["metadata"] |= {"namespace": "default", "uid": UID}
    dialect = jobs.stored_dialects()[0]
    return jobs.ClusterJob(
        dialect=dialect, manifest=manifest, job=dialect.decode(manifest, Settings())
    )


def pod(kind: str, index: object, *, owner: str = UID) -> Pod:
    labels = {
        "training.kubeflow.org/replica-type": kind,
        "training.kubeflow.org/replica-index": str(index),
    }
    owners = [{"uid": owner, "controller": True, "kind": "TFJob", "name": "j"}]
    body: dict[str, Any] = {
        "metadata": {"name": f"j-{kind}-{index}", "labels": labels, "ownerReferences": owners}
    }
    return msgspec.convert(body, type=Pod)


def test_pods_are_sorted_by_replica_type_and_index() -> None:
    shuffled = [pod("worker", 10), pod("worker", 9), pod("ps", 0), pod("chief", 0)]
    shown = jobs.in_order(found("C1 P1 W12"), shuffled)
    assert [each.metadata.name for each in shown] == [
        "j-chief-0",
        "j-ps-0",
        "j-worker-9",
        "j-worker-10",
    ]


def test_pods_of_other_owners_are_left_out() -> None:
    assert jobs.in_order(found("W1"), [pod("worker", 0, owner="u-2")]) == []


def test_a_pod_with_a_malformed_index_does_not_stop_the_others() -> None:
    shown = jobs.in_order(found("W2"), [pod("worker", 1), pod("worker", "²")])
    assert [each.metadata.name for each in shown] == ["j-worker-²", "j-worker-1"]


def test_a_replica_is_called_by_type_and_number() -> None:
    assert jobs.replica_name(found("W2"), pod("worker", 1)) == "worker-1"


def test_replicas_are_counted_by_type() -> None:
    assert jobs.replicas_text(found("C1 P2 W4")) == "1 chief, 2 ps, 4 worker"


def test_a_job_that_cannot_be_read_has_no_pods_and_no_replicas() -> None:
    broken = found("W1")
    broken.manifest["spec"] = {"tfReplicaSpecs": {"Boss": {}}}
    broken.job = broken.dialect.decode(broken.manifest, Settings())
    assert jobs.in_order(broken, [pod("worker", 0)]) == []
    assert jobs.replicas_text(broken) == ""
    assert jobs.replica_name(broken, pod("worker", 0)) == "j-worker-0"


def test_two_versions_of_one_resource_are_asked_for_once() -> None:
    found = [f"{each.group}/{each.plural}" for each in jobs.stored_dialects()]
    assert found[0] == "kubeflow.org/tfjobs"
    assert len(found) == len(set(found))


def toy(name: str = "t") -> jobs.ClusterJob:
    manifest = fake_job(name, replicas=2, id="abcd")
    manifest["metadata"] |= {"namespace": "default", "uid": UID}
    job = FakeDialect().decode(manifest, Settings())
    return jobs.ClusterJob(dialect=FakeDialect(), manifest=manifest, job=job)


def toy_pod(name: str, index: int, *, maker: str) -> Pod:
    labels = {"toy.example/type": "toy", "toy.example/index": str(index)}
    owners = [{"uid": "of the maker", "controller": True, "kind": "Job", "name": maker}]
    metadata = {"name": name, "labels": labels, "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata}, type=Pod)


def test_pods_that_a_batch_job_of_the_job_made_are_its_own() -> None:
    made = [
        toy_pod("b", 1, maker="toy-abcd-1"),
        toy_pod("a", 0, maker="toy-abcd-0"),
        toy_pod("c", 0, maker="toy-abcd-7"),
    ]
    assert [each.metadata.name for each in jobs.in_order(toy(), made)] == ["a", "b"]
    assert jobs.in_order(found("W1"), made) == []


def test_pods_are_asked_for_by_the_label_they_carry_also_where_a_name_is_too_long() -> None:
    assert jobs.pods_selector(found("W1")) == "training.kubeflow.org/job-name=j"
    assert jobs.pods_selector(toy("t" * 80)) == f"toy.example/job={'t' * 63}"
