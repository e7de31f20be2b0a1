"""The manifests of a job's children, for tests that compare them with expected ones."""

from typing import Any

from tests.support.builders import decide, manifests_of
from tfjob.core.job import Job


def children_of(job: Job, kind: str) -> dict[str, dict[str, Any]]:
    """All children of one kind that the first pass makes, by name."""
    made = manifests_of(job, decide(job))
    return {each["metadata"]["name"]: each for each in made if each["kind"] == kind}


def pods_of(job: Job) -> dict[str, dict[str, Any]]:
    return children_of(job, "Pod")


def services_of(job: Job) -> dict[str, dict[str, Any]]:
    return children_of(job, "Service")


def training_container(pod: dict[str, Any]) -> dict[str, Any]:
    containers: list[dict[str, Any]] = pod["spec"]["containers"]
    return next(each for each in containers if each["name"] == "tensorflow")


def tf_config(pod: dict[str, Any]) -> str | None:
    """The value that the training container sees: of two with one name the last one counts."""
    values = [
        each["value"]
        for each in training_container(pod).get("env", [])
        if each["name"] == "TF_CONFIG"
    ]
    return values[-1] if values else None


def tf_configs(job: Job) -> dict[str, str | None]:
    return {name: tf_config(pod) for name, pod in pods_of(job).items()}
