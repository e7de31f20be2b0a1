"""The examples train with real TensorFlow in real containers, over the cluster's own names."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controlplane.endpoint import ApiError
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
    return made[-1]


@pytest.mark.parametrize("name", ["01-parameter-servers", "02-multi-worker", "03-evaluator"])
def test_example_trains(namespace: Namespace, name: str) -> None:
    job = start(namespace, name)["metadata"]["name"]
    namespace.until_condition("Succeeded", job, seconds=SECONDS)
    assert all(_restarts(pod) == 0 for pod in namespace.pods().values())


def test_job_with_default_servers_trains_and_shows_its_progress(namespace: Namespace) -> None:
    name = start(namespace, "07-default-parameter-servers")["metadata"]["name"]

    def board() -> str | None:
        job = namespace.job(name, group="tensorflow.org/v1alpha1")
        runtime = job["spec"].get("RuntimeId")
        return f"tensorboard-{runtime}" if runtime else None

    service = until("an id of the job", board)
    path = f"{namespace.path('services')}/{service}:80/proxy/"

    def state() -> bool:
        job = namespace.job(name, group="tensorflow.org/v1alpha1")
        status = job.get("status", {})
        assert status.get("state") != "Failed", status
        return bool(status.get("state") == "Succeeded")

    until("state Succeeded", state, seconds=SECONDS)
    page = until("TensorBoard answers", lambda: _answer(namespace, path))
    assert "TensorBoard" in page


def test_job_of_t9k_trains(namespace: Namespace) -> None:
    name = start(namespace, "08-t9k")["metadata"]["name"]
    of = {"group": "batch.tensorstack.dev/v1beta1", "kind": "tensorflowtrainingjobs"}

    def phase() -> bool:
        found = namespace.job(name, **of).get("status", {}).get("phase")
        assert found != "Failed"
        return bool(found == "Succeeded")

    until("phase Succeeded", phase, seconds=SECONDS)
    # Finished workers keep their pods and their logs under Unfinished.
    assert {name for name in namespace.pods() if "worker" in name} == {
        f"{name}-worker-0",
        f"{name}-worker-1",
    }


def _answer(namespace: Namespace, path: str) -> str | None:
    try:
        return str(namespace.cluster.endpoint.request("GET", path))
    except ApiError as refusal:
        if refusal.status not in (502, 503):
            raise
        return None  # the Service has no endpoint yet


def _restarts(pod: Json) -> int:
    return sum(each["restartCount"] for each in pod["status"].get("containerStatuses", []))
