"""The API server of tfjob itself as a process of its own, as a world for the operator.

Law: the same questions are asked of it as of a real one, over the same wire; what it starts it
ends. Run as a module it is that process: `python -m tests.support.own_server FOLDER`.
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
from tfjob.local.apiserver.server import ApiServer

_NAME = "tfjob-apiserver"
_READY_SECONDS = 20.0
_POLL_SECONDS = 0.02
_ROOT = Path(__file__).parents[2]
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class OwnServer:
    """Our API server on loopback; no node and no controller but its own garbage collector."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "data" / "kubeconfig"
        self._processes = Processes(folder)

    def start(self) -> None:
        """Start it, again at the same address; returns when it answers."""
        command = [sys.executable, "-m", "tests.support.own_server", str(self.folder / "data")]
        self._processes.start(_NAME, command, {"PYTHONPATH": str(_ROOT)})
        self._wait_for_kubeconfig()
        self.endpoint = _endpoint(self.kubeconfig)

    def stop(self) -> None:
        self._processes.close()

    def stop_apiserver(self) -> None:
        """Kill it, as a crash would."""
        self._processes.end(_NAME)

    def restart_apiserver(self) -> None:
        """Kill it and start it again."""
        self.stop_apiserver()
        self.start()

    def pause_apiserver(self) -> None:
        """Freeze it: connections stay open and nothing is answered."""
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

    def _wait_for_kubeconfig(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._answers():
            if self._processes.ended_by_themselves() or time.monotonic() > deadline:
                words = self._processes.last_words(_NAME)
                raise AssertionError(f"our API server does not answer:\n{words}")
            time.sleep(_POLL_SECONDS)

    def _answers(self) -> bool:
        try:
            return bool(_endpoint(self.kubeconfig).request("GET", "/version"))
        except (OSError, ApiError, TypeError):
            # Not written yet, half written, or of an earlier start on another port.
            return False


def _endpoint(kubeconfig: Path) -> Endpoint:
    document = yaml.safe_load(kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    return Endpoint(
        server=cluster["server"],
        token=document["users"][0]["user"]["token"],
        certificate=base64.b64decode(cluster["certificate-authority-data"]).decode(),
    )


async def serve(folder: Path) -> None:
    """Serve until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with ApiServer(folder):
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
