"""Garbage collection and namespaces, driven step by step without a clock or a server."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_dialect import definition
from tests.support.patience import PATIENCE
from tfjob.local.apiserver import bootstrap, controller, garbage_collector
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.garbage_collector import GarbageCollector
from tfjob.local.apiserver.handlers.delete import Options, end
from tfjob.local.apiserver.owned_objects import drop, make
from tfjob.local.apiserver.store import Key, Store, StoreFullError

Json = dict[str, Any]
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Cluster:
    """A backend with a collector that runs step by step."""

    def __init__(self, path: Path) -> None:
        self.now = START
        self.backend = Backend(Store(path), clock=lambda: self.now)
        bootstrap.ensure(self.backend)
        self.collector = GarbageCollector(self.backend)

    def make(self, name: str, *, owner: str = "", **meta: Any) -> str:
        refs = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": f"uid-{owner}"}]
        owned = {"ownerReferences": [{**refs[0], "blockOwnerDeletion": True}]} if owner else {}
        obj = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"uid-{name}",
                **owned,
                **meta,
            }
        }
        self.backend.store.put(self.key(name), obj)
        return name

    def key(self, name: str) -> Key:
        return Key("configmaps", "default", name)

    def end(self, name: str, policy: str) -> None:
        kind = self.backend.registry.of_resource("configmaps")
        assert kind is not None
        end(self.backend, kind, key=self.key(name), options=Options(propagation_policy=policy))

    def settle(self) -> None:
        for _ in range(1000):
            if self.collector.is_idle:
                return
            self.collector.step()
        raise AssertionError("the collector never came to rest")

    def names(self) -> list[str]:
        return [row.name for row in self.backend.store.page("configmaps")]

    def meta(self, name: str) -> Json:
        stored = self.backend.store.get(self.key(name))
        assert stored is not None
        return dict(stored.object()["metadata"])


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "objects.sqlite")


def test_background_deletion_removes_the_owner_first_and_then_all_descendants(
    cluster: Cluster,
) -> None:
    cluster.make("a")
    cluster.make("b", owner="a")
    cluster.make("c", owner="b")
    cluster.end("a", "Background")
    assert cluster.names() == ["b", "c"]
    cluster.settle()
    assert cluster.names() == []


def test_foreground_deletion_keeps_the_owner_until_its_dependents_are_gone(
    cluster: Cluster,
) -> None:
    cluster.make("a")
    cluster.make("b", owner="a", finalizers=["example.com/hold"])
    cluster.end("a", "Foreground")
    cluster.settle()
    assert cluster.meta("a")["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in cluster.meta("b")
    held = cluster.backend.store.get(cluster.key("b"))
    assert held is not None
    cluster.backend.store.remove(cluster.key("b"), held.object())
    cluster.settle()
    assert cluster.names() == []


def test_orphan_deletion_keeps_the_dependents_without_their_owner(cluster: Cluster) -> None:
    cluster.make("a")
    cluster.make("b", owner="a")
    cluster.end("a", "Orphan")
    cluster.settle()
    assert cluster.names() == ["b"]
    assert "ownerReferences" not in cluster.meta("b")


def test_a_dependent_of_an_owner_that_never_existed_is_collected(cluster: Cluster) -> None:
    cluster.make("b", owner="never")
    cluster.settle()
    assert cluster.names() == []


def test_a_dependent_of_an_unknown_kind_is_left_alone(cluster: Cluster) -> None:
    refs = [{"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "uid-w"}]
    cluster.make("b", ownerReferences=refs)
    cluster.settle()
    assert cluster.names() == ["b"]


def test_a_deleted_crd_deletes_its_objects_and_all_their_dependents(cluster: Cluster) -> None:
    backend = cluster.backend
    widgets = definition("example.com", "v1", "Widget", plural="widgets")
    made = make(backend, garbage_collector.DEFINITIONS, widgets, namespace="")
    for name in ("v", "w"):
        kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
        widget = {**kind, "metadata": {"name": name}}
        uid = make(backend, "widgets.example.com", widget, namespace="default")["metadata"]["uid"]
        cluster.make(f"of-{name}", ownerReferences=[{**kind, "name": name, "uid": uid}])
    cluster.make("of-nobody")
    drop(
        backend, garbage_collector.DEFINITIONS, {"metadata": {**made["metadata"], "namespace": ""}}
    )
    cluster.settle()
    assert cluster.names() == ["of-nobody"]
    assert backend.registry.of_resource("widgets.example.com") is None


def test_dependents_left_by_a_crash_are_collected_at_the_next_start(tmp_path: Path) -> None:
    before = Cluster(tmp_path / "objects.sqlite")
    before.make("a")
    before.make("b", owner="a")
    before.end("a", "Background")
    before.backend.store.close()
    after = Cluster(tmp_path / "objects.sqlite")
    after.collector.enqueue_all()
    after.settle()
    assert after.names() == []


def test_a_deleted_namespace_deletes_its_content(cluster: Cluster) -> None:
    cluster.make("a")
    obj = {"metadata": {"name": "ns", "uid": "uid-ns"}, "spec": {"finalizers": ["kubernetes"]}}
    cluster.backend.store.put(Key("namespaces", "", "ns"), obj)
    inside = {"metadata": {"name": "x", "namespace": "ns", "uid": "uid-x"}}
    cluster.backend.store.put(Key("secrets", "ns", "x"), inside)
    kind = cluster.backend.registry.of_resource("namespaces")
    assert kind is not None
    end(cluster.backend, kind, key=Key("namespaces", "", "ns"), options=Options())
    cluster.settle()
    assert cluster.backend.namespace("ns") is None
    assert cluster.backend.store.resources_in("ns") == []
    assert cluster.names() == ["a"]


def test_events_expire_after_an_hour_and_not_before(cluster: Cluster) -> None:
    seen = (START - timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    meta = {"name": "e", "namespace": "default", "uid": "uid-e", "creationTimestamp": seen}
    cluster.backend.store.put(Key("events", "default", "e"), {"metadata": meta})
    cluster.collector.drop_old_events()
    assert cluster.backend.store.count("events") == 1
    cluster.now = START + timedelta(minutes=31)
    cluster.collector.drop_old_events()
    assert cluster.backend.store.count("events") == 0


async def test_the_collector_continues_after_a_disk_that_is_full_at_the_start(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    is_done = asyncio.Event()

    def enqueue_all() -> None:
        looks.append(len(looks))
        if len(looks) == 1:
            raise StoreFullError("the disk is full")
        is_done.set()

    monkeypatch.setattr(controller, "_RETRY_SECONDS", 0.0)
    monkeypatch.setattr(cluster.collector, "enqueue_all", enqueue_all)
    task = asyncio.create_task(cluster.collector.run())
    async with asyncio.timeout(PATIENCE):
        await is_done.wait()
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
