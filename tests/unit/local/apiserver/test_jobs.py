"""Jobs: pods until enough have succeeded, or too many have failed."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tfjob.local.apiserver import bootstrap
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.gc import Collector
from tfjob.local.apiserver.jobs import RESOURCE, JobController
from tfjob.local.apiserver.request import Request
from tfjob.local.apiserver.store import Key, Store
from tfjob.local.apiserver.verbs.create import create_object

Json = dict[str, Any]
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}


class World:
    """Jobs without a node: the test says how each pod ends."""

    def __init__(self, path: Path) -> None:
        now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self.backend = Backend(Store(path), clock=lambda: now)
        bootstrap.ensure(self.backend)
        self.controller = JobController(self.backend)
        self.collector = Collector(self.backend)

    def make(self, **spec: Any) -> None:
        kind = self.backend.registry.of_resource(RESOURCE)
        assert kind is not None
        request = Request(verb="create", kind=kind, namespace="default")
        body = {"metadata": {"name": "j"}, "spec": {"template": TEMPLATE, **spec}}
        create_object(self.backend, request, body)
        self.settle()

    def settle(self) -> None:
        for _ in range(1000):
            if self.controller.is_idle and self.collector.is_idle:
                return
            for worker in (self.controller, self.collector):
                if not worker.is_idle:
                    worker.step()
        raise AssertionError("it never came to rest")

    def pods(self, phase: str) -> list[Json]:
        found = [row.object() for row in self.backend.store.page("pods")]
        return [pod for pod in found if pod["status"]["phase"] == phase]

    def finish(self, phase: str) -> None:
        """Let one active pod end."""
        pod = self.pods("Pending")[0]
        pod["status"] = {"phase": phase}
        self.backend.store.put(Key("pods", "default", pod["metadata"]["name"]), pod)
        self.settle()

    def change(self, **spec: Any) -> None:
        job = self.job()
        self.backend.store.put(
            Key(RESOURCE, "default", "j"), {**job, "spec": {**job["spec"], **spec}}
        )
        self.settle()

    def job(self) -> Json:
        stored = self.backend.store.get(Key(RESOURCE, "default", "j"))
        assert stored is not None
        return stored.object()

    def conditions(self) -> dict[str, str]:
        found = self.job()["status"].get("conditions") or ()
        return {condition["type"]: condition["status"] for condition in found}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "objects.sqlite")


def test_a_job_runs_as_many_pods_as_it_may_and_completes(world: World) -> None:
    world.make(completions=3, parallelism=2)
    assert len(world.pods("Pending")) == 2
    for _ in range(3):
        world.finish("Succeeded")
    assert world.pods("Pending") == []
    assert world.conditions() == {"Complete": "True"}
    assert world.job()["status"]["succeeded"] == 3


def test_a_failed_pod_is_replaced_until_the_limit(world: World) -> None:
    world.make(backoffLimit=1)
    world.finish("Failed")
    assert len(world.pods("Pending")) == 1
    world.finish("Failed")
    assert world.pods("Pending") == []
    assert world.conditions() == {"Failed": "True"}


def test_a_suspended_job_owns_no_active_pod_and_resumes(world: World) -> None:
    world.make(suspend=True)
    assert (world.pods("Pending"), world.conditions()) == ([], {"Suspended": "True"})
    world.change(suspend=False)
    assert len(world.pods("Pending")) == 1
    world.change(suspend=True)
    assert world.pods("Pending") == []


def test_pods_belong_to_their_job_and_carry_its_labels(world: World) -> None:
    world.make()
    meta = world.pods("Pending")[0]["metadata"]
    assert meta["labels"]["job-name"] == "j"
    assert meta["ownerReferences"][0]["uid"] == world.job()["metadata"]["uid"]


def test_repeating_the_decision_changes_nothing(world: World) -> None:
    world.make(parallelism=3, completions=3)
    revision = world.backend.store.revision
    world.controller.look_everywhere()
    world.settle()
    assert world.backend.store.revision == revision
