"""The ground on which gangs compete: nodes with eight accelerators each, jobs, and what became of
them.

A job of this suite needs a node for each of its workers. Its pods may be on another cluster than
the job. Calls block. Waits are for conditions, and tell how long they took.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    """A case did not end as it should: what did not hold, and how things stand."""

    def __init__(self, what: str, report: str = "") -> None:
        super().__init__(f"{what}; {report}" if report else what)
        self.what = what


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a scheduler or a queue wants of the jobs, and keeps for them."""

    groups: str
    """The path of what it keeps for each job."""
    labels: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    """Fields of every job's runPolicy."""
    set_quota: Callable[[int], None] = lambda _accelerators: None
    """Tell a queue how many accelerators the nodes have."""
    limit: float = LIMIT
    is_told: bool = True
    """The operator says why a job waits."""


class Ground:
    """One namespace, with nodes that come and go; `worker` is the cluster of the pods, if it is
    another one."""

    def __init__(
        self, plane: ControlPlane, terms: Terms, *, worker: ControlPlane | None = None
    ) -> None:
        self.plane = plane
        self._api = plane.endpoint
        self._pods_api = (worker or plane).endpoint
        self.namespace = plane.create_namespace()
        if worker is not None:
            worker.create_namespace(name=self.namespace)
        self._jobs = _JOBS.format(self.namespace)
        self._terms = terms
        self.is_told = terms.is_told
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
            self._pods_api.request("POST", "/api/v1/nodes", body)
        self._terms.set_quota(len(self._nodes) * ACCELERATORS)

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
        scheduling: Json = {"priorityClass": priority} if priority else {}
        if queue := policy.pop("queue", ""):
            scheduling["queue"] = queue
        if (resources := policy.pop("min_resources", None)) is not None:
            scheduling["minResources"] = resources
        is_dynamic = policy.pop("is_dynamic", False)
        body = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": {"name": name, "labels": dict(self._terms.labels)},
            "spec": {
                "runPolicy": {
                    "cleanPodPolicy": "All",
                    "schedulingPolicy": scheduling,
                    **self._terms.policy,
                    **policy,
                },
                "successPolicy": "AllWorkers",
                "enableDynamicWorker": is_dynamic,
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

    def scale_as_kubectl(self, name: str, workers: int) -> None:
        """Scale through the subresource, as `kubectl scale` does."""
        body = {"spec": {"replicas": workers}}
        self._api.request("PATCH", f"{self._jobs}/{name}/scale", body)

    def delete(self, name: str) -> None:
        self._api.request("DELETE", f"{self._jobs}/{name}")

    def fail_pod(self, job: str, index: int) -> str:
        """Let a worker be killed by a signal; returns the UID of its pod."""
        name = f"{job}-worker-{index}"
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        ends = {"kwok.test/exit-after": "0s", "kwok.test/exit-code": "137"}
        found = self._pods_api.request("PATCH", path, {"metadata": {"annotations": ends}})
        uid: str = found["metadata"]["uid"]
        return uid

    def pods(self, job: str = "") -> list[Json]:
        selector = f"?labelSelector={_WORKER}%3D{job}" if job else ""
        path = f"/api/v1/namespaces/{self.namespace}/pods{selector}"
        found: list[Json] = self._pods_api.request("GET", path)["items"]
        return found

    def pods_beside_the_job(self) -> list[Json]:
        """The pods of the cluster that has the jobs."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
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
        path = self._terms.groups.format(namespace=self.namespace)
        apis = {api.server: api for api in (self._api, self._pods_api)}.values()
        return [each for api in apis for each in api.request("GET", path)["items"]]

    def activate_workloads(self, *, is_active: bool) -> None:
        """Let a queue stop what it keeps for the jobs, or admit it again."""
        path = self._terms.groups.format(namespace=self.namespace)
        for each in self._api.request("GET", path)["items"]:
            body = {"spec": {"active": is_active}}
            try:
                self._api.request("PATCH", f"{path}/{each['metadata']['name']}", body)
            except ApiError as gone:
                # The garbage collector may take a Workload whose pods were all replaced at once;
                # Kueue makes a new one, which is active.
                if gone.status != 404:
                    raise

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

    def wait(self, what: str, holds: Callable[[], bool]) -> float:
        """Wait until something holds; returns the seconds that it took."""
        start, limit = time.monotonic(), self._terms.limit
        while not holds():
            if time.monotonic() - start > limit:
                raise CaseError(f"not within {limit:.0f} s: {what}", self.report())
            time.sleep(_POLL)
        return time.monotonic() - start

    def stays(self, what: str, holds: Callable[[], bool], *, seconds: float = STEADY) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not holds():
                raise CaseError(what, self.report())
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
                self._pods_api.request("DELETE", f"/api/v1/nodes/{name}")
            except ApiError as gone:
                if gone.status != 404:
                    raise
        self._nodes.clear()
        self._terms.set_quota(0)
        return took


def _is_bound(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName")) and "deletionTimestamp" not in pod["metadata"]
