"""A reconciler with its informer caches, on an API server in memory.

A test says when the caches are updated. One harness serves every dialect: `JobKind` says which jobs
it reconciles.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import msgspec

from tests.support import fake_dialect
from tests.support.builders import NOW
from tests.support.fake_kubelet.kubelet import PodLifecycle
from tests.support.local_apiserver.in_memory import (
    CORE,
    DEFINITIONS,
    JOBS,
    InMemoryApiServer,
    Json,
    decoded,
)
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tfjob.client.errors import ApiError
from tfjob.client.events import EventRecorder
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.request import Request
from tfjob.client.store import Store
from tfjob.client.watch_codec import Key
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import Pacer, PacingConfig
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.result import Result
from tfjob.controller.snapshot import Snapshot, SnapshotReader, Stores, pod_store
from tfjob.controller.status_writer import StatusWriter, WriteResult
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.dialects.base import Dialect, Settings, StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.child_types import BatchJob, CompanionObject, Service
from tfjob.k8s.pod import Pod
from tfjob.manager.metrics import Metrics

BATCH = "/apis/batch/v1/namespaces/default/jobs"
KEY = ("default", "j")


class JobKind(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs that a harness reconciles; `companions` are kinds that they may have beside pods."""

    dialect: Dialect
    path: str
    key: Key
    label: str
    build: Callable[..., Json]
    has_batch_jobs: bool = False
    companions: tuple[str, ...] = ()


TFJOB = JobKind(
    dialect=KubeflowV1(),
    path=JOBS,
    key=KEY,
    label="training.kubeflow.org/job-name",
    build=tfjob,
)
FAKE_JOB = JobKind(
    dialect=fake_dialect.FakeDialect(),
    path=fake_dialect.JOBS,
    key=("default", "t"),
    label=fake_dialect.LABEL,
    build=fake_dialect.fake_job,
    has_batch_jobs=True,
    companions=("ConfigMap",),
)

UNPACED = Pacer(PacingConfig(is_on=False), clock=lambda: 0.0)


