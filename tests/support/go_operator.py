"""The Go training-operator 1.9.3 as a process beside ours, for tests of handing over.

It is unpatched and has the flags of a user; its webhook is installed and never called. It insists
on one folder for its certificate, so it runs in a mount namespace with its own folder there.
"""

import http.client
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.ports import LOOPBACK, Ports
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import Toolchain
from tests.support.patience import PATIENCE

NAMESPACE = "kubeflow"
_NAME = "training-operator"
_CERTIFICATES = Path("/", "tmp", "k8s-webhook-server")
"""Compiled into the peer."""
_TLS = Path(__file__).parent / "tls"
_POLL_SECONDS = 0.1
TUNED = ("--controller-threads=4", "--kube-api-qps=200", "--kube-api-burst=400")
"""Makes it fast enough for tests; its defaults are one thread and 20 requests per second."""


class GoOperator:
    """One training-operator on one control plane."""

    def __init__(
        self, plane: ControlPlane, toolchain: Toolchain, *, flags: Sequence[str] = TUNED
    ) -> None:
        self._plane = plane
        self._flags = flags
        self._binary = toolchain.build(_NAME)
        self._crds = toolchain.module_folder(_NAME, "crds")
        self._processes = Processes(plane.folder)
        self._ports = Ports()
        self._probes = self._ports.take()
        self._certificates = plane.folder / "peer-certificates"

    def crd(self, plural: str = "tfjobs") -> dict[str, Any]:
        """A definition as the peer ships it."""
        path = self._crds / f"kubeflow.org_{plural}.yaml"
        found: dict[str, Any] = yaml.safe_load(path.read_text())
        return found

    def prepare(self) -> None:
        """Make what the peer's own installation makes beside its Deployment."""
        endpoint = self._plane.endpoint
        _create(endpoint, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        secret = {"metadata": {"name": "training-operator-webhook-cert"}}
        _create(endpoint, f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
        webhook = {"metadata": {"name": "validator.training-operator.kubeflow.org"}}
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        _create(endpoint, path, webhook)
        folder = self._certificates / "serving-certs"
        folder.mkdir(parents=True, exist_ok=True)
        for ours, theirs in (
            ("server.crt", "tls.crt"),
            ("server.key", "tls.key"),
            ("ca.crt", "ca.crt"),
        ):
            (folder / theirs).write_bytes((_TLS / ours).read_bytes())
        _CERTIFICATES.mkdir(exist_ok=True)

    def start(self) -> None:
        """Start it; returns when it is ready."""
        flags = [
            "--enable-scheme=tfjob",
            f"--metrics-bind-address={LOOPBACK}:{self._ports.take()}",
            f"--health-probe-bind-address={LOOPBACK}:{self._probes}",
            f"--webhook-server-port={self._ports.take()}",
            *self._flags,
            f"--kubeconfig={self._plane.kubeconfig}",
        ]
        mount = shlex.join(["mount", "--bind", str(self._certificates), str(_CERTIFICATES)])
        run = shlex.join([str(self._binary), *flags])
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c", f"{mount} && exec {run}"]
        self._processes.start(_NAME, command)
        self._wait_until_ready()

    @property
    def pid(self) -> int:
        return self._processes.pid(_NAME)

    def kill(self) -> None:
        self._processes.end(_NAME)

    def close(self) -> None:
        self._processes.close()
        self._ports.release()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self._processes.ended_by_themselves() or time.monotonic() > deadline:
                words = self._processes.last_words(_NAME)
                raise AssertionError(f"the training-operator is not ready:\n{words}")
            time.sleep(_POLL_SECONDS)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self._probes, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _create(endpoint: Endpoint, path: str, body: dict[str, Any]) -> None:
    try:
        endpoint.request("POST", path, body)
    except ApiError as refusal:
        if refusal.reason != "AlreadyExists":
            raise
