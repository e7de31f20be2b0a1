"""What really happened to each pod and each job of a history, whatever an operator believes.

Read off the server's own changes. A pod's end is its own unless a deletion or a disruption came
first; that is decided at the first sight of the end and never again.
"""

from typing import Final

import msgspec

from tests.support.histories.server import ENDED, JOBS, PODS, Change, Json
from tfjob.core.status import JobStatus
from tfjob.dialects.kubeflow import api
from tfjob.dialects.kubeflow import status as stored_status

Place = tuple[str, int]
"""Label of the replica type, and index."""
MOST_REPLICAS: Final = 5_000
_DISRUPTIONS: Final = frozenset({"Evicted", "NodeLost", "Preempting", "NodeShutdown"})


class PodFacts(msgspec.Struct):
    uid: str
    name: str
    namespace: str
    place: Place | None
    owner: str = ""
    maker: str = ""
    made_at: int = 0
    """The step at which it was created."""
    joined_at: int = 0
    """The step at which it got its owner."""
    is_disrupted: bool = False
    is_marked: bool = False
    """It carries the mark of a disruption, which may be younger than its end."""
    is_terminating: bool = False
    code: int | None = None
    """How the training container ended for good; None while it has not."""
    has_ended: bool = False
    is_gone: bool = False
    was_done: bool = False
    """Its phase was Succeeded before anybody asked for its deletion or marked it disrupted."""
    policy: str = ""
    restarts: int = 0
    """Restarts by the kubelet, the one that is due included."""

    @property
    def has_succeeded(self) -> bool:
        return self.has_ended and self.code == 0 and not self.is_disrupted

    @property
    def has_failed(self) -> bool:
        """It failed by itself."""
        return self.has_ended and self.code != 0 and not self.is_disrupted


class JobFacts(msgspec.Struct):
    uid: str
    name: str
    namespace: str
    spec: Json
    status: JobStatus = JobStatus()
    verdict: str = ""
    finished_at: int = 0
    """The step at which the verdict was stored."""
    made_at: int = 0
    first_pod_at: int = 0
    terminating_at: int = 0
    gone_at: int = 0
    was_suspended: bool = False
    resumed_at: int = 0
    """The step at which the pods were listed that its last resumption was decided on: what joined
    it before is of another run."""
    recorded_uids: set[str] = msgspec.field(default_factory=set)
    """Pods of which the status has had a record."""
    failed_uids: dict[str, set[str]] = msgspec.field(default_factory=dict)
    completed_at: dict[Place, int] = msgspec.field(default_factory=dict)

    @property
    def run_policy(self) -> Json:
        found: Json = self.spec.get("runPolicy", {})
        return found

    @property
    def is_suspended(self) -> bool:
        return bool(self.run_policy.get("suspend"))

    @property
    def is_refused(self) -> bool:
        """It asks for more than can ever start."""
        return any(each["replicas"] > MOST_REPLICAS for each in self.replicas.values())

    @property
    def replicas(self) -> Json:
        found: Json = self.spec["tfReplicaSpecs"]
        return found

    @property
    def deciders(self) -> list[Place]:
        for kind in ("Chief", "Master"):
            if kind in self.replicas:
                return [(kind.lower(), 0)]
        if self.spec.get("successPolicy") == "AllWorkers":
            return [("worker", index) for index in range(self.replicas["Worker"]["replicas"])]
        return [("worker", 0)]

    def policy_of(self, label: str) -> str:
        found = {kind.lower(): each for kind, each in self.replicas.items()}
        return str(found.get(label, {}).get("restartPolicy") or "Never")


