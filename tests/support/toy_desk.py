"""A controller of made-up jobs at its desk: caches filled on demand from a server beside it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.builders import NOW
from tests.support.played_api import CORE, Json, Played, decoded
from tests.support.simulation.world import DEFINITIONS
from tests.support.toy_dialect import JOBS, LABEL, ToyDialect, toy_job
from tfjob.client.store import Store
from tfjob.controller.facts import Facts
from tfjob.controller.objects import JobObject
from tfjob.controller.snapshot import Snapshot, SnapshotReader, Stores
from tfjob.controller.statuses import StatusWriter, Written
from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.dialects.base import Observed, Settings
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.pod import Pod
from tfjob.k8s.service import Service
from tfjob.k8s.standing import Standing

BATCH = "/apis/batch/v1/namespaces/default/jobs"
KEY = ("default", "t")


class ToyDesk:
    """`tokens` are drawn one after the other; `leads` says whether anything may be written."""

    def __init__(self, server: Played) -> None:
        self.server = server
        self.leads = True
        self.tokens = iter(["aaaa", "bbbb", "cccc"])
        self.stores = Stores(
            jobs=Store[JobObject](),
            pods=Store[Pod](label=LABEL),
            services=Store[Service](label=LABEL),
            batch_jobs=Store[BatchJob](label=LABEL),
            companions={"ConfigMap": Store[Standing](label=LABEL)},
        )
        self.reader = SnapshotReader(
            ToyDialect(),
            Settings(),
            stores=self.stores,
            facts=Facts(server.api, clock=lambda: 0.0),
            now=lambda: NOW,
            token=lambda: next(self.tokens),
        )
        self.statuses = StatusWriter(server.api, ToyDialect(), may_write=lambda: self.leads)

    async def submit(self, **spec: Any) -> Json:
        return await self.server.make(JOBS, toy_job(**spec))

    async def job(self) -> Json:
        return await self.server.ask("GET", f"{JOBS}/t")

    async def gathered(self) -> Snapshot:
        """Let the caches see what is stored, and gather the job from them."""
        batch_jobs: Any = self.stores.batch_jobs
        for store, path, kind in (
            (self.stores.jobs, JOBS, JobObject),
            (self.stores.pods, f"{CORE}/pods", Pod),
            (self.stores.services, f"{CORE}/services", Service),
            (batch_jobs, BATCH, BatchJob),
            (self.stores.companions["ConfigMap"], f"{CORE}/configmaps", Standing),
        ):
            cache: Store[Any] = store
            for item in (await self.server.ask("GET", path))["items"]:
                cache.put(decoded(item, kind))
        found = await self.reader.read(KEY)
        assert found is not None
        return found

    async def written(
        self, seen: Snapshot, plan: Plan | None = None, trouble: str = ""
    ) -> Written | None:
        def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
            return self.reader.decode(fresh), Plan()

        return await self.statuses.write(
            seen.stored,
            job=seen.job,
            plan=plan or Plan(),
            observed=Observed(children=seen.children, now=NOW, trouble=trouble),
            decide=decide,
        )


@asynccontextmanager
async def at_toy_desk() -> AsyncIterator[ToyDesk]:
    async with Played() as server:
        await server.ask("POST", DEFINITIONS, ToyDialect().crd())
        yield ToyDesk(server)


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
