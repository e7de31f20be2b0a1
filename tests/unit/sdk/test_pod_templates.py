"""Pod templates are checked in the same way in every API."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import tfjob
from tests.unit.k8s.json_values import JSON
from tfjob.sdk.documents import Document
from tfjob.sdk.job_documents import CheckedDocument, check
from tfjob.sdk.pod_templates import entry_of

Json = dict[str, Any]
PLACES = {
    "kubeflow.org/v1": (tfjob("W1"), "spec.tfReplicaSpecs[Worker].template"),
    "kubeflow.org/v1beta1": (
        {**tfjob("W1"), "apiVersion": "kubeflow.org/v1beta1"},
        "spec.tfReplicaSpecs[Worker].template",
    ),
    "tensorflow.org/v1alpha1": (old_job("MASTER"), "spec.replicaSpecs[0].template"),
    "batch.tensorstack.dev/v1beta1": (training_job("worker"), "spec.replicaSpecs[0].template"),
}
MISTAKES: dict[str, tuple[Json, str]] = {
    "command": ({"command": "a b"}, "command: Invalid value"),
    "variable": ({"env": [{"name": "A", "value": 1}]}, "env[0].value: Invalid value"),
    "amount": ({"resources": {"limits": {"memory": "2 GB"}}}, "resources.limits[memory]: Inv"),
    "mount": (
        {"volumeMounts": [{"name": "nope", "mountPath": "/a"}]},
        'volumeMounts[0].name: Not found: "nope"',
    ),
    "typo": ({"comand": ["a"]}, "comand: Invalid value: unknown pod field"),
    "empty typo": ({"volumeMount": []}, "volumeMount: Invalid value: unknown pod field"),
}


def changed(job: Any, change: Json) -> Any:
    """The job with its first container changed, wherever that stands."""
    if isinstance(job, dict):
        return {
            key: [{**value[0], **change}, *value[1:]]
            if key == "containers"
            else changed(value, change)
            for key, value in job.items()
        }
    return [changed(each, change) for each in job] if isinstance(job, list) else job


def document(value: Any) -> Document:
    return Document(file="f", number=1, value=value, node=yaml.compose("{}"), repeated=[])


def checked(value: Any) -> CheckedDocument:
    found = check(document(value))
    assert found is not None
    return found


@pytest.mark.parametrize("api", PLACES)
@pytest.mark.parametrize("why", MISTAKES)
def test_mistake_in_a_pod_is_a_fault_with_path_and_remedy(api: str, why: str) -> None:
    job, path = PLACES[api]
    change, says = MISTAKES[why]
    (fault,) = checked(changed(job, change)).faults
    assert fault.text.startswith(f"{path}.spec.containers[0].{says}")
    assert fault.remedy


@pytest.mark.parametrize("api", PLACES)
def test_template_without_a_mistake_has_no_fault(api: str) -> None:
    job, _ = PLACES[api]
    found = checked(job)
    assert (found.faults, found.unknown_pod_fields) == ([], [])


def test_faults_of_pods_are_reported_with_those_of_the_job() -> None:
    job = changed({**tfjob("W1"), "metadata": {"name": "0"}}, {"command": "a"})
    assert [fault.path.rpartition(".")[2] for fault in checked(job).faults] == ["name", "command"]


def test_parameter_server_without_a_template_is_the_operators_own() -> None:
    job = old_job("MASTER")
    job["spec"]["replicaSpecs"].append({"tfReplicaType": "PS", "replicas": 2})
    assert checked(job).faults == []


def test_entry_without_a_type_is_checked_in_its_own_place() -> None:
    job = old_job("MASTER")
    job["spec"]["replicaSpecs"][0].pop("tfReplicaType")
    (fault,) = checked(changed(job, {"imagePullPolicy": "x"})).faults
    assert fault.path == "spec.replicaSpecs[0].template.spec.containers[0].imagePullPolicy"


def test_template_key_is_case_insensitive() -> None:
    job = changed(old_job("MASTER"), {"command": "a"})
    entry = job["spec"]["replicaSpecs"][0]
    entry["Template"] = entry.pop("template")
    (fault,) = checked(job).faults
    assert fault.path == "spec.replicaSpecs[0].Template.spec.containers[0].command"


def test_restart_policy_of_a_template_is_no_fault_because_the_operator_sets_it() -> None:
    job = tfjob("W1")
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["restartPolicy"] = "Sometimes"
    assert checked(job).faults == []


def test_label_named_template_is_no_template() -> None:
    job = tfjob("W1")
    job["metadata"]["labels"] = {"template": "x"}
    assert checked(job).faults == []
    assert entry_of(document(job), "Worker") == "spec.tfReplicaSpecs[Worker]"
    assert entry_of(document(job), "PS") is None


@settings(max_examples=50)
@given(JSON)
def test_template_of_any_shape_gives_faults_and_no_exception(odd: Any) -> None:
    for job, _ in PLACES.values():
        assert checked(changed(job, {"env": odd, "resources": odd, "x": odd})) is not None
        spec = {**job["spec"], "replicaSpecs": [{"template": odd, "type": "worker"}]}
        assert checked({**job, "spec": spec}) is not None
