"""What a user of the Kubeflow SDK does with TFJobs, as one program in the SDK's own environment.

It is told a kubeconfig, a namespace, an image with Python and the command of a chief, and prints
what it saw as JSON. It knows nothing of tfjob.
"""

import json
import sys
from typing import Any

from kubeflow.training import (  # type: ignore[import-not-found]  # in an environment of its own
    KubeflowOrgV1ReplicaSpec,
    KubeflowOrgV1RunPolicy,
    KubeflowOrgV1TFJob,
    KubeflowOrgV1TFJobSpec,
    TrainingClient,
)
from kubernetes.client import (  # type: ignore[import-not-found]  # comes with the SDK
    V1Container,
    V1ObjectMeta,
    V1PodSpec,
    V1PodTemplateSpec,
)

_KIND = "TFJob"
_WAIT: dict[str, int] = {"wait_timeout": 600, "polling_interval": 1}


def a_job(name: str, namespace: str, image: str, chief: list[str]) -> Any:
    """A chief and two workers, written with the SDK's own classes."""
    specs = {
        kind: KubeflowOrgV1ReplicaSpec(
            replicas=count, restart_policy="Never", template=a_template(image, command)
        )
        for kind, count, command in (("Chief", 1, chief), ("Worker", 2, ["true"]))
    }
    return KubeflowOrgV1TFJob(
        api_version="kubeflow.org/v1",
        kind=_KIND,
        metadata=V1ObjectMeta(name=name, namespace=namespace),
        spec=KubeflowOrgV1TFJobSpec(
            run_policy=KubeflowOrgV1RunPolicy(clean_pod_policy="None"), tf_replica_specs=specs
        ),
    )


def a_template(image: str, command: list[str]) -> Any:
    container = V1Container(name="tensorflow", image=image, command=command)
    return V1PodTemplateSpec(
        metadata=V1ObjectMeta(annotations={"sidecar.istio.io/inject": "false"}),
        spec=V1PodSpec(containers=[container]),
    )


def train() -> None:
    """The body of a job that the SDK makes of a function."""
    print("trained")


def main(kubeconfig: str, namespace: str, image: str, *chief: str) -> dict[str, Any]:
    client = TrainingClient(config_file=kubeconfig, namespace=namespace, job_kind=_KIND)
    client.create_job(a_job("written", namespace, image, list(chief)))
    client.create_job(
        name="made",
        job_kind=_KIND,
        base_image=image,
        train_func=train,
        num_workers=1,
        num_ps_replicas=1,
    )
    phases: list[str] = []
    for name in ("written", "made"):
        client.wait_for_job_conditions(
            name, callback=lambda job: phases.append(job.metadata.name), **_WAIT
        )
    seen = {
        "jobs": sorted(job.metadata.name for job in client.list_jobs()),
        "pods": sorted(client.get_job_pod_names("written")),
        "masters": client.get_job_pod_names("written", is_master=True),
        "second worker": client.get_job_pod_names(
            "written", replica_type="worker", replica_index=1
        ),
        "conditions": {
            each.type: [each.status, each.reason] for each in client.get_job_conditions("written")
        },
        "is": {
            "created": client.is_job_created("written"),
            "running": client.is_job_running("written"),
            "restarting": client.is_job_restarting("written"),
            "succeeded": client.is_job_succeeded("written"),
            "failed": client.is_job_failed("written"),
        },
        "replica statuses": {
            kind: status.succeeded
            for kind, status in client.get_job("written").status.replica_statuses.items()
        },
        "was called back": sorted(set(phases)),
    }
    for name in ("written", "made"):
        client.delete_job(name)
    return {**seen, "left": [job.metadata.name for job in client.list_jobs()]}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
