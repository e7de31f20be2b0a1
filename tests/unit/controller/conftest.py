"""A controller at its desk: caches filled on demand from an API server in the same process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from tests.support.builders import NOW
from tests.support.fake_time import settle
from tests.support.played_api import CORE, JOBS, Json, Played, decoded
from tests.support.tfjobs import tfjob
from tfjob.client.events import EventRecorder
from tfjob.client.fair import FairPool
from tfjob.client.store import Store
from tfjob.controller.children import Hands
from tfjob.controller.facts import Facts
from tfjob.controller.objects import JobObject
from tfjob.controller.pacing import Pacer, PacingConfig
from tfjob.controller.reconciler import Outcome, Reconciler
from tfjob.controller.snapshot import SnapshotReader, Stores
from tfjob.controller.statuses import StatusWriter
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.pod import Pod
from tfjob.k8s.service import Service
from tfjob.manager.metrics import Metrics

KEY = ("default", "j")
JOB_LABEL = "training.kubeflow.org/job-name"
UNPACED = Pacer(PacingConfig(is_on=False), clock=lambda: 0.0)


class Desk:
    def __init__(self, server: Played) -> None:
        self.server = server
        self.time = NOW
        self.elapsed = 0.0
        self.metrics = Metrics()
        self.stores = Stores(
            jobs=Store[JobObject](),
            pods=Store[Pod](label=JOB_LABEL),
            services=Store[Service](label=JOB_LABEL),
        )
        self.recorder = EventRecorder(server.api, component="tfjob-controller", now=self.now)
        dialect = KubeflowV1()
        self.reader = SnapshotReader(
            dialect,
            Settings(),
            stores=self.stores,
            facts=Facts(server.api, clock=lambda: 0.0),
            now=self.now,
        )
        self.hands = Hands(server.api, FairPool(4), self.metrics, clock=lambda: self.elapsed)
        self.statuses = StatusWriter(server.api, dialect)
        self.reconciler = self.reconciler_with(UNPACED)

    def reconciler_with(self, pacer: Pacer) -> Reconciler:
        return Reconciler(
            reader=self.reader,
            hands=self.hands,
            statuses=self.statuses,
            recorder=self.recorder,
            observer=self.metrics,
            pacer=pacer,
        )

    def now(self) -> datetime:
        return self.time

    async def submit(self, roles: str = "W1", **fields: Any) -> Json:
        return await self.server.make(JOBS, tfjob(roles, **fields))

    async def look(self) -> None:
        """Let the caches see what is stored."""
        for store, path, kind in (
            (self.stores.jobs, JOBS, JobObject),
            (self.stores.pods, f"{CORE}/pods", Pod),
            (self.stores.services, f"{CORE}/services", Service),
        ):
            cache: Store[Any] = store
            for known in cache:
                cache.remove((known.metadata.namespace, known.metadata.name))
            for item in (await self.server.ask("GET", path))["items"]:
                cache.put(decoded(item, kind))

    async def one_pass(self) -> Outcome:
        """See everything, then decide and act once; a new job gets its first status before."""
        await self.look()
        stored = self.stores.jobs.get(KEY)
        outcome = await self.reconciler.reconcile(KEY)
        if stored is None or stored.has_status or not outcome.has_more:
            return outcome
        await self.look()
        return await self.reconciler.reconcile(KEY)

    async def job(self) -> Json:
        return await self.server.ask("GET", f"{JOBS}/j")

    async def conditions(self) -> list[str]:
        status = (await self.job()).get("status", {})
        return [each["type"] for each in status.get("conditions", []) if each["status"] == "True"]

    async def end_pod(self, name: str, code: int) -> None:
        pod = await self.server.ask("GET", f"{CORE}/pods/{name}")
        state = {"terminated": {"exitCode": code, "reason": "x"}}
        shown = {
            "name": "tensorflow",
            "image": "x",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": state,
        }
        phase = "Failed" if code else "Succeeded"
        pod["status"] = {**pod["status"], "phase": phase, "containerStatuses": [shown]}
        assert (await self.server.ask("PUT", f"{CORE}/pods/{name}/status", pod))["code"] == 200

    async def told(self) -> list[tuple[str, str, str]]:
        """The events that were sent, oldest first."""
        sender = asyncio.create_task(self.recorder.run())
        for _ in range(20):
            await settle()
            await asyncio.sleep(0.001)
        await self.recorder.close()
        await sender
        return await self.server.events()

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def at_desk() -> AsyncIterator[Desk]:
    async with Played() as server:
        yield Desk(server)


@pytest.fixture
def desk() -> AbstractAsyncContextManager[Desk]:
    """Used as `async with desk as world`: everything lives in the test's own loop."""
    return at_desk()
