"""Published TFJobs are valid and decode as their documents describe."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.builders import decide, events_of
from tests.unit.dialects.rendering import pods_of, services_of, tf_configs, training_container
from tfjob.core.job import CleanPolicy, Job, RestartPolicy, SuccessCriterion
from tfjob.dialects.base import Settings
from tfjob.dialects.registry import dialect_for

FOLDER = Path(__file__).parent / "seeds"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
OVERRULED = (
    "Warning",
    "SetPodTemplateRestartPolicy",
    "Restart policy in pod template will be overwritten by restart policy in replica spec",
)


def seed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    return found


def read(name: str) -> Job:
    given = seed(name)
    dialect = dialect_for(given["apiVersion"], given["kind"])
    assert dialect is not None
    job = dialect.decode(given, Settings())
    assert isinstance(job, Job), job
    return job


def test_all_published_jobs_are_here() -> None:
    assert len(NAMES) == 7


@pytest.mark.scenario(139)
@pytest.mark.parametrize("name", NAMES)
def test_published_job_is_accepted_unchanged(name: str) -> None:
    given = seed(name)
    dialect = dialect_for(given["apiVersion"], given["kind"])
    assert dialect is not None
    assert dialect.validate(given) == []


@pytest.mark.parametrize(("name", "workers"), [("distributed", 3), ("distributed-with-secret", 1)])
def test_distributed_jobs_restart_failed_containers(name: str, workers: int) -> None:
    job = read(name)
    assert [(each.type, each.count) for each in job.replicas] == [("PS", 1), ("Worker", workers)]
    assert {each.restart for each in job.replicas} == {RestartPolicy.ON_FAILURE}
    assert {pod["spec"]["restartPolicy"] for pod in pods_of(job).values()} == {"OnFailure"}
    assert job.namespace == "kubeflow"
    assert job.name == "tfjob"


def test_secret_reaches_the_pods() -> None:
    for pod in pods_of(read("distributed-with-secret")).values():
        trained = training_container(pod)
        assert trained["env"][0]["value"] == "/etc/secrets/user-gcp-sa.json"
        assert trained["volumeMounts"] == [
            {"name": "sa", "mountPath": "/etc/secrets", "readOnly": True}
        ]
        assert pod["spec"]["volumes"] == [{"name": "sa", "secret": {"secretName": "user-gcp-sa"}}]


@pytest.mark.scenario(25)
def test_gpu_job_never_restarts_although_its_templates_say_so() -> None:
    job = read("tf-smoke-gpu")
    assert {pod["spec"]["restartPolicy"] for pod in pods_of(job).values()} == {"Never"}
    assert OVERRULED in events_of(decide(job))
    worker = training_container(pods_of(job)["tf-smoke-gpu-worker-0"])
    assert worker["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert worker["ports"] == [{"containerPort": 2222, "name": "tfjob-port"}]


@pytest.mark.scenario(137)
def test_mnist_job_keeps_its_pods_and_its_stored_status() -> None:
    job = read("mnist")
    assert job.policy.clean is CleanPolicy.NONE
    assert [each.type for each in job.status.conditions] == ["Created", "Running"]
    assert not job.status.is_finished
    assert job.status.start_time is not None
    assert list(pods_of(job)) == ["mnist-worker-0"]
    assert list(services_of(job)) == ["mnist-worker-0"]
    assert tf_configs(job) == {"mnist-worker-0": None}


@pytest.mark.scenario(34)
def test_distributed_mnist_gets_the_published_tf_config() -> None:
    cluster = (
        '{"cluster":{"ps":["dist-mnist-for-e2e-test-ps-0.kubeflow.svc:2222"],'
        '"worker":["dist-mnist-for-e2e-test-worker-0.kubeflow.svc:2222"]},'
    )
    assert tf_configs(read("dist-mnist")) == {
        "dist-mnist-for-e2e-test-ps-0": (
            cluster + '"task":{"type":"ps","index":0},"environment":"cloud"}'
        ),
        "dist-mnist-for-e2e-test-worker-0": (
            cluster + '"task":{"type":"worker","index":0},"environment":"cloud"}'
        ),
    }


@pytest.mark.scenario(40)
@pytest.mark.parametrize("name", ["example-tfjob", "module6-ex1-gpu"])
def test_lone_master_of_v1beta1_gets_one_pod_that_is_never_restarted(name: str) -> None:
    job = read(name)
    assert list(pods_of(job)) == [f"{name}-master-0"]
    assert list(services_of(job)) == [f"{name}-master-0"]
    pod = pods_of(job)[f"{name}-master-0"]
    assert pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
    assert pod["metadata"]["ownerReferences"][0]["apiVersion"] == "kubeflow.org/v1"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert tf_configs(job) == {f"{name}-master-0": None}
    assert events_of(decide(job)).count(OVERRULED) == 1


@pytest.mark.scenario(135)
@pytest.mark.parametrize("name", ["example-tfjob", "module6-ex1-gpu"])
def test_published_v1beta1_job_cleans_up_what_runs_and_is_decided_by_its_master(name: str) -> None:
    job = read(name)
    assert job.policy.clean is CleanPolicy.RUNNING
    assert job.semantics.success_criterion == SuccessCriterion(types=("Master",))
