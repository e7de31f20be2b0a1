"""What users do with a job that runs on a real node."""

import json

from tests.support.node.client import (
    Json,
    Namespace,
    conditions_of,
    is_running,
    tfjob,
    until,
)

FOREVER: tuple[str, ...] = ()


def test_suspended_job_has_no_pods_and_resumes(namespace: Namespace) -> None:
    namespace.create(tfjob({"Worker": (2, FOREVER)}))
    first = namespace.until_running("j-worker-0", "j-worker-1")
    namespace.patch({"spec": {"runPolicy": {"suspend": True}}})
    namespace.until_condition("Suspended")
    until("no pods", lambda: not namespace.pods())
    namespace.patch({"spec": {"runPolicy": {"suspend": False}}})
    second = namespace.until_running("j-worker-0", "j-worker-1")
    assert uids(first).isdisjoint(uids(second))
    namespace.until_condition("Running")


def test_workers_come_and_go_with_their_number(namespace: Namespace) -> None:
    namespace.create(tfjob({"Worker": (1, FOREVER)}, enableDynamicWorker=True))
    first = namespace.until_running("j-worker-0")
    namespace.patch({"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 3}}}})
    namespace.until_running("j-worker-0", "j-worker-1", "j-worker-2")
    namespace.patch({"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 1}}}})
    until("one pod", lambda: set(namespace.pods()) == {"j-worker-0"})
    assert uids(first) == uids(namespace.pods())


def test_secrets_and_volumes_reach_the_replicas(namespace: Namespace) -> None:
    secret: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
    namespace.create(secret | {"stringData": {"token": "t0ken"}})
    job = tfjob({"Worker": (1, FOREVER)})
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["volumes"] = [
        {"name": "key", "secret": {"secretName": "key"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    [container] = spec["containers"]
    container["volumeMounts"] = [
        {"name": "key", "mountPath": "/key"},
        {"name": "scratch", "mountPath": "/scratch"},
    ]
    source = {"secretKeyRef": {"name": "key", "key": "token"}}
    container["env"] = [{"name": "TOKEN", "valueFrom": source}]
    namespace.create(job)
    namespace.until_running("j-worker-0")
    script = "touch /scratch/x && cat /key/token && printenv TOKEN"
    said = namespace.cluster.kubectl(
        "exec", "-n", namespace.name, "j-worker-0", "--", "sh", "-c", script
    )
    assert said.split() == ["t0kent0ken"]


def test_replicas_find_each_other_by_the_names_in_tf_config(namespace: Namespace) -> None:
    namespace.create(tfjob({"PS": (1, FOREVER), "Worker": (2, FOREVER)}))
    pods = namespace.until_running("j-ps-0", "j-worker-0", "j-worker-1")
    [line, *_] = until("a log", lambda: namespace.log("j-worker-0").splitlines())
    cluster = json.loads(line.partition("=")[2])["cluster"]
    hosts = [address.partition(":")[0] for role in cluster.values() for address in role]
    assert len(hosts) == 3
    script = "import socket,sys; print(*(socket.gethostbyname(h) for h in sys.argv[1:]))"
    words = ("exec", "-n", namespace.name, "j-worker-0", "--", "python", "-c", script, *hosts)

    def resolved() -> set[str] | None:
        try:
            return set(namespace.cluster.kubectl(*words).split())
        except AssertionError:  # a name is published a moment after its pod runs
            return None

    assert until("names", resolved) == {pod["status"]["podIP"] for pod in pods.values()}


def test_kubectl_shows_logs_events_and_columns(namespace: Namespace) -> None:
    namespace.create(tfjob({"Worker": (1, FOREVER)}))
    namespace.until_running("j-worker-0")
    namespace.until_condition("Running")
    kubectl, place = namespace.cluster.kubectl, ("-n", namespace.name)
    until("a log", lambda: "TF_CONFIG=" in kubectl("logs", *place, "j-worker-0"))
    assert "Running" in kubectl("get", "tfj", *place)
    until("events", lambda: "SuccessfulCreatePod" in kubectl("describe", "tfj", "j", *place))


def test_deleted_job_takes_its_pods_along(namespace: Namespace) -> None:
    namespace.create(tfjob({"Worker": (2, FOREVER)}))
    namespace.until_running("j-worker-0", "j-worker-1")
    path = f"{namespace.path('tfjobs', 'kubeflow.org/v1')}/j"
    namespace.cluster.endpoint.request("DELETE", path)
    until("no pods", lambda: not namespace.pods())


def test_pod_that_runs_while_its_job_is_described_is_counted(namespace: Namespace) -> None:
    namespace.create(tfjob({"Chief": (1, FOREVER), "Worker": (2, FOREVER)}))
    namespace.until_running("j-chief-0", "j-worker-0", "j-worker-1")

    def counts() -> Json | None:
        found: Json = namespace.job()["status"].get("replicaStatuses", {})
        actives = {role: each.get("active") for role, each in found.items()}
        return found if actives == {"Chief": 1, "Worker": 2} else None

    until("three active replicas", counts)
    assert "Running" in conditions_of(namespace.job())
    assert all(is_running(pod) for pod in namespace.pods().values())


def uids(pods: dict[str, Json]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods.values()}
