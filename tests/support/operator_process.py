"""The operator as a process, as a user starts it: started, paused, ended and killed.

It is controlled by signals and observed through its two ports. It ends with the test run.
"""

import http.client
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.support.controlplane.ports import LOOPBACK, Ports
from tests.support.controlplane.processes import Processes
from tests.support.patience import PATIENCE

_POLL_SECONDS = 0.02
_SERIES = re.compile(r"^(?P<series>\w+(?:\{.*\})?) (?P<value>\S+)$")


class OperatorProcess:
    """One operator on one API server; its log is a file that failures point to."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        name: str,
        processes: Processes,
        flags: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._name = name
        self._processes = processes
        self._environment = environment
        self._ports = Ports()
        self._metrics, self._probes = self._ports.take(), self._ports.take()
        self._command = [
            *(sys.executable, "-m", "tfjob.cli.main", "operator"),
            f"--kubeconfig={kubeconfig}",
            f"--metrics-bind-address={LOOPBACK}:{self._metrics}",
            f"--health-probe-bind-address={LOOPBACK}:{self._probes}",
            "--zap-encoder=json",
            *flags,
        ]

    @property
    def log(self) -> Path:
        """Where its output goes, that of every start."""
        return self._processes.log(self._name)

    @property
    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        was_started = self._name in self._processes.names()
        return was_started and self._name not in self._processes.ended_by_themselves()

    @property
    def pid(self) -> int:
        """The process id, for measurements."""
        return self._processes.pid(self._name)

    def start(self, *, ready: bool = True) -> None:
        """Start it, and by default wait until its caches are filled."""
        if not self.is_alive:
            self._processes.end(self._name)
            self._processes.start(self._name, self._command, self._environment)
        if ready:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until it is ready; a failure shows the end of its log."""
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if not self.is_alive or time.monotonic() > deadline:
                raise AssertionError(f"the operator is not ready:\n{self.last_words()}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> int:
        """Ask it to end and wait for it; the result is its exit code."""
        return self._processes.terminate(self._name)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self._processes.end(self._name)

    def restart(self) -> None:
        """Kill it and start it again; it sees all changes of the meantime at once."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Freeze it; its connections stay open."""
        self._processes.pause(self._name)

    def resume(self) -> None:
        """Let it go on."""
        self._processes.resume(self._name)

    def close(self) -> None:
        """End it for good and give its ports back."""
        self.kill()
        self._ports.release()

    def metrics(self) -> dict[str, float]:
        """What /metrics shows, by `name{label="value",…}` with labels as served."""
        lines = self._get(self._metrics, "/metrics")[1].splitlines()
        found = [match for match in map(_SERIES.match, lines) if match]
        return {match["series"]: float(match["value"]) for match in found}

    def metrics_status(self, token: str = "") -> int:
        """The HTTP status of /metrics for this token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._get(self._metrics, "/metrics", headers)[0]

    def jobs_counted(self, what: str, namespace: str) -> int:
        """A counter of jobs in one namespace: created, deleted, successful, failed, restarted."""
        labels = f'framework="tensorflow",job_namespace="{namespace}"'
        return int(self.metrics().get(f"training_operator_jobs_{what}_total{{{labels}}}", 0))

    def probe(self, path: str) -> int:
        """The status of /healthz or /readyz."""
        return self._get(self._probes, path)[0]

    def last_words(self) -> str:
        """The end of its log."""
        return self._processes.last_words(self._name)

    def _is_ready(self) -> bool:
        try:
            return self.probe("/readyz") == 200
        except OSError:
            return False

    @staticmethod
    def _get(
        port: int, path: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, str]:
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()