class ControllerHarness:
    """One controller and its server; `tokens` are used in order, `may_write`: whether it leads."""

    def __init__(self, server: InMemoryApiServer, kind: JobKind = TFJOB) -> None:
        self.server = server
        self.kind = kind
        self.time = NOW
        self.may_write: Callable[[], bool] = lambda: True
        api = server.api.guarded(lambda: self.may_write())  # noqa: PLW0108 - tests replace it
        self.tokens = iter(["aaaa", "bbbb", "cccc"])
        self.elapsed = 0.0
        self.metrics = Metrics()
        self.kubelet = PodLifecycle(server, namespace="default", now=self.now)
        self.stores = _stores_for(kind)
        self.recorder = EventRecorder(server.api, component="tfjob-controller", now=self.now)
        self.reader = SnapshotReader(
            kind.dialect,
            Settings(),
            stores=self.stores,
            lookups=ClusterLookups(server.api, clock=lambda: 0.0),
            now=self.now,
            token=lambda: next(self.tokens),
        )
        self.child_writer = ChildWriter(
            api, FairSemaphore(4), self.metrics, clock=lambda: self.elapsed
        )
        self.statuses = StatusWriter(api, kind.dialect)
        self.reconciler = self.reconciler_with(UNPACED)

    def reconciler_with(self, pacer: Pacer) -> Reconciler:
        return Reconciler(
            reader=self.reader,
            child_writer=self.child_writer,
            status_writer=self.statuses,
            recorder=self.recorder,
            metrics=self.metrics,
            pacer=pacer,
        )

    def now(self) -> datetime:
        return self.time

    async def submit(self, *args: Any, **fields: Any) -> Json:
        """Create a job, as its kind's builder takes the arguments."""
        return await self.server.make(self.kind.path, self.kind.build(*args, **fields))

    async def look(self) -> None:
        """Let the caches see what is stored."""
        await self._fill(self.stores.jobs, self.kind.path, JobObject)
        await self._fill(self.stores.pods, f"{CORE}/pods", Pod)
        await self._fill(self.stores.services, f"{CORE}/services", Service)
        if self.stores.batch_jobs is not None:
            await self._fill(self.stores.batch_jobs, BATCH, BatchJob)
        for name, store in self.stores.companions.items():
            await self._fill(store, f"{CORE}/{name.lower()}s", CompanionObject)

    async def _fill(self, store: Store[Any], path: str, kind: type[Any]) -> None:
        for known in store:
            store.remove((known.metadata.namespace, known.metadata.name))
        listed = await self.server.ask("GET", path)
        for item in listed["items"]:
            store.put(decoded(item, kind))
        store.version = listed["metadata"]["resourceVersion"]

    async def snapshot(self) -> Snapshot:
        """Update the caches, and read the job's snapshot."""
        await self.look()
        found = await self.reader.read(self.kind.key)
        assert found is not None
        return found

    async def one_pass(self) -> Result:
        """Update the caches and reconcile once; a new job gets its first status before."""
        await self.look()
        stored = self.stores.jobs.get(self.kind.key)
        result = await self.reconciler.reconcile(self.kind.key)
        if stored is None or stored.has_status or not result.requeue:
            return result
        await self.look()
        return await self.reconciler.reconcile(self.kind.key)

    async def written(
        self, seen: Snapshot, plan: Plan | None = None, trouble: str = ""
    ) -> WriteResult | None:
        """Write the status of a gathered job; after a conflict nothing is left to do."""

        async def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
            return self.reader.decode(fresh), Plan()

        return await self.statuses.write(
            seen.stored,
            job=seen.job,
            plan=plan or Plan(),
            observed=StatusContext(children=seen.children, now=NOW, create_error=trouble),
            decide=decide,
        )

    async def job(self) -> Json:
        return await self.server.ask("GET", f"{self.kind.path}/{self.kind.key[1]}")

    async def replace_job(self, job: Json, *, status: bool = False) -> None:
        """Store a job, or only its status, as another client would."""
        path = f"{self.kind.path}/{self.kind.key[1]}"
        await self.server.call("PUT", f"{path}/status" if status else path, job)

    async def annotate_job(self) -> None:
        """Change the job as another client would, without any effect on the operator."""
        job = await self.job()
        job["metadata"]["annotations"] = {"touched": "yes"}
        await self.replace_job(job)

    def noted(
        self, verb: str, path: str, error: Callable[[], ApiError | None] = lambda: None
    ) -> list[str]:
        """The paths of such requests that the operator sends from now on; `error` answers them."""
        found: list[str] = []

        def note(request: Request) -> ApiError | None:
            if (request.verb, request.path) != (verb, path):
                return None
            found.append(request.path)
            return error()

        self.server.refuse = note
        return found

    async def conditions(self) -> list[str]:
        status = (await self.job()).get("status", {})
        return [each["type"] for each in status.get("conditions", []) if each["status"] == "True"]

    async def end_pod(self, name: str, code: int) -> None:
        """Let a pod's container end and its phase follow."""
        await self.kubelet.finish(name, exit_code=code)

    async def told(self) -> list[tuple[str, str, str]]:
        """The events that were sent, oldest first."""
        await self.recorder.close(PATIENCE)
        return await self.server.events()

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


def _stores_for(kind: JobKind) -> Stores:
    return Stores(
        jobs=Store[JobObject](),
        pods=pod_store(kind.label),
        services=Store[Service](label=kind.label),
        batch_jobs=Store[BatchJob](label=kind.label) if kind.has_batch_jobs else None,
        companions={name: Store[CompanionObject](label=kind.label) for name in kind.companions},
    )


@asynccontextmanager
async def controller_harness(kind: JobKind = TFJOB) -> AsyncIterator[ControllerHarness]:
    """A harness whose server knows the kind's CRD."""
    async with InMemoryApiServer() as server:
        if kind is not TFJOB:
            await server.make(DEFINITIONS, kind.dialect.crd())
        yield ControllerHarness(server, kind)


def child(kind: str, name: str, owner: Json, **labels: str) -> Json:
    """An object that a job or one of its batch Jobs owns."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    shown = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    metadata = {"name": name, "labels": shown, "ownerReferences": [reference]}
    version, spec = _BODIES[kind]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **spec(name)}


_CONTAINERS = {"containers": [{"name": "tensorflow", "image": "x"}], "restartPolicy": "Never"}
_BODIES: dict[str, tuple[str, Callable[[str], Json]]] = {
    "Pod": ("v1", lambda _: {"spec": _CONTAINERS}),
    "Service": ("v1", lambda _: {"spec": {"ports": [{"port": 80}]}}),
    "ConfigMap": ("v1", lambda _: {"data": {}}),
    "Job": ("batch/v1", lambda _: {"spec": {"template": {"spec": _CONTAINERS}}}),
}
