"""The real Kubeflow SDK, outside the cluster's pods, with the operator and a kubelet behind it."""

import subprocess

from tests.e2e.test_kubeflow_sdk import PYTHON, SESSION, is_as_expected
from tests.support.node.client import END, Namespace, pod_spec, until
from tests.support.node.machine import folders


def test_sdk_creates_waits_for_reads_and_deletes_jobs(namespace: Namespace) -> None:
    assert PYTHON.exists(), f"NO KUBEFLOW SDK at {PYTHON}: `make e2e` installs it"
    [container] = pod_spec("--until", END)["containers"]
    command = [PYTHON, SESSION, folders().kubeconfig, namespace.name, container["image"]]
    with subprocess.Popen(
        [*command, *container["command"]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as session:
        until("the workers have ended", lambda: _ended_workers(namespace) == 2)
        namespace.until_running("written-chief-0")
        namespace.until_condition("Running", "written")
        namespace.end_pod("written-chief-0")
        output, _ = session.communicate()
    assert session.returncode == 0, output
    is_as_expected(output)


def _ended_workers(namespace: Namespace) -> int | None:
    path = f"{namespace.path('tfjobs', 'kubeflow.org/v1')}/written"
    status = (namespace.cluster.found(path) or {}).get("status", {})
    found: int | None = status.get("replicaStatuses", {}).get("Worker", {}).get("succeeded")
    return found
