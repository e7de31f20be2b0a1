"""Interning of equal parts of objects."""

import msgspec

from tfjob.client.interning import Interner
from tfjob.k8s.pod import Pod


def pod(name: str, *, node: str = "a") -> Pod:
    """A freshly decoded pod, which shares no part with others."""
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "j", "uid": "U"}
    manifest = {
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": {"job": "the-job", "index": name},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"nodeName": node},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "now"}],
            "containerStatuses": [{"name": "tensorflow", "state": {"running": {}}}],
        },
    }
    return msgspec.json.decode(msgspec.json.encode(manifest), type=Pod)


def compacted(*pods: Pod, sharing: Interner | None = None) -> tuple[Pod, ...]:
    sharing = sharing or Interner()
    for each in pods:
        sharing.compact(each)
    return pods


def test_objects_say_what_they_said_before() -> None:
    (found,) = compacted(pod("p"))
    assert msgspec.json.encode(found) == msgspec.json.encode(pod("p"))
    assert found.metadata.controller_uid == "U"


def test_equal_parts_of_two_objects_are_one() -> None:
    one, other = compacted(pod("p"), pod("q", node="b"))
    assert one.metadata.owner_references is other.metadata.owner_references
    assert one.metadata.namespace is other.metadata.namespace
    assert one.metadata.labels["job"] is other.metadata.labels["job"]
    assert one.status.conditions is other.status.conditions
    assert one.status.container_statuses is other.status.container_statuses
    assert one.metadata.labels["index"] == "p"
    assert other.spec.node_name == "b"


def test_what_is_known_is_bounded() -> None:
    sharing = Interner(max_known=5)
    pods = [pod(f"p-{number}") for number in range(100)]
    compacted(*pods, sharing=sharing)
    assert len(sharing._known) <= 5
    assert [each.metadata.labels["index"] for each in pods] == [f"p-{n}" for n in range(100)]


def test_parts_of_deleted_objects_are_forgotten_while_few_objects_live() -> None:
    sharing = Interner()
    for number in range(5000):
        sharing.compact(pod(f"p-{number}"), live=1)
    assert len(sharing._known) < 1100


def test_many_live_objects_keep_all_their_parts() -> None:
    sharing = Interner()
    pods = [pod(f"p-{number}") for number in range(2000)]
    for number, each in enumerate(pods):
        sharing.compact(each, live=number)
    assert pods[0].status.conditions is pods[-1].status.conditions


class Odd(msgspec.Struct):
    value: msgspec.Struct


class Loose(msgspec.Struct):
    entries: list[dict[str, str]]


def test_what_can_change_is_not_shared() -> None:
    one, other = (Odd(Loose([{"a": "b"}])) for _ in range(2))
    for each in (one, other):
        Interner().compact(each)
    assert isinstance(one.value, Loose)
    assert list(one.value.entries) == [{"a": "b"}]
