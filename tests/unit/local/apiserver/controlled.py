"""Controllers on a store without a node: tests set the state of pods and the time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver import bootstrap, responses
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.deployment_controller import DeploymentController
from tfjob.local.apiserver.garbage_collector import GarbageCollector
from tfjob.local.apiserver.handlers.delete import Options, end
from tfjob.local.apiserver.handlers.objects import create_object
from tfjob.local.apiserver.job_controller import JobController
from tfjob.local.apiserver.replicaset_controller import ReplicaSetController
from tfjob.local.apiserver.request import Request
from tfjob.local.apiserver.store import Key, Store

Json = dict[str, Any]


class ControlledCluster:
    """All controllers on one store."""

    def __init__(self, path: Path) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self.backend = Backend(Store(path), clock=lambda: self.now)
        bootstrap.ensure(self.backend)
        kinds = (JobController, ReplicaSetController, DeploymentController)
        self.controllers = tuple(kind(self.backend) for kind in kinds)
        self.collector = GarbageCollector(self.backend)

    def create(self, resource: str, body: Json) -> Json:
        kind = self.backend.registry.of_resource(resource)
        assert kind is not None
        request = Request(verb="create", kind=kind, namespace="default")
        made = responses.decoded(create_object(self.backend, request, body).body)
        self.settle()
        return made

    def settle(self) -> None:
        for _ in range(1000):
            if self.collector.is_idle and all(one.is_idle for one in self.controllers):
                return
            for controller in self.controllers:
                if not controller.is_idle:
                    controller.step()
            if not self.collector.is_idle:
                self.collector.step()
        raise AssertionError("it never came to rest")

    def look_again(self) -> None:
        for controller in self.controllers:
            controller.enqueue_all()
        self.collector.enqueue_all()
        self.settle()

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for controller in self.controllers:
            controller.on_idle()
        self.settle()

    def all(self, resource: str) -> list[Json]:
        return [row.object() for row in self.backend.store.page(resource)]

    def get(self, resource: str, name: str) -> Json:
        stored = self.backend.store.get(Key(resource, "default", name))
        assert stored is not None, f"{resource} {name} is gone"
        return stored.object()

    def change(self, resource: str, name: str, **spec: Any) -> None:
        """Write another spec, as an admitted update would."""
        obj = self.get(resource, name)
        obj["spec"] |= spec
        obj["metadata"]["generation"] += 1
        self.backend.store.put(Key(resource, "default", name), obj)
        self.settle()

    def delete(self, resource: str, name: str, *, policy: str = "Background") -> None:
        kind = self.backend.registry.of_resource(resource)
        assert kind is not None
        key = Key(resource, "default", name)
        end(self.backend, kind, key=key, options=Options(propagation_policy=policy))
        self.settle()

    def pods(self, *phases: str) -> list[Json]:
        return [pod for pod in self.all("pods") if pod["status"]["phase"] in phases]

    def put_pod(self, pod: Json, **status: Any) -> None:
        pod["status"] = {**pod["status"], **status}
        self.backend.store.put(Key("pods", "default", pod["metadata"]["name"]), pod)
        self.settle()

    def run_pods(self) -> None:
        """Let every waiting pod run and be ready."""
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": time.render(self.now)}
        for pod in self.pods("Pending"):
            self.put_pod(pod, phase="Running", conditions=[ready])

    def finish(self, phase: str) -> None:
        """Let one active pod end now."""
        pod = self.pods("Pending", "Running")[0]
        end_state = {"terminated": {"finishedAt": time.render(self.now)}}
        self.put_pod(pod, phase=phase, containerStatuses=[{"state": end_state}], conditions=[])
