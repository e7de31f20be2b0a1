"""MultiKueue: jobs on one cluster, their pods on another, and what is particular to them.

Both clusters have Kueue and the operator. The operator beside the jobs must leave them alone,
because `managedBy` names another controller, and the commands show the status that Kueue mirrors.
"""

import base64
import subprocess
import sys
import time
from typing import Any, Final

from tests.schedulers import kueue
from tests.schedulers.ground import CaseError, Ground
from tests.schedulers.site import Site

Json = dict[str, Any]
MANAGER: Final = "kueue.x-k8s.io/multikueue"
_NAME: Final = "other"


def connect(site: Site, worker: Site) -> None:
    """Let the queue of one cluster send its jobs to the other one."""
    endpoint = site.plane.endpoint
    kubeconfig = base64.b64encode(worker.plane.kubeconfig.read_bytes()).decode()
    secret = {"metadata": {"name": _NAME}, "data": {"kubeconfig": kubeconfig}}
    endpoint.request("POST", f"/api/v1/namespaces/{kueue.NAMESPACE}/secrets", secret)
    group, _, version = kueue.API.removeprefix("/apis/").partition("/")
    objects: dict[str, tuple[str, Json]] = {
        "multikueueclusters": (
            "MultiKueueCluster",
            {"clusterSource": {"kubeConfig": {"location": _NAME, "locationType": "Secret"}}},
        ),
        "multikueueconfigs": ("MultiKueueConfig", {"clusters": [_NAME]}),
        "admissionchecks": (
            "AdmissionCheck",
            {
                "controllerName": MANAGER,
                "parameters": {"apiGroup": group, "kind": "MultiKueueConfig", "name": _NAME},
            },
        ),
    }
    for plural, (kind, spec) in objects.items():
        body = {
            "apiVersion": f"{group}/{version}",
            "kind": kind,
            "metadata": {"name": _NAME},
            "spec": spec,
        }
        endpoint.request("POST", f"{kueue.API}/{plural}", body)
    kueue.change_queue(site, {"admissionChecksStrategy": {"admissionChecks": [{"name": _NAME}]}})
    site.wait("connection of the clusters", lambda: _is_active(site))


def left_alone(ground: Ground) -> float:
    """The other cluster runs the job: here it has no pods, only Kueue writes its status, and the
    commands show it."""
    ground.submit("a")
    ground.stays("nobody may write a status yet", lambda: not ground.job("a").get("status"))
    _expect_told(ground, "explain", "has not reported the job's status yet")
    start = time.monotonic()
    ground.add_nodes(4)
    ground.wait("its status Running, mirrored", lambda: "Running" in states(ground, "a"))
    took = time.monotonic() - start
    ground.wait("all bound on the other cluster", lambda: ground.is_whole("a"))
    ground.wait("four active, mirrored", lambda: _active(ground, "a") == 4)
    _expect_told(ground, "get", "Running")
    _expect_told(ground, "describe", "State:       Running")
    _expect_told(ground, "explain", "4 of 4 replicas are active; another controller manages")
    _expect(not ground.pods_beside_the_job(), "there are pods beside the job")
    _expect(_writers(ground, "a") == {"kueue"}, f"the status has writers {_writers(ground, 'a')}")
    return took


def mirrored_end(ground: Ground) -> float:
    """The job ends on the other cluster: the status and the commands say so here."""
    ground.add_nodes(4)
    start = time.monotonic()
    ground.submit("a", pod_annotations={"kwok.test/exit-after": "2s"})
    ground.wait("its success, mirrored", lambda: "Succeeded" in states(ground, "a"))
    took = time.monotonic() - start
    _expect_told(ground, "get", "Succeeded")
    _expect_told(ground, "explain", "the job has succeeded; another controller manages")
    return took


def states(ground: Ground, name: str) -> set[str]:
    """The conditions that hold, as this cluster has them."""
    conditions = ground.job(name).get("status", {}).get("conditions") or ()
    return {each["type"] for each in conditions if each["status"] == "True"}


def _active(ground: Ground, name: str) -> int:
    counts = ground.job(name)["status"].get("replicaStatuses") or {}
    found: int = (counts.get("Worker") or {}).get("active", 0)
    return found


def _writers(ground: Ground, name: str) -> set[str]:
    fields = ground.job(name)["metadata"]["managedFields"]
    return {each["manager"] for each in fields if each.get("subresource") == "status"}


def _expect_told(ground: Ground, command: str, words: str) -> None:
    """What a command of the user says about job `a`."""
    place = [f"--kubeconfig={ground.plane.kubeconfig}", f"--namespace={ground.namespace}"]
    run = [sys.executable, "-m", "tfjob.cli.main", command, "a", *place]
    ended = subprocess.run(run, capture_output=True, text=True, check=False)
    text = ended.stdout + ended.stderr
    _expect(ended.returncode == 0 and words in text, f"`tfjob {command} a` says: {text}")


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise CaseError(what)


def _is_active(site: Site) -> bool:
    for plural in ("multikueueclusters", "admissionchecks"):
        found = site.plane.endpoint.request("GET", f"{kueue.API}/{plural}/{_NAME}")
        conditions = found.get("status", {}).get("conditions") or ()
        if not any((each["type"], each["status"]) == ("Active", "True") for each in conditions):
            return False
    return True
