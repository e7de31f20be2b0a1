"""The local API server as a process of its own.

Tests use it over HTTP, as a real API server. Run as a module it is that process:
`python -m tests.support.local_apiserver.process DATA`.
"""

import asyncio
import base64
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.processes import Processes
from tests.support.patience import PATIENCE
from tfjob.local.apiserver.server import ApiServer

_NAME = "tfjob-apiserver"
_POLL_SECONDS = 0.02
_ROOT = Path(__file__).parents[3]
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class ApiServerProcess:
    """The local API server on loopback, without nodes; its garbage collector is the only
    controller.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "data" / "kubeconfig"
        self._processes = Processes(folder)

    def start(self) -> None:
        """Start the server, always at the same address; returns when it answers."""
        module = "tests.support.local_apiserver.process"
        command = [sys.executable, "-m", module, str(self.folder / "data")]
        self._processes.start(_NAME, command, {"PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"})
        self._wait_until_it_answers()
        self.endpoint = endpoint_of(self.kubeconfig)

    def stop(self) -> None:
        self._processes.close()

    def stop_apiserver(self) -> None:
        """Kill the server, as a crash would."""
        self._processes.end(_NAME)

    def restart_apiserver(self) -> None:
        """Kill the server and start it again."""
        self.stop_apiserver()
        self.start()

    def pause_apiserver(self) -> None:
        """Freeze the server: connections stay open and nothing is answered."""
        self._processes.pause(_NAME)

    def resume_apiserver(self) -> None:
        self._processes.resume(_NAME)

    def create_namespace(self) -> str:
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"generateName": "test-"},
        }
        made = self.endpoint.request("POST", "/api/v1/namespaces", body)
        name: str = made["metadata"]["name"]
        return name

    def delete_namespace(self, name: str) -> None:
        path = f"/api/v1/namespaces/{name}"
        self.endpoint.request("DELETE", f"{path}/pods?gracePeriodSeconds=0")
        self.endpoint.request("DELETE", path)

    def install_crds(self, crds: Iterable[Mapping[str, Any]]) -> None:
        for crd in crds:
            self.endpoint.request("POST", _CRDS, crd)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._processes.ended_by_themselves() or time.monotonic() > deadline:
                words = self._processes.last_words(_NAME)
                raise AssertionError(f"the local API server does not answer:\n{words}")
            time.sleep(_POLL_SECONDS)

    def _answers(self) -> bool:
        try:
            return bool(endpoint_of(self.kubeconfig).request("GET", "/version"))
        except (OSError, ApiError, TypeError):
            # Not written yet, half written, or left by an earlier start on another port.
            return False


def endpoint_of(kubeconfig: Path) -> Endpoint:
    """The API server that a kubeconfig of the local cluster names."""
    document = yaml.safe_load(kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    return Endpoint(
        server=cluster["server"],
        token=document["users"][0]["user"]["token"],
        certificate=base64.b64decode(cluster["certificate-authority-data"]).decode(),
    )


async def until_sigterm() -> None:
    """Wait until the process is asked to end."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()


async def serve(server: ApiServer) -> None:
    """Serve until SIGTERM."""
    async with server:
        await until_sigterm()


if __name__ == "__main__":
    asyncio.run(serve(ApiServer(Path(sys.argv[1]))))
