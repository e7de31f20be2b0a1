"""The examples train with real TensorFlow in real containers, over the cluster's own names."""

import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.node.client import Json, Namespace, until
from tests.support.node.images import TENSORFLOW

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 600
"""Several processes load TensorFlow at the same time; on a busy machine that takes minutes."""


def example(name: str) -> list[Json]:
    """The documents of an example, with the image that contains its program."""
    text = (EXAMPLES / name / "job.yaml").read_text()
    documents = list(yaml.safe_load_all(text))
    for each in documents:
        _use_image(each, folder=f"/examples/{name}")
    return documents


def _use_image(value: Any, *, folder: str) -> None:
    if isinstance(value, list):
        for each in value:
            _use_image(each, folder=folder)
    if isinstance(value, dict):
        for key in ("image", "tfImage"):
            if str(value.get(key)).startswith("tensorflow/"):
                value[key] = TENSORFLOW
                if "command" in value:
                    value["workingDir"] = folder
        for each in value.values():
            _use_image(each, folder=folder)


def start(namespace: Namespace, name: str) -> Json:
    """Apply an example; the job in it."""
    made = [namespace.create(each) for each in example(name)]
    [job] = [each for each in made if each["kind"] != "PersistentVolumeClaim"]
    return job


@pytest.mark.parametrize(
    "name", ["01-parameter-servers", "02-multi-worker", "03-evaluator", "06-v1beta1"]
)
def test_example_trains(namespace: Namespace, name: str) -> None:
    job = start(namespace, name)["metadata"]["name"]
    namespace.until_condition("Succeeded", job, seconds=SECONDS)
    assert all(_restarts(pod) == 0 for pod in namespace.pods().values())


def test_crashed_worker_resumes_from_its_checkpoint(namespace: Namespace) -> None:
    """It crashes at step 250 with a retryable exit code, and has a checkpoint of step 200."""
    job = start(namespace, "04-resume")["metadata"]["name"]
    found = namespace.until_condition("Succeeded", job, seconds=SECONDS)
    assert found["status"]["replicaStatuses"]["Worker"]["restarts"] == 1
    assert "starting at step 200" in namespace.log(f"{job}-worker-0")


def test_job_with_default_servers_trains_and_shows_its_progress(namespace: Namespace) -> None:
    name = start(namespace, "07-default-parameter-servers")["metadata"]["name"]

    def board() -> str | None:
        job = namespace.job(name, group="tensorflow.org/v1alpha1")
        runtime = job["spec"].get("RuntimeId")
        return f"tensorboard-{runtime}" if runtime else None

    service = until("an id of the job", board)

    def state() -> bool:
        job = namespace.job(name, group="tensorflow.org/v1alpha1")
        status = job.get("status", {})
        assert status.get("state") != "Failed", status
        return bool(status.get("state") == "Succeeded")

    until("state Succeeded", state, seconds=SECONDS)
    address = namespace.cluster.get(f"{namespace.path('services')}/{service}")["spec"]["clusterIP"]
    page = until("TensorBoard answers", lambda: _page(address), seconds=SECONDS)
    assert "TensorBoard" in page


def test_job_of_t9k_trains(namespace: Namespace) -> None:
    name = start(namespace, "08-t9k")["metadata"]["name"]
    of = {"group": "batch.tensorstack.dev/v1beta1", "kind": "tensorflowtrainingjobs"}

    def phase() -> bool:
        found = namespace.job(name, **of).get("status", {}).get("phase")
        assert found != "Failed"
        return bool(found == "Succeeded")

    until("phase Succeeded", phase, seconds=SECONDS)
    # A finished worker keeps its pod and its log under Unfinished.
    [task] = namespace.job(name, **of)["status"]["tasks"]
    assert "accuracy" in namespace.log(task["replicas"][0]["name"])


def _page(address: str) -> str | None:
    """The page of a Service; None as long as nothing answers there."""
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=SECONDS) as answer:
            found: str = answer.read().decode()
    except OSError:
        return None
    return found


def _restarts(pod: Json) -> int:
    return sum(each["restartCount"] for each in pod["status"].get("containerStatuses", []))
