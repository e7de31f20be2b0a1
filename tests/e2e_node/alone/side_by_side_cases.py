"""The cases in which the operators are compared: a job, what is done to it, when it is over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.e2e_node.test_training import SECONDS, example
from tests.support.node.client import (
    END,
    Json,
    Namespace,
    conditions_of,
    is_running,
    pod_spec,
    tfjob,
    until,
)

FOREVER: tuple[str, ...] = ()
WAITS = ("--until", END)
FIELDS = ("conditions", "events", "pods", "TF_CONFIG")
"""What is seen of a job."""
QUOTA: Json = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "none"},
    "spec": {"hard": {"pods": "0"}},
}
Act = Callable[[Namespace, str], None]
IsOver = Callable[[Namespace, str], bool]


def has_ended(side: Namespace, name: str) -> bool:
    return bool({"Succeeded", "Failed"} & set(conditions_of(side.job(name))))


def is_gone(side: Namespace, name: str) -> bool:
    return side.cluster.found(f"{side.path('tfjobs', 'kubeflow.org/v1')}/{name}") is None


def told(*words: str) -> IsOver:
    """Over once an event of the job or of its pods contains one of these words."""

    def look(side: Namespace, name: str) -> bool:
        events = side.cluster.get(side.path("events"))["items"]
        own = [each for each in events if each["involvedObject"]["name"].startswith(name)]
        return any(word in str(each) for each in own for word in words)

    return look


def nothing(side: Namespace, name: str) -> None:
    """The job ends by itself."""


def end(replica: str, code: int = 0) -> Act:
    """Let a replica end once the job is Running."""

    def act(side: Namespace, name: str) -> None:
        pod = f"{name}-{replica}"
        side.until_running(pod)
        side.until_condition("Running", name)
        side.end_pod(pod, code)

    return act


def end_all(*replicas: str) -> Act:
    def act(side: Namespace, name: str) -> None:
        side.until_running(*(f"{name}-{each}" for each in replicas))
        for each in replicas:
            end(each)(side, name)

    return act


def fail_then_end(replica: str, code: int) -> Act:
    """A failure first; its successor ends well."""

    def act(side: Namespace, name: str) -> None:
        pod = f"{name}-{replica}"
        uid = side.until_running(pod)[pod]["metadata"]["uid"]
        end(replica, code)(side, name)
        side.until_replaced(pod, uid)
        end(replica)(side, name)

    return act


def fail_in_place(replica: str, times: int) -> Act:
    """Failures of one container, as many as the job bears."""

    def act(side: Namespace, name: str) -> None:
        for number in range(times):
            if not goes_on(side, name, partial(_has_started, f"{name}-{replica}", number)):
                return
            end(replica, 1)(side, name)

    return act


def _has_started(pod: str, restarts: int, side: Namespace) -> bool:
    found = side.pod(pod)
    if found is None or not is_running(found):
        return False
    return bool(found["status"]["containerStatuses"][0]["restartCount"] >= restarts)


def disturb(replica: str, how: Callable[[Namespace, str], None]) -> Act:
    """Take a replica away; if the job goes on, its chief ends well."""

    def act(side: Namespace, name: str) -> None:
        pod = f"{name}-{replica}"
        pods = side.until_running(pod, f"{name}-chief-0")
        side.until_condition("Running", name)
        how(side, pod)
        if goes_on(side, name, partial(_is_replaced, pod, pods[pod]["metadata"]["uid"])):
            end("chief-0")(side, name)

    return act


def _is_replaced(pod: str, uid: str, side: Namespace) -> bool:
    found = side.pod(pod)
    return found is not None and found["metadata"]["uid"] != uid and is_running(found)


def goes_on(side: Namespace, name: str, look: Callable[[Namespace], bool]) -> bool:
    """Whether something happens before the job ends."""
    until("it goes on or ends", lambda: look(side) or has_ended(side, name))
    return not has_ended(side, name)


def suspend_and_resume(side: Namespace, name: str) -> None:
    side.until_condition("Running", name)
    side.patch({"spec": {"runPolicy": {"suspend": True}}}, name)
    side.until_condition("Suspended", name)
    until("no pods", lambda: not any(each.startswith(f"{name}-") for each in side.pods()))
    side.patch({"spec": {"runPolicy": {"suspend": False}}}, name)
    end("chief-0")(side, name)


def scale(side: Namespace, name: str) -> None:
    side.until_condition("Running", name)
    side.patch({"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 2}}}}, name)
    side.until_running(f"{name}-worker-1")
    end("chief-0")(side, name)


@dataclass(frozen=True)
class Case:
    """One job, with the objects that must be there first."""

    job: Json
    act: Act
    is_over: IsOver = has_ended
    before: Sequence[Json] = field(default=())
    seconds: float = 60
    """How long the other operator has; ours has as long as it needs."""
    compared: Sequence[str] = FIELDS
    """What of ours must be as recorded."""


def with_sidecar(job: Json) -> Json:
    [own] = pod_spec()["containers"]
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"].append({**own, "name": "sidecar"})
    return job


def with_container(job: Json, **change: object) -> Json:
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0] |= change
    return job


def trained(name: str) -> Case:
    *before, job = example(name)
    return Case(job, nothing, before=before, seconds=SECONDS)


_TEAM = {"Chief": (1, WAITS), "Worker": (2, FOREVER)}
CASES: dict[str, Case] = {
    "chief-succeeds-none": Case(tfjob(_TEAM), end("chief-0")),
    "chief-succeeds-running": Case(
        tfjob(_TEAM, run_policy={"cleanPodPolicy": "Running"}), end("chief-0")
    ),
    "chief-succeeds-all": Case(tfjob(_TEAM, run_policy={"cleanPodPolicy": "All"}), end("chief-0")),
    "worker-0-succeeds": Case(
        tfjob({"PS": (1, FOREVER), "Worker": (2, WAITS)}, run_policy={"cleanPodPolicy": "Running"}),
        end("worker-0"),
    ),
    "all-workers-succeed": Case(
        tfjob(
            {"PS": (1, FOREVER), "Worker": (2, WAITS)},
            run_policy={"cleanPodPolicy": "Running"},
            successPolicy="AllWorkers",
        ),
        end_all("worker-0", "worker-1"),
    ),
    "chief-and-evaluator": Case(
        tfjob({"Chief": (1, WAITS), "Evaluator": (1, FOREVER)}), end("chief-0")
    ),
    "fails-under-never": Case(tfjob({"Worker": (2, WAITS)}, restart="Never"), end("worker-1", 3)),
    "permanent-exit-code": Case(
        tfjob({"Worker": (1, WAITS)}, restart="ExitCode"), end("worker-0", 3)
    ),
    "retryable-exit-code": Case(
        tfjob({"Worker": (1, WAITS)}, restart="ExitCode"), fail_then_end("worker-0", 137)
    ),
    "backoff-limit": Case(
        tfjob({"Worker": (1, WAITS)}, run_policy={"backoffLimit": 1}),
        fail_in_place("worker-0", 2),
    ),
    "deadline": Case(
        tfjob({"Worker": (1, FOREVER)}, run_policy={"activeDeadlineSeconds": 30}), nothing
    ),
    "time-to-live": Case(
        tfjob({"Worker": (1, WAITS)}, run_policy={"ttlSecondsAfterFinished": 1}),
        end("worker-0"),
        is_over=is_gone,
    ),
    "suspended-and-resumed": Case(tfjob(_TEAM), suspend_and_resume),
    "scaled": Case(
        tfjob({"Chief": (1, WAITS), "Worker": (1, FOREVER)}, enableDynamicWorker=True), scale
    ),
    "worker-evicted": Case(tfjob(_TEAM), disturb("worker-0", Namespace.evict)),
    "worker-deleted": Case(tfjob(_TEAM), disturb("worker-0", Namespace.delete_pod)),
    "memory-runs-out": Case(
        with_container(
            tfjob({"Worker": (1, (*WAITS, "--fill", "500"))}, restart="Never"),
            resources={"limits": {"memory": "64Mi"}},
        ),
        end("worker-0"),
        # A busy containerd may report the end without its reason.
        compared=("conditions", "pods", "TF_CONFIG"),
    ),
    "endless-sidecar": Case(
        with_sidecar(tfjob({"Worker": (1, WAITS)}, restart="Never")), end("worker-0")
    ),
    "image-not-pulled": Case(
        with_container(tfjob({"Worker": (1, FOREVER)}), image="nowhere.invalid/missing:1"),
        nothing,
        is_over=told("ErrImagePull", "Failed to pull"),
    ),
    "quota-refuses": Case(
        tfjob({"Worker": (1, FOREVER)}), nothing, is_over=told("exceeded quota"), before=(QUOTA,)
    ),
    "trains-with-parameter-servers": trained("01-parameter-servers"),
    "trains-on-several-workers": trained("02-multi-worker"),
    "trains-with-an-evaluator": trained("03-evaluator"),
}
