"""How jobs end on a real node: verdicts, reasons, and which pods stay with their logs.

ENDS sets how many jobs end under the policies on their pods; the default is one round.
"""

import pytest

from tests.support.node.client import (
    Json,
    Namespace,
    condition,
    exit_code,
    pod_spec,
    rounds_of,
    tfjob,
    until,
)

FOREVER: tuple[str, ...] = ()
# The words of the chief, its restart policy, what limits it, and the verdict.
ENDS: dict[str, tuple[tuple[str, ...], str, Json, str]] = {
    "success": (("--seconds", "2", "--exit", "0"), "Never", {}, "Succeeded"),
    "failure": (("--seconds", "2", "--exit", "3"), "Never", {}, "Failed"),
    "limit": (("--seconds", "2", "--exit", "137"), "ExitCode", {"backoffLimit": 1}, "Failed"),
}
POLICIES = ("None", "Running", "All")
ROUNDS = rounds_of("ENDS", len(ENDS) * len(POLICIES))


def claim(name: str) -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    body: Json = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec}
    return body | {"metadata": {"name": name}}


def with_volume(job: Json, claim_name: str) -> Json:
    """The job with a volume at /data in each of its pods."""
    for role in job["spec"]["tfReplicaSpecs"].values():
        spec = role["template"]["spec"]
        source = {"persistentVolumeClaim": {"claimName": claim_name}}
        spec["volumes"] = [{"name": "data", **source}]
        spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return job


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_pods_stay_with_their_logs_as_the_policy_says(
    namespace: Namespace, end: str, number: int
) -> None:
    """The chief ends, and two workers would run for ever; one job for each policy."""
    words, restart, limit, verdict = ENDS[end]
    for policy in POLICIES:
        job = tfjob(
            {"Chief": (1, words), "Worker": (2, FOREVER)},
            name=policy.lower(),
            restart=restart,
            run_policy={"cleanPodPolicy": policy, **limit},
        )
        namespace.create(job)
    for policy in POLICIES:
        namespace.until_condition(verdict, policy.lower())
    # A limit ends what runs, whatever the policy says.
    stays = {"none-chief-0", "running-chief-0"}
    stays |= set[str]() if limit else {"none-worker-0", "none-worker-1"}
    until(f"pods are {sorted(stays)}", lambda: set(namespace.pods()) == stays)
    for name in stays:
        assert "TF_CONFIG=" in namespace.log(name)
    for name in ("none-chief-0", "running-chief-0"):
        assert exit_code(namespace.pods()[name]) == int(words[-1])


def test_container_without_memory_is_reported_as_such(namespace: Namespace) -> None:
    job = tfjob({"Worker": (1, ("--fill", "500"))}, restart="Never")
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
    namespace.create(job)
    found = namespace.until_condition("Failed")
    [container] = namespace.pods()["j-worker-0"]["status"]["containerStatuses"]
    ended = container["state"]["terminated"]
    assert ended["exitCode"] == 137
    # On a busy node containerd may report the end before it learns of the reason.
    told = "memory" if ended["reason"] == "OOMKilled" else "137"
    assert told in str(found["status"]).lower()


def test_retryable_failure_resumes_where_it_stopped(namespace: Namespace) -> None:
    namespace.create(claim("data"))
    words = ("--seconds", "1", "--exit", "137", "--count", "/data/step", "--succeed-at", "3")
    namespace.create(with_volume(tfjob({"Worker": (1, words)}, restart="ExitCode"), "data"))
    namespace.until_condition("Succeeded")
    assert "start 3" in namespace.log("j-worker-0")


def test_permanent_failure_fails_the_job_at_once(namespace: Namespace) -> None:
    words = ("--seconds", "1", "--exit", "3")
    namespace.create(tfjob({"Worker": (2, words)}, restart="ExitCode"))
    found = namespace.until_condition("Failed")
    assert found["status"]["diagnosis"]["exitCode"] == 3


def test_image_that_cannot_be_pulled_is_reported_on_the_job(namespace: Namespace) -> None:
    job = tfjob({"Worker": (1, FOREVER)})
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"][0]["image"] = "nowhere.invalid/missing:1"
    namespace.create(job)
    until("the status names the image", lambda: "nowhere.invalid" in _told(namespace))
    assert "pull" in _told(namespace).lower()


def test_volume_that_does_not_exist_is_explained(namespace: Namespace) -> None:
    """The kubelet says so in an event alone."""
    job = tfjob({"Worker": (1, FOREVER)})
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "settings", "configMap": {"name": "absent"}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "settings", "mountPath": "/settings"}]
    namespace.create(job)
    until("the ConfigMap is named", lambda: "absent" in namespace.cluster.explain(namespace.name))


def test_quota_that_refuses_pods_is_reported_on_the_job(namespace: Namespace) -> None:
    quota: Json = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}}
    namespace.create(quota | {"spec": {"hard": {"pods": "1"}}})
    namespace.create(tfjob({"Worker": (2, FOREVER)}))
    until("the job names the quota", lambda: "small" in _told(namespace))


def test_job_is_deleted_some_time_after_its_end(namespace: Namespace) -> None:
    job = tfjob({"Worker": (1, ("--seconds", "1"))}, run_policy={"ttlSecondsAfterFinished": 2})
    path = f"{namespace.path('tfjobs', 'kubeflow.org/v1')}/j"
    namespace.create(job)
    until("the job is gone", lambda: namespace.cluster.found(path) is None)
    until("its pods are gone", lambda: not namespace.pods())


def test_job_ends_at_its_deadline(namespace: Namespace) -> None:
    namespace.create(tfjob({"Worker": (1, FOREVER)}, run_policy={"activeDeadlineSeconds": 4}))
    found = namespace.until_condition("Failed")
    assert condition(found, "Failed")["reason"] == "DeadlineExceeded" or "active" in str(found)
    until("its pods are gone", lambda: not namespace.pods())


@pytest.mark.parametrize("code", [0, 3])
def test_sidecar_does_not_keep_a_job_from_ending(namespace: Namespace, code: int) -> None:
    job = tfjob({"Worker": (1, ("--seconds", "2", "--exit", str(code)))}, restart="Never")
    [own] = pod_spec()["containers"]
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"].append({**own, "name": "sidecar"})
    namespace.create(job)
    namespace.until_condition("Succeeded" if code == 0 else "Failed")


def _told(namespace: Namespace) -> str:
    """Everything that the job says about itself: status and events."""
    return str(namespace.job().get("status")) + str(namespace.events())
