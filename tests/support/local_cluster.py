"""A local cluster as processes that can be killed one by one and started again.

`WHOLE` is `tfjob local up` as a user starts it; `SPLIT` is the same program in three processes.
All processes end with it, and surviving ones can be listed.
"""

import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support import process_table
from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.ports import Ports
from tests.support.controlplane.processes import Processes
from tests.support.local_apiserver.process import endpoint_of
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
WHOLE, SPLIT = ("cluster",), ("apiserver", "operator", "node")
_POLL = 0.02


class LocalCluster:
    """One data folder and the processes on it; `with` starts and ends them."""

    def __init__(self, folder: Path, *, workdir: Path, parts: tuple[str, ...]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.data = folder / "data"
        self.parts = parts
        self.name = uuid.uuid4().hex
        self._folder = folder
        self._workdir = workdir
        self._ports = Ports()
        self.port = self._ports.take()
        self._processes = Processes(folder)

    def __enter__(self) -> "LocalCluster":
        for part in self.parts:
            self.start(part)
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()
        self._ports.release()

    def start(self, part: str) -> None:
        """Start a part that does not run; returns when the API answers."""
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        environment = {process_table.CLUSTER: self.name, "PYTHONPATH": path}
        self._processes.start(part, self._command(part), environment)
        if part in {"cluster", "apiserver"}:
            self.until("the API answers", self._answers)

    def pause(self, part: str) -> None:
        """Freeze a part, so that its state does not change while a test reads it."""
        self._processes.pause(part)

    def kill(self, part: str) -> None:
        self._processes.end(part)

    def end(self) -> None:
        """Stop every part, the node before the parts that it uses."""
        for part in reversed(self.parts):
            code = self._processes.terminate(part)
            # One that was started a moment ago does not listen to signals yet.
            is_fine = code in {0, -signal.SIGTERM}
            assert is_fine, f"{part} ended with {code}:\n{self._processes.last_words(part)}"

    def running(self) -> list[process_table.Process]:
        """All live processes of this cluster."""
        return process_table.processes(self.name)

    def open_ports(self) -> dict[int, set[int]]:
        """Ports of the API and of pods on which this cluster or an unknown process listens.

        A port that was given back may be taken at once by another cluster on this machine.
        """
        table = self.data / "node" / "ports.json"
        pods = json.loads(table.read_text()).values() if table.exists() else ()
        found = process_table.listeners({self.port, *pods})
        ours = {each.pid for each in self.running()}
        return {port: pids for port, pids in found.items() if pids <= ours}

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request; raises OSError while nobody answers, ApiError when refused."""
        return endpoint_of(self.data / "kubeconfig").request(method, path, body)

    def until(
        self,
        what: str,
        is_so: Callable[[], object],
        *,
        seconds: float = PATIENCE,
        every: float = _POLL,
    ) -> None:
        """Wait for something; fails if a part ends by itself."""
        deadline = time.monotonic() + seconds
        while not is_so():
            gone = self._processes.ended_by_themselves()
            words = "\n".join(f"{each}:\n{self._processes.last_words(each)}" for each in gone)
            assert not gone, f"while waiting until {what}, ended by itself: {words}"
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
            time.sleep(every)

    def _answers(self) -> bool:
        with suppress(OSError, ApiError, TypeError, KeyError):
            path = "/apis/kubeflow.org/v1/tfjobs"
            return bool(self.call("GET", path))
        return False

    def _command(self, part: str) -> list[str]:
        tfjob = [sys.executable, "-m", "tfjob.cli.main"]
        process = [sys.executable, "-m", "tests.support.local_cluster_part"]
        data, workdir, port = str(self.data), str(self._workdir), str(self.port)
        flags = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
        return {
            "cluster": [
                *(*tfjob, "local", "up"),
                *("--data", data, "--workdir", workdir, "--port", port),
            ],
            "apiserver": [*process, "apiserver", data, port],
            "node": [*process, "node", data, workdir],
            "operator": [
                *(*tfjob, "operator"),
                *(f"--kubeconfig={os.fspath(self.data / 'kubeconfig')}", *flags),
            ],
        }[part]
