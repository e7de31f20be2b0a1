"""The whole cluster in one process: API server, operator and node.

One data folder serves one running cluster; the next one on that folder continues from its content.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from tfjob.client.config import from_kubeconfig
from tfjob.client.errors import AlreadyExists
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.core.child_manifests import TF_CONFIG
from tfjob.dialects.base import Dialect
from tfjob.dialects.base import Settings as JobSettings
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.local import data_folder
from tfjob.local.apiserver.server import ApiServer
from tfjob.local.apiserver.store import StoreFullError
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.client_api import ClientApi
from tfjob.local.node.cluster_access import ClusterAccess
from tfjob.local.node.machine import settings_of_machine
from tfjob.local.node.overcommit import Overcommit
from tfjob.local.node.pod_logs import PodLogs
from tfjob.local.node.pod_metrics import PodMetrics
from tfjob.local.node.restart_policy import Backoff
from tfjob.manager.app import Operator
from tfjob.manager.settings import Settings

_OFF: Final = "0"
_STOP_TIMEOUT: Final = 5.0
_JOBS: Final = JobSettings(
    options={flag.name: flag.local for each in DESCRIPTORS for flag in each.flags}
)
"""The settings of the local cluster: for example, it has no gang scheduler."""
_CRDS: Final = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)


class LocalCluster:
    """Runs the cluster inside `async with`; no process is left afterwards."""

    def __init__(  # noqa: PLR0913 - one value for each thing a person may choose
        self,
        data: Path,
        *,
        workdir: Path,
        dialects: Sequence[Dialect],
        environ: Mapping[str, str],
        port: int = 0,
        backoff: Backoff | None = None,
        python: Path | None = None,
        overcommit: Overcommit = Overcommit(),  # noqa: B008 - immutable
        has_real_mounts: bool = True,
    ) -> None:
        data_folder.prepare(data)
        self.data = data.absolute()
        self._dialects = dialects
        self._settings = settings_of_machine(
            self.data / "node",
            workdir=workdir,
            environ=_without_task(environ),
            backoff=backoff,
            python=python,
            overcommit=overcommit,
            has_real_mounts=has_real_mounts,
        )
        self._write_health: asyncio.Queue[str] = asyncio.Queue()
        self._server = ApiServer(
            self.data,
            port=port,
            logs=PodLogs(self._settings.pods_folder),
        )
        self._server.has_node = True
        self._server.metrics = PodMetrics(self._settings.pods_folder)
        self._server.on_write_health = self._write_health.put_nowait
        self._lock: int | None = None
        self._api: Api | None = None
        self._recorder: EventRecorder | None = None
        self._agent: NodeAgent | None = None
        self._operator: Operator | None = None
        self._operating: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def kubeconfig(self) -> Path:
        return self._server.kubeconfig_path

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def allocatable(self) -> Mapping[str, str]:
        """The resources of this machine."""
        return self._settings.allocatable

    @property
    def api(self) -> Api:
        if self._api is None:
            raise RuntimeError("the cluster is not started: call start() first")
        return self._api

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        self._lock = data_folder.lock(self.data)
        data_folder.write_file(self.data / "format", f"{data_folder.FORMAT}\n".encode())
        await self._server.start()
        config = from_kubeconfig(self.kubeconfig)
        self._api = Api(config)
        await self._install_crds(self._api)
        self._recorder = EventRecorder(self._api, component="tfjob-node")
        access = ClusterAccess(
            url=self.url,
            token=self._server.token,
            ca=self._server.certificate_path.read_text("utf-8"),
        )
        node = msgspec.structs.replace(self._settings, access=access)
        self._agent = NodeAgent(ClientApi(self._api, self._recorder), node)
        settings = Settings(metrics_address=_OFF, health_address=_OFF, jobs=_JOBS)
        self._operator = Operator(config, settings, dialects=self._dialects, identity="local")
        self._operating = asyncio.create_task(self._operator.run())
        own = [asyncio.create_task(each) for each in (self._agent.run(), self._recorder.run())]
        self._tasks = [*own, self._operating]

    async def stop(self) -> None:
        """Stop the pods first, so that no process outlives the cluster, then everything else."""
        if self._agent is not None:
            await self._agent.stop()
        if self._operator is not None and self._operating is not None:
            self._operator.stop()
            await asyncio.wait([self._operating], timeout=_STOP_TIMEOUT)
        if self._recorder is not None:
            await self._recorder.close(limit=1.0)
        if self._api is not None:
            await self._api.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.stop()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def failure(self) -> None:
        """Return, or raise its error, when a part of the cluster stops unexpectedly."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done():
                task.result()

    async def report_disk(
        self,
        report: Callable[[str], None],
        *,
        limit: float | None = None,
        consequence: str = "jobs wait until there is space on that disk",
    ) -> None:
        """Report when writes to the disk begin to fail and when they work again.

        With a limit, StoreFullError is raised once they have failed for so many seconds. The
        consequence is what then happens, or happens meanwhile.
        """
        while True:
            fault = await self._write_health.get()
            report(f"{self.data}: cannot be written: {fault}; {consequence}")
            try:
                async with asyncio.timeout(limit):
                    await self._write_health.get()
            except TimeoutError:
                raise StoreFullError(f"could not be written for {limit:g} s: {fault}") from None
            report(f"{self.data}: can be written again; jobs continue")

    async def _install_crds(self, api: Api) -> None:
        for dialect in self._dialects:
            crd = dialect.crd()
            try:
                await api.create(_CRDS.collection(), crd, decode=PartialObjectMetadata)
            except AlreadyExists:
                await _replace(api, crd)


def _without_task(environ: Mapping[str, str]) -> dict[str, str]:
    """Drop TF_CONFIG: the caller may itself be a replica of another job."""
    return {name: value for name, value in environ.items() if name != TF_CONFIG}


async def _replace(api: Api, crd: dict[str, Any]) -> None:
    """Update a CRD that another version of tfjob installed."""
    path = _CRDS.item(crd["metadata"]["name"])
    stored = await api.get(path, decode=PartialObjectMetadata)
    version = {"resourceVersion": stored.metadata.resource_version}
    await api.replace(
        path, {**crd, "metadata": {**crd["metadata"], **version}}, decode=PartialObjectMetadata
    )
