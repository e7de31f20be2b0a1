"""The operator as its pod would run it, without a container: in-cluster, on a read-only root.

It gets the flags, environment and account of the Deployment, sees no kubeconfig and can write
nowhere. It runs in its own mount namespace and ends with the test run.
"""

import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.ports import LOOPBACK, Ports
from tests.support.controlplane.processes import Processes
from tests.support.helm import NAME, flags_of, installed
from tests.support.patience import PATIENCE

_NAME = "pod"
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_POLL_SECONDS = 0.1
_ALONE = ("unshare", "--map-root-user", "--mount")
_MOUNTS = "mount --rbind / / && mount -o remount,ro,bind / && mount -t tmpfs tmpfs /var/run"


@contextmanager
def pod_of(plane: ControlPlane, *, namespace: str) -> Iterator[Path]:
    """The first pod of a release, once it is ready; the value is its log."""
    _may_be_alone()
    ports, processes = Ports(), Processes(plane.folder)
    try:
        probes = ports.take()
        addresses = (
            f"--metrics-bind-address={LOOPBACK}:{ports.take()}",
            f"--health-probe-bind-address={LOOPBACK}:{probes}",
            f"--controller-config-file={_config(plane, namespace)}",
        )
        flags = (*flags_of(installed(plane, namespace=namespace)), *addresses)
        operator = shlex.join([sys.executable, "-m", "tfjob.cli.main", "operator", *flags])
        script = f"{_walls(_account(plane, namespace))} && exec {operator}"
        server = urlsplit(plane.endpoint.server)
        environment = {
            "HOME": "/nonexistent",
            "KUBECONFIG": "",
            "KUBERNETES_SERVICE_HOST": str(server.hostname),
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "MY_POD_NAMESPACE": namespace,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        processes.start(_NAME, [*_ALONE, "sh", "-c", script], environment)
        _wait_until_ready(processes, f"http://{LOOPBACK}:{probes}/readyz")
        yield processes.log(_NAME)
        assert processes.terminate(_NAME) == 0, processes.last_words(_NAME)
    finally:
        processes.close()
        ports.release()


def _account(plane: ControlPlane, namespace: str) -> Path:
    """What a kubelet mounts for a ServiceAccount."""
    folder = plane.folder / f"account-{namespace}"
    folder.mkdir()
    (folder / "token").write_text(plane.token_for(NAME, namespace=namespace))
    (folder / "ca.crt").write_text(plane.endpoint.certificate or "")
    (folder / "namespace").write_text(namespace)
    return folder


def _config(plane: ControlPlane, namespace: str) -> Path:
    """What a kubelet mounts for a ConfigMap that nobody has made."""
    folder = plane.folder / f"config-{namespace}"
    folder.mkdir()
    return folder


def _walls(account: Path) -> str:
    """Mount the account, make everything read-only, and check that it is."""
    place = f"mkdir -p {_ACCOUNT} && cp {shlex.quote(str(account))}/* {_ACCOUNT}"
    closed = f"mount -o remount,ro /var/run && ! touch {_ACCOUNT}/written && ! touch /written"
    return f"{_MOUNTS} && {place} && {closed}"


def _wait_until_ready(processes: Processes, address: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not _is_ready(address):
        if processes.ended_by_themselves() or time.monotonic() > deadline:
            raise AssertionError(f"the pod is not ready:\n{processes.last_words(_NAME)}")
        time.sleep(_POLL_SECONDS)


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - our own, on loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _may_be_alone() -> None:
    command = [*_ALONE, "sh", "-c", _MOUNTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"NO REAL CONTROL PLANE as a pod sees it: {command}: {done.stderr}")
