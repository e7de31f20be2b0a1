"""The complete objects of a small job, byte for byte."""

import pytest

from tests.support.builders import NOW, OWNER, Passes, a_pod, at, manifest
from tests.unit.dialects.rendering import pods_of, services_of, sorted_json
from tfjob.dialects.base import StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s import time

OWNERS = [OWNER]
FOUR_LABELS = {
    "training.kubeflow.org/operator-name": "tfjob-controller",
    "training.kubeflow.org/job-name": "j",
    "training.kubeflow.org/replica-type": "chief",
    "training.kubeflow.org/replica-index": "0",
}
TF_CONFIG = (
    '{"cluster":{"chief":["j-chief-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
    '"task":{"type":"chief","index":0},"environment":"cloud"}'
)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "j-chief-0",
        "labels": {"app": "x", "training.kubeflow.org/job-role": "master", **FOUR_LABELS},
        "ownerReferences": OWNERS,
    },
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "tensorflow",
                "image": "img",
                "ports": [{"name": "tfjob-port", "containerPort": 2222}],
                "env": [{"name": "TF_CONFIG", "value": TF_CONFIG}],
                "terminationMessagePolicy": "FallbackToLogsOnError",
            }
        ],
    },
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "j-chief-0", "labels": FOUR_LABELS, "ownerReferences": OWNERS},
    "spec": {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": FOUR_LABELS,
        "ports": [{"name": "tfjob-port", "port": 2222}],
    },
}


@pytest.fixture
def passes() -> Passes:
    given = manifest("C1 W1", restart="ExitCode")
    chief = given["spec"]["tfReplicaSpecs"]["Chief"]
    chief["template"]["metadata"] = {"labels": {"app": "x"}}
    return Passes(given)


def test_chief_pod(passes: Passes) -> None:
    assert sorted_json(pods_of(passes.job)["j-chief-0"]) == sorted_json(POD)


def test_chief_service(passes: Passes) -> None:
    assert sorted_json(services_of(passes.job)["j-chief-0"]) == sorted_json(SERVICE)


def test_status_after_success(passes: Passes) -> None:
    passes.go()
    passes.go(a_pod("chief"), a_pod("worker"), now=at(1))
    ended = [a_pod(role, 0, "Succeeded", exit_code=0) for role in ("chief", "worker")]
    passes.go(*ended, now=at(2))
    first, last = time.render(NOW), time.render(at(2))

    def condition(kind: str, status: str, message: str, when: str) -> dict[str, str]:
        return {
            "type": kind,
            "status": status,
            "reason": f"TFJob{kind}",
            "message": message,
            "lastUpdateTime": when,
            "lastTransitionTime": when,
        }

    def counts(role: str) -> dict[str, object]:
        selector = (
            "training.kubeflow.org/job-name=j,"
            "training.kubeflow.org/operator-name=tfjob-controller,"
            f"training.kubeflow.org/replica-type={role}"
        )
        return {"succeeded": 1, "completedIndexes": "0", "selector": selector}

    shown = KubeflowV1().encode_status(passes.job, passes.job.status, StatusContext())
    assert sorted_json(shown) == sorted_json(
        {
            "conditions": [
                condition("Created", "True", "TFJob j is created.", first),
                condition("Running", "False", "TFJob n/j is running.", last),
                condition("Succeeded", "True", "TFJob n/j successfully completed.", last),
            ],
            "replicaStatuses": {"Chief": counts("chief"), "Worker": counts("worker")},
            "startTime": first,
            "completionTime": last,
        }
    )