class Truth:
    """Pods and jobs by UID; `step` is set by whoever runs the history."""

    def __init__(self) -> None:
        self.pods: dict[str, PodFacts] = {}
        self.jobs: dict[str, JobFacts] = {}
        self.step = 0

    def observe(self, change: Change) -> None:
        """Called for each change, before any law is checked."""
        if change.key[0] == PODS:
            self._observe_pod(change)
        elif change.key[0] == JOBS:
            self._observe_job(change)

    def run_of(self, job: JobFacts, place: Place | None = None) -> list[PodFacts]:
        """Its pods since it was last resumed."""
        return [pod for pod in self.pods_of(job, place) if pod.joined_at >= job.resumed_at]

    def pods_of(self, job: JobFacts, place: Place | None = None) -> list[PodFacts]:
        return [
            pod
            for pod in self.pods.values()
            if pod.owner == job.uid
            and pod.namespace == job.namespace
            and place in {None, pod.place}
        ]

    def _observe_job(self, change: Change) -> None:
        seen = change.new or change.old or {}
        uid = seen["metadata"]["uid"]
        if change.new is None:
            self.jobs[uid].gone_at = self.step
            return
        job = self.jobs.get(uid)
        if job is None:
            meta = seen["metadata"]
            job = JobFacts(uid, meta["name"], meta["namespace"], seen["spec"])
            job.made_at = self.step
            self.jobs[uid] = job
        job.spec = seen["spec"]
        job.was_suspended |= job.is_suspended
        if "deletionTimestamp" in seen["metadata"]:
            job.terminating_at = job.terminating_at or self.step

    def _observe_pod(self, change: Change) -> None:
        pod = change.new or change.old or {}
        meta = pod["metadata"]
        facts = self.pods.get(meta["uid"])
        if facts is None:
            facts = PodFacts(meta["uid"], meta["name"], meta["namespace"], place_of(meta))
            facts.maker, facts.made_at = change.by, self.step
            facts.policy = pod["spec"].get("restartPolicy", "Always")
            self.pods[facts.uid] = facts
        owner = controller_of(meta)
        if owner != facts.owner:
            facts.owner, facts.joined_at = owner, self.step
        job = self.jobs.get(facts.owner)
        if job is not None and facts.maker:
            job.first_pod_at = job.first_pod_at or self.step
        facts.is_gone = change.new is None
        facts.is_terminating |= "deletionTimestamp" in meta
        if not facts.is_gone:
            _observe_end(facts, pod)
            is_marked = facts.is_terminating or is_evicted(pod["status"])
            facts.was_done |= pod["status"].get("phase") == "Succeeded" and not is_marked

    def decoded(self, job: Json) -> JobStatus:
        return stored_status.decode(job.get("status"))


def _observe_end(facts: PodFacts, pod: Json) -> None:
    status = pod["status"]
    for each in status.get("containerStatuses", ()):
        is_due = "terminated" in each["state"] and _exit_code(facts, status) is None
        facts.restarts = max(facts.restarts, each["restartCount"] + is_due)
    facts.is_marked |= is_evicted(status)
    if facts.has_ended:
        return
    facts.is_disrupted |= "deletionTimestamp" in pod["metadata"] or facts.is_marked
    code = _exit_code(facts, status)
    if code is not None or status.get("phase") in ENDED:
        facts.has_ended, facts.code = True, code


def _exit_code(facts: PodFacts, status: Json) -> int | None:
    for each in status.get("containerStatuses", ()):
        ended = each["state"].get("terminated")
        if each["name"] != "tensorflow" or ended is None:
            continue
        code = int(ended["exitCode"])
        starts_again = facts.policy == "Always" or (facts.policy == "OnFailure" and code != 0)
        return None if starts_again and status["phase"] not in ENDED else code
    return None


def is_evicted(status: Json) -> bool:
    marks = [each["type"] for each in status.get("conditions", ()) if each["status"] == "True"]
    return "DisruptionTarget" in marks or status.get("reason") in _DISRUPTIONS


def controller_of(meta: Json) -> str:
    for each in meta.get("ownerReferences", ()):
        if each.get("controller"):
            return str(each["uid"])
    return ""


def place_of(meta: Json) -> Place | None:
    labels = meta.get("labels", {})
    kind, index = labels.get(api.LABEL_TYPE), labels.get(api.LABEL_INDEX, "")
    return (kind, int(index)) if kind and index.isdigit() else None
