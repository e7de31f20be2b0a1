"""The start of a job in this process: watch lines in, requests out, without a network.

Uses the operator's own reconciler, stores and event recorder. The API server is replaced by one
that accepts every write, whose time is not counted.
"""

import asyncio
import statistics
import time
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from benchmarks.watch_probe import job as small_job
from tfjob.client.config import Config
from tfjob.client.events import EventRecorder
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.http import Api
from tfjob.client.request import Request
from tfjob.client.store import Store
from tfjob.client.watch_codec import Changed, HasMetadata, LineDecoder
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.cluster_lookups import ClusterLookups
from tfjob.controller.job_object import JobObject
from tfjob.controller.pacing import Pacer
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.snapshot import SnapshotReader, Stores
from tfjob.controller.status_writer import StatusWriter
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.child_types import Service
from tfjob.k8s.pod import Pod
from tfjob.manager.metrics import Metrics

T = TypeVar("T")
H = TypeVar("H", bound=HasMetadata)
Json = dict[str, Any]
_NAMESPACE: Final = "default"
_THEN: Final = "2026-01-02T03:04:05Z"
_JOBS: Final = LineDecoder(JobObject)
_PODS: Final = LineDecoder(Pod)
_SERVICES: Final = LineDecoder(Service)
_RUNNING: Final = {
    "phase": "Running",
    "startTime": _THEN,
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _THEN}],
    "containerStatuses": [
        {"name": "tensorflow", "ready": True, "state": {"running": {"startedAt": _THEN}}}
    ],
}


class _AcceptingApi(Api):
    """Accepts every write, keeps what was written, and counts its own seconds."""

    def __init__(self) -> None:
        super().__init__(Config(server="http://api.invalid"))
        self.written: list[tuple[str, Json]] = []
        self.seconds = 0.0
        self._version = 0

    async def _typed(self, request: Request, decode: type[T]) -> T:
        began = time.process_time()
        body: Json = msgspec.json.decode(request.body or b"{}")
        self.store(body)
        self.written.append((request.path, body))
        answer = msgspec.json.encode(body)
        self.seconds += time.process_time() - began
        return msgspec.json.decode(answer, type=decode)

    def store(self, body: Json) -> None:
        """Give an object its next version, and a UID if it is new."""
        self._version += 1
        meta = body["metadata"]
        meta.setdefault("uid", f"uid-{self._version}")
        meta |= {"namespace": _NAMESPACE, "resourceVersion": str(self._version)}
        meta.setdefault("creationTimestamp", _THEN)

    def take(self, kind: str) -> list[Json]:
        """What was written to a collection or to its objects since the last call."""
        found = [body for path, body in self.written if f"/{kind}" in path]
        self.written = [each for each in self.written if f"/{kind}" not in each[0]]
        return found


class JobLife:
    """Lets jobs of four replicas start, one after the other."""

    def __init__(self) -> None:
        self._api = _AcceptingApi()
        dialect = KubeflowV1()
        self._stores = Stores(
            jobs=Store[JobObject](),
            pods=Store[Pod](label=dialect.job_label),
            services=Store[Service](label=dialect.job_label),
        )
        self._recorder = EventRecorder(self._api, component="benchmark")
        metrics = Metrics()
        self._reconciler = Reconciler(
            reader=SnapshotReader(
                dialect,
                Settings(),
                stores=self._stores,
                lookups=ClusterLookups(self._api, clock=time.monotonic),
                now=lambda: datetime.now(UTC),
            ),
            child_writer=ChildWriter(self._api, FairSemaphore(48, share=12), metrics),
            status_writer=StatusWriter(self._api, dialect),
            recorder=self._recorder,
            metrics=metrics,
            pacer=Pacer(clock=time.monotonic),
        )
        self._born = 0

    async def measured(self, *, jobs: int) -> list[float]:
        """The CPU seconds that each of so many jobs took, without those of the API server."""
        sender = asyncio.create_task(self._recorder.run())
        found = []
        for _ in range(jobs):
            self._api.seconds = 0.0
            began = time.process_time()
            await self._live()
            found.append(time.process_time() - began - self._api.seconds)
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
        return found

    async def _live(self) -> None:
        """Create a job, its first status and its children; let its pods run; send its events."""
        self._born += 1
        body = dict(small_job(f"job-{self._born}", workers=3))
        self._api.store(body)
        self._reconciler.created_here.add(body["metadata"]["uid"])
        for _ in ("the first status", "children"):
            await self._reconcile(body)
        pods, services = self._api.take("pods"), self._api.take("services")
        for service in services:
            self._see(service, _SERVICES, self._stores.services)
        for status in ({"phase": "Pending"}, _RUNNING):
            for pod in pods:
                self._api.store(pod)
                self._see({**pod, "status": status}, _PODS, self._stores.pods)
        for _ in ("the running job", "nothing more"):
            await self._reconcile(body)
        children = len(pods) + len(services)
        while len(self._api.written) < children:  # noqa: ASYNC110 - only events are left to send
            await asyncio.sleep(0)
        self._api.written.clear()

    async def _reconcile(self, body: Json) -> None:
        """See the job as it is stored, reconcile it, and store the status that it gets."""
        self._see(body, _JOBS, self._stores.jobs)
        await self._reconciler.reconcile((_NAMESPACE, body["metadata"]["name"]))
        for written in self._api.take("tfjobs"):
            body["status"] = written["status"]
            body["metadata"]["resourceVersion"] = written["metadata"]["resourceVersion"]

    def _see(self, body: Json, decoder: LineDecoder[H], store: Store[H]) -> None:
        """Let a store see an object as a watch reports it."""
        began = time.process_time()
        line = msgspec.json.encode({"type": "MODIFIED", "object": body})
        self._api.seconds += time.process_time() - began
        event = decoder.line(line)
        assert isinstance(event, Changed)
        store.put(event.object)


def median_seconds(*, jobs: int) -> float:
    """The median CPU time over so many jobs, after some that fill the caches."""

    async def run() -> list[float]:
        life = JobLife()
        await life.measured(jobs=10)
        return await life.measured(jobs=jobs)

    return statistics.median(asyncio.run(run()))
