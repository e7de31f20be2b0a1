"""The ground on which gangs compete: nodes with eight accelerators each, jobs, and what became of
them.

A job of this suite needs a node for each of its workers. Calls block. Waits are for conditions, and
tell how long they took.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError

Json = dict[str, Any]
ACCELERATORS = 8
LIMIT = 240.0
"""Seconds after which a case has failed; far more than any takes on a busy machine."""
STEADY = 3.0
"""Seconds for which something must stay as it is to count as settled."""
_POLL = 0.1
_JOBS = "/apis/kubeflow.org/v1/namespaces/{}/tfjobs"
_WORKER = "training.kubeflow.org/job-name"


class CaseError(AssertionError):
    """A case did not end as it should."""


class Ground:
    """One namespace on one control plane, with nodes that come and go."""

    def __init__(self, plane: ControlPlane, *, labels: Mapping[str, str], groups: str) -> None:
        self._api = plane.endpoint
        self.namespace = plane.create_namespace()
        self._jobs = _JOBS.format(self.namespace)
        self._labels = labels
        self._groups = groups
        self._nodes: list[str] = []

    def add_nodes(self, count: int) -> None:
        capacity = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        capacity["nvidia.com/gpu"] = str(ACCELERATORS)
        for _ in range(count):
            name = f"n{len(self._nodes)}"
            self._nodes.append(name)
            labels = {"kubernetes.io/hostname": name, "rack": f"r{(len(self._nodes) - 1) // 2}"}
            body = {
                "metadata": {"name": name, "labels": labels},
                "status": {"capacity": capacity, "allocatable": capacity},
            }
            self._api.request("POST", "/api/v1/nodes", body)

    def submit(
        self, name: str, workers: int = 4, *, accelerators: int = ACCELERATORS, **policy: Any
    ) -> None:
        """A job whose workers each need a node of their own, unless they need less."""
        container = {
            "name": "tensorflow",
            "image": "none",
            "resources": {"limits": {"nvidia.com/gpu": str(accelerators)}},
        }
        annotations = policy.pop("pod_annotations", {})
        spec: Json = {"containers": [container]}
        if pod_priority := policy.pop("pod_priority", ""):
            spec["priorityClassName"] = pod_priority
        template = {"metadata": {"annotations": annotations}, "spec": spec}
        worker = {"replicas": workers, "restartPolicy": "ExitCode", "template": template}
        priority = policy.pop("priority", "")
        scheduling = {"priorityClass": priority} if priority else {}
        if queue := policy.pop("queue", ""):
            scheduling["queue"] = queue
        labels = {**self._labels, **policy.pop("labels", {})}
        body = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "runPolicy": {"cleanPodPolicy": "All", "schedulingPolicy": scheduling, **policy},
                "successPolicy": "AllWorkers",
                "tfReplicaSpecs": {"Worker": worker},
            },
        }
        self._api.request("POST", self._jobs, body)

    def job(self, name: str) -> Json:
        found: Json = self._api.request("GET", f"{self._jobs}/{name}")
        return found

    def patch(self, name: str, spec: Json) -> None:
        self._api.request("PATCH", f"{self._jobs}/{name}", {"spec": spec})

    def suspend(self, name: str, *, is_suspended: bool) -> None:
        self.patch(name, {"runPolicy": {"suspend": is_suspended}})

    def scale(self, name: str, workers: int) -> None:
        self.patch(name, {"tfReplicaSpecs": {"Worker": {"replicas": workers}}})

    def delete(self, name: str) -> None:
        self._api.request("DELETE", f"{self._jobs}/{name}")

    def fail_pod(self, job: str, index: int) -> str:
        """Let a worker be killed by a signal; returns the UID of its pod."""
        name = f"{job}-worker-{index}"
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        ends = {"kwok.test/exit-after": "0s", "kwok.test/exit-code": "137"}
        found = self._api.request("PATCH", path, {"metadata": {"annotations": ends}})
        uid: str = found["metadata"]["uid"]
        return uid

    def pods(self, job: str = "") -> list[Json]:
        selector = f"?labelSelector={_WORKER}%3D{job}" if job else ""
        path = f"/api/v1/namespaces/{self.namespace}/pods{selector}"
        found: list[Json] = self._api.request("GET", path)["items"]
        return found

    def bound(self, job: str) -> int:
        """How many pods of a job have a node and are not being deleted."""
        return sum(_is_bound(pod) for pod in self.pods(job))

    def is_whole(self, job: str, workers: int = 4) -> bool:
        """All pods run, and there are no others."""
        pods = self.pods(job)
        return len(pods) == workers and all(_is_bound(pod) for pod in pods)

    def groups(self) -> list[Json]:
        """What the scheduler or the queue keeps for the jobs."""
        path = self._groups.format(namespace=self.namespace)
        found: list[Json] = self._api.request("GET", path)["items"] if path else []
        return found

    def activate_workloads(self, *, is_active: bool) -> None:
        """Let a queue stop what it keeps for the jobs, or admit it again."""
        path = self._groups.format(namespace=self.namespace)
        for each in self.groups():
            body = {"spec": {"active": is_active}}
            self._api.request("PATCH", f"{path}/{each['metadata']['name']}", body)

    def cause(self, job: str) -> str:
        """The cause in the job's diagnosis."""
        diagnosis = self.job(job).get("status", {}).get("diagnosis") or {}
        cause: str = diagnosis.get("cause", "")
        return cause

    def message(self, job: str) -> str:
        found: str = self.job(job)["status"]["diagnosis"]["message"]
        return found

    def warnings(self, job: str) -> list[str]:
        """The reasons of warnings about a job."""
        path = f"/api/v1/namespaces/{self.namespace}/events?limit=500"
        events = self._api.request("GET", path)["items"]
        return [
            each["reason"]
            for each in events
            if each["type"] == "Warning"
            and (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == ("TFJob", job)
        ]

    def wait(self, what: str, holds: Callable[[], bool], *, limit: float = LIMIT) -> float:
        """Wait until something holds; returns the seconds that it took."""
        start = time.monotonic()
        while not holds():
            if time.monotonic() - start > limit:
                raise CaseError(f"not within {limit:.0f} s: {what}; {self.report()}")
            time.sleep(_POLL)
        return time.monotonic() - start

    def stays(self, what: str, holds: Callable[[], bool], *, seconds: float = STEADY) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not holds():
                raise CaseError(f"{what}; {self.report()}")
            time.sleep(_POLL)

    def report(self) -> str:
        """All jobs, their pods and what they say, for a failure."""
        lines = []
        for job in self._api.request("GET", self._jobs)["items"]:
            name, status = job["metadata"]["name"], job.get("status", {})
            said = (status.get("diagnosis") or {}).get("message", "")
            conditions = [
                each["type"] for each in status.get("conditions", []) if each["status"] == "True"
            ]
            pods = self.pods(name)
            lines.append(
                f"{name}: {conditions}, {len(pods)} pods, {self.bound(name)} bound; {said}"
            )
        return " | ".join(lines)

    def clear(self) -> float:
        """Delete all jobs, and then all nodes; returns how long it took until nothing was left."""
        for job in self._api.request("GET", self._jobs)["items"]:
            self.delete(job["metadata"]["name"])
        took = self.wait("nothing left", lambda: not (self.pods() or self.groups()))
        for name in self._nodes:
            try:
                self._api.request("DELETE", f"/api/v1/nodes/{name}")
            except ApiError as gone:
                if gone.status != 404:
                    raise
        self._nodes.clear()
        return took


def _is_bound(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName")) and "deletionTimestamp" not in pod["metadata"]
