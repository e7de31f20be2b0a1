"""An environment: an API server with the CRDs of all jobs, and the operator on it.

What holds in one environment holds in the other; a test that needs a certain one requests for it by
name. The shared operator runs again after each test. Methods block: call them from async code with
asyncio.to_thread.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tests.support.command import output_of
from tests.support.controlplane.endpoint import Endpoint
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import provide
from tests.support.operator_process import OperatorProcess
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.sdk.jobs import stored_dialects

_ENABLE = "--enable-scheme"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Server(Protocol):
    """An API server that an environment can use."""

    endpoint: Endpoint
    folder: Path

    @property
    def kubeconfig(self) -> Path: ...
    def create_namespace(self) -> str: ...
    def delete_namespace(self, name: str) -> None: ...
    def install_crds(self, crds: Iterable[Mapping[str, Any]]) -> None: ...
    def restart_apiserver(self) -> None: ...
    def pause_apiserver(self) -> None: ...
    def resume_apiserver(self) -> None: ...


class Environment:
    """One API server with all CRDs, or the given one; `operator` is shared, others can be started.

    `identity` is the kubeconfig that operators have unless they are given another.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        *,
        crd: Mapping[str, Any] | None = None,
        identity: Path | None = None,
    ) -> None:
        self.name = name
        self.server = server
        self._identity = identity or server.kubeconfig
        crds = [each.crd() for each in stored_dialects()] if crd is None else [crd]
        server.install_crds(crds)
        self._processes = Processes(server.folder)
        self._started: list[OperatorProcess] = []
        self.operator = self.new_operator(name="operator")

    @property
    def endpoint(self) -> Endpoint:
        """The API server as the administrator sees it."""
        return self.server.endpoint

    def new_operator(
        self,
        *flags: str,
        name: str,
        kubeconfig: Path | None = None,
        **environment: str,
    ) -> OperatorProcess:
        """An operator that is not started yet; it ends with the environment.

        It serves all kinds of jobs unless its flags say which.
        """
        is_told = any(flag.startswith(_ENABLE) for flag in flags)
        every = () if is_told else tuple(f"{_ENABLE}={each.scheme}" for each in DESCRIPTORS)
        made = OperatorProcess(
            kubeconfig or self._identity,
            name=name,
            processes=self._processes,
            flags=(*flags, *every),
            environment=environment,
        )
        self._started.append(made)
        return made

    def replace_crd(self, crd: Mapping[str, Any]) -> None:
        """Replace the installed CRD by another one."""
        path = f"{_CRDS}/{crd['metadata']['name']}"
        version = self.endpoint.request("GET", path)["metadata"]["resourceVersion"]
        metadata = {**crd["metadata"], "resourceVersion": version}
        self.endpoint.request("PUT", path, {**crd, "metadata": metadata})

    def kubectl(self, *words: str, stdin: str | None = None, fails: bool = False) -> str:
        """The output of kubectl; it must succeed, or fail if `fails` is set."""
        flag = f"--kubeconfig={self.server.kubeconfig}"
        return output_of([_kubectl(), flag, *words], stdin=stdin, fails=fails)

    def close(self) -> None:
        """End every operator; the caller ends the server."""
        for each in self._started:
            each.close()
        self._processes.close()


@cache
def _kubectl() -> Path:
    return provide("kubectl")["kubectl"]
