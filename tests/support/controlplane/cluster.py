"""A real Kubernetes control plane on loopback, for tests.

It starts in seconds, listens on loopback only, uses RBAC, and ends everything it started. Its
methods block: call them from async code with asyncio.to_thread.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from tests.support.controlplane import commands
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.ports import Ports
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import provide
from tests.support.patience import PATIENCE

STAGES = Path(__file__).parent / "stages.yaml"
_POLL_SECONDS = 0.05
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class StartError(Exception):
    """The control plane is not up: names the process, the end of its log and the folder of logs."""


class ControlPlane:
    """etcd, kube-apiserver and kube-controller-manager; a scheduler and kwok on demand."""

    folder: Path
    """Where logs, kubeconfigs and etcd's data are, once started."""
    endpoint: Endpoint
    """The API server as the administrator sees it, once started."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        scheduler: bool = False,
        kwok: Path | None = None,
        feature_gates: Sequence[str] = (),
        apiserver_flags: Sequence[str] = (),
        etcd_quota: int = 8 << 30,
        patience: float = PATIENCE,
    ) -> None:
        """Choose what runs; `kwok` is a file of kwok stages, usually STAGES."""
        self._folder = folder
        self._keeps_logs = folder is not None
        self._scheduler = scheduler
        self._kwok = kwok
        self._feature_gates = feature_gates
        self._apiserver_flags = apiserver_flags
        self._etcd_quota = etcd_quota
        self._patience = patience
        self._token = secrets.token_hex(16)
        self._ports = Ports()

    def start(self) -> Self:
        """Start everything; returns when pods can be created in namespace default."""
        binaries = provide(*self._programs())
        self.folder = self._folder or Path(tempfile.mkdtemp(prefix="tfjob-control-plane-"))
        self._site = commands.Site(
            binaries=binaries,
            folder=self.folder,
            etcd_port=self._ports.take(),
            peer_port=self._ports.take(),
            secure_port=self._ports.take(),
            feature_gates=self._feature_gates,
            etcd_quota=self._etcd_quota,
        )
        self._processes = Processes(self.folder)
        try:
            self._start_all()
        except BaseException:
            self._keeps_logs = True
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything; logs stay if the folder was given or something went wrong."""
        self._processes.close()
        self._ports.release()
        shutil.rmtree(self._site.data, ignore_errors=True)
        if not self._keeps_logs:
            shutil.rmtree(self.folder)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if fault is not None:
            self._keeps_logs = True
            fault.add_note(f"logs of the control plane: {self.folder}")
        self.stop()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self._site.kubeconfig

    def token_for(self, service_account: str, *, namespace: str) -> str:
        """A fresh token of an existing ServiceAccount."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = self.endpoint.request("POST", path, body)["status"]["token"]
        return token

    def endpoint_for(self, service_account: str, *, namespace: str) -> Endpoint:
        """The API server as a ServiceAccount sees it."""
        token = self.token_for(service_account, namespace=namespace)
        return replace(self.endpoint, token=token)

    def kubeconfig_for(self, service_account: str, *, namespace: str) -> Path:
        """A kubeconfig that speaks as a ServiceAccount."""
        path = self.folder / f"kubeconfig-{namespace}-{service_account}"
        endpoint = self.endpoint_for(service_account, namespace=namespace)
        path.write_text(endpoint.kubeconfig())
        return path

    def create_namespace(self, prefix: str = "test-", *, name: str = "") -> str:
        """A new namespace in which pods can be created, of this name or of any."""
        body = {"metadata": {"name": name} if name else {"generateName": prefix}}
        name = self.endpoint.request("POST", "/api/v1/namespaces", body)["metadata"]["name"]
        self._wait_for_account(name)
        return name

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace without waiting; its pods go at once, because no kubelet ends them."""
        path = f"/api/v1/namespaces/{name}"
        self.endpoint.request("DELETE", f"{path}/pods?gracePeriodSeconds=0")
        self.endpoint.request("DELETE", path)

    def install_crds(self, crds: Iterable[Mapping[str, Any]]) -> None:
        """Create CRDs, wait until they are served, and make the garbage collector know them."""
        for crd in crds:
            name = self.endpoint.request("POST", _CRDS, crd)["metadata"]["name"]
            self._wait_until_served(name)
        # The garbage collector looks for new kinds every 30 s only; a fresh one looks at once.
        self._processes.end("kube-controller-manager")
        self._start_controllers()

    @property
    def etcd(self) -> Endpoint:
        """etcd itself, which answers JSON over HTTP."""
        return Endpoint(server=self._site.etcd_clients, token="")

    def stop_etcd(self) -> None:
        """Kill etcd, as a crash would."""
        self._processes.end("etcd")

    def start_etcd(self) -> None:
        """Start etcd, again at the same address and with the same data."""
        self._processes.start("etcd", commands.etcd(self._site))

    def stop_apiserver(self) -> None:
        """Kill the API server, as a crash would."""
        self._processes.end("kube-apiserver")

    def start_apiserver(self) -> None:
        """Start the API server, again at the same address; returns when it is ready."""
        command = commands.apiserver(self._site, self._apiserver_flags)
        self._processes.start("kube-apiserver", command)
        self.wait("ready API server", self._is_ready)

    def restart_apiserver(self) -> None:
        """Kill the API server and start it again; returns when it is ready."""
        self.stop_apiserver()
        self.start_apiserver()

    def pause_apiserver(self) -> None:
        """Freeze the API server: connections stay open and nothing is answered."""
        self._processes.pause("kube-apiserver")

    def resume_apiserver(self) -> None:
        """Let a frozen API server go on."""
        self._processes.resume("kube-apiserver")

    def pids(self) -> dict[str, int]:
        """The process ids by name, for measurements."""
        return {name: self._processes.pid(name) for name in self._processes.names()}

    def wait(self, thing: str, is_there: Callable[[], bool]) -> None:
        """Wait until something is so; fails at once if a process has ended by itself."""
        deadline = time.monotonic() + self._patience
        while not is_there():
            ended = self._processes.ended_by_themselves()
            if ended:
                words = self._processes.last_words(ended[0])
                raise StartError(f"{ended[0]} ended by itself; logs in {self.folder}:\n{words}")
            if time.monotonic() > deadline:
                raise StartError(f"no {thing} after {self._patience} s; logs in {self.folder}")
            time.sleep(_POLL_SECONDS)

    def _programs(self) -> tuple[str, ...]:
        scheduler = ("kube-scheduler",) if self._scheduler else ()
        kwok = ("kwok",) if self._kwok else ()
        return ("etcd", "kube-apiserver", "kube-controller-manager", *scheduler, *kwok)

    def _start_all(self) -> None:
        self._site.tokens.write_text(f'{self._token},admin,admin,"system:masters"\n')
        self.start_etcd()
        self.start_apiserver()
        self.kubeconfig.write_text(self.endpoint.kubeconfig())
        self._start_controllers()
        if self._scheduler:
            self._processes.start("kube-scheduler", commands.scheduler(self._site))
        if self._kwok is not None:
            self._processes.start("kwok", commands.kwok(self._site, self._kwok))
        self._wait_for_account("default")

    def _start_controllers(self) -> None:
        command = commands.controller_manager(self._site, has_kubelets=self._kwok is not None)
        self._processes.start("kube-controller-manager", command)

    def _is_ready(self) -> bool:
        # On its first start the server is still writing its certificate: read it until it serves.
        path = self._site.certificate
        certificate = path.read_text() if path.exists() else ""
        if not certificate:
            return False
        self.endpoint = Endpoint(
            server=self._site.server, token=self._token, certificate=certificate
        )
        return self._answers("/readyz")

    def _wait_for_account(self, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        self.wait(f"ServiceAccount {namespace}/default", lambda: self._answers(path))

    def _wait_until_served(self, crd: str) -> None:
        def is_established() -> bool:
            status = self.endpoint.request("GET", f"{_CRDS}/{crd}").get("status", {})
            conditions = {
                entry["type"]: entry["status"] for entry in status.get("conditions") or []
            }
            return conditions.get("Established") == "True"

        self.wait(f"CRD {crd}", is_established)

    def _answers(self, path: str) -> bool:
        try:
            self.endpoint.request("GET", path)
        except (ApiError, OSError):
            return False
        return True


class PlaneStarter(Protocol):
    """Starts a control plane that is ended with the test; takes what ControlPlane takes."""

    def __call__(
        self,
        *,
        scheduler: bool = False,
        kwok: Path | None = None,
        feature_gates: Sequence[str] = (),
        apiserver_flags: Sequence[str] = (),
    ) -> ControlPlane: ...
