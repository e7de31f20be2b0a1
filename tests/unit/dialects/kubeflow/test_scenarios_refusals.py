"""Every rejection of a TFJob, with its exact message."""

from typing import Any

import pytest

from tests.support.builders import NOW, container, manifest, rejected, replica_spec
from tfjob.core.invalid_job import reject
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s.field import summary

DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
CONTAINERS = "spec.tfReplicaSpecs[Worker].template.spec.containers"
NO_CONTAINERS = f"{CONTAINERS}: Required value: must be specified"
NO_TENSORFLOW = (
    f"{CONTAINERS}: Required value: must have at least one container with name tensorflow"
)
TYPES = '"Chief", "Evaluator", "Master", "PS", "Worker"'
TWO_LEADERS = "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"
NO_SPECS = "spec.tfReplicaSpecs: Required value: must be required"
DERIVED = "characters because pod and service names are derived from it"


def refusal(given: Any) -> str:
    """What is said of a manifest: nothing where it is accepted."""
    return summary(KubeflowV1().validate(given))


def with_specs(*keys: str, **specs: Any) -> dict[str, Any]:
    return manifest(tfReplicaSpecs={**{key: replica_spec() for key in keys}, **specs})


@pytest.mark.scenario(7)
@pytest.mark.parametrize("manager", ["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"])
def test_valid_job_with_a_known_manager_is_accepted(manager: str) -> None:
    assert refusal(manifest(run_policy={"managedBy": manager})) == ""


@pytest.mark.scenario(8)
def test_name_that_begins_with_a_digit_is_rejected() -> None:
    text = f'metadata.name: Invalid value: "00test": should match: {DNS_1035}'
    assert refusal(manifest(name="00test")) == text


def test_name_that_is_too_long_is_rejected() -> None:
    name = "a" * 64
    rule = "should match: must be no more than 63 characters"
    assert refusal(manifest(name=name)) == f'metadata.name: Invalid value: "{name}": {rule}'


def test_both_problems_of_a_name_are_joined_by_a_comma() -> None:
    name = "0" * 64
    rule = f"should match: must be no more than 63 characters,{DNS_1035}"
    assert refusal(manifest(name=name)) == f'metadata.name: Invalid value: "{name}": {rule}'


@pytest.mark.scenario(9)
@pytest.mark.parametrize("containers", [[], None])
def test_replica_without_containers_is_rejected_with_both_texts(containers: object) -> None:
    given = with_specs(Worker=replica_spec(containers=containers))
    assert refusal(given) == f"[{NO_CONTAINERS}, {NO_TENSORFLOW}]"


@pytest.mark.scenario(10)
@pytest.mark.parametrize("image", [{"image": ""}, {"image": None}])
def test_container_without_an_image_is_rejected(image: dict[str, object]) -> None:
    given = with_specs(Worker=replica_spec(containers=[container(**image)]))
    assert refusal(given) == f"{CONTAINERS}[0].image: Required value: must be required"


def test_sidecar_without_an_image_is_rejected_by_its_own_place() -> None:
    given = with_specs(Worker=replica_spec(containers=[container(), {"name": "sidecar"}]))
    assert refusal(given) == f"{CONTAINERS}[1].image: Required value: must be required"


@pytest.mark.scenario(11)
@pytest.mark.parametrize("name", ["main", "Tensorflow", "", None])
def test_replica_without_a_tensorflow_container_is_rejected(name: str | None) -> None:
    given = with_specs(Worker=replica_spec(containers=[container(name=name)]))
    assert refusal(given) == NO_TENSORFLOW


@pytest.mark.scenario(12)
def test_chief_beside_master_is_rejected() -> None:
    assert refusal(manifest("C1 M1 W1")) == TWO_LEADERS


@pytest.mark.scenario(13)
@pytest.mark.parametrize("manager", ["other-job-controller", ""])
def test_unknown_manager_is_rejected_with_the_known_ones(manager: str) -> None:
    assert refusal(manifest(run_policy={"managedBy": manager})) == (
        f'spec.runPolicy.managedBy: Unsupported value: "{manager}": supported values: '
        '"kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"'
    )


@pytest.mark.scenario(14)
@pytest.mark.parametrize("spec", [{"tfReplicaSpecs": None}, {"tfReplicaSpecs": {}}, {}, None])
def test_job_without_replica_specs_is_rejected(spec: object) -> None:
    assert refusal(manifest() | {"spec": spec}) == NO_SPECS


@pytest.mark.scenario(17)
def test_chief_beside_master_is_rejected_in_any_case() -> None:
    assert refusal(with_specs("CHIEF", "master")) == TWO_LEADERS


@pytest.mark.scenario(17)
def test_null_replica_is_rejected() -> None:
    assert refusal(with_specs(Worker=None)) == f"[{NO_CONTAINERS}, {NO_TENSORFLOW}]"


@pytest.mark.scenario(17)
@pytest.mark.parametrize("keys", [("Worker", "worker"), ("worker", "Worker")])
def test_twins_that_differ_in_case_are_rejected(keys: tuple[str, str]) -> None:
    assert refusal(with_specs(*keys)) == 'spec.tfReplicaSpecs: Duplicate value: "worker"'


@pytest.mark.scenario(17)
@pytest.mark.parametrize("key", ["Foo", "Launcher", "", "Workers", "Wor\u212aer"])
def test_unknown_type_is_rejected_with_the_known_ones(key: str) -> None:
    text = f'spec.tfReplicaSpecs: Unsupported value: "{key}": supported values: {TYPES}'
    assert refusal(with_specs(key)) == text


@pytest.mark.scenario(18)
@pytest.mark.parametrize(
    ("roles", "limit"),
    [("E1", 51), ("P1", 58), ("W1", 54), ("W11", 53), ("W101 P1", 52), ("C1 P1000", 55)],
)
def test_name_too_long_for_its_children_is_rejected_with_the_limit(roles: str, limit: int) -> None:
    name = "a" * 60
    text = f'metadata.name: Invalid value: "{name}": must be no more than {limit} {DERIVED}'
    assert refusal(manifest(roles, name=name)) == text
    assert refusal(manifest(roles, name="a" * (limit + 1))) != ""
    assert refusal(manifest(roles, name="a" * limit)) == ""


def test_type_without_replicas_does_not_shorten_the_name() -> None:
    assert refusal(manifest("P1 E0", name="a" * 58)) == ""


def test_name_beyond_all_limits_is_rejected_once() -> None:
    assert "derived" not in refusal(manifest(name="a" * 64))


def test_job_needs_a_name_or_the_beginning_of_one() -> None:
    given = manifest() | {"metadata": {}}
    assert refusal(given) == "metadata.name: Required value: name or generateName is required"


@pytest.mark.parametrize("prefix", ["tfjob", "tfjob-", "a" * 49])
def test_generated_name_is_judged_by_its_beginning(prefix: str) -> None:
    assert refusal(manifest() | {"metadata": {"generateName": prefix}}) == ""


def test_beginning_of_a_name_that_no_ending_can_save_is_rejected() -> None:
    given = manifest() | {"metadata": {"generateName": "0-"}}
    text = f'metadata.generateName: Invalid value: "0-": should match: {DNS_1035}'
    assert refusal(given) == text


@pytest.mark.parametrize("length", [50, 58, 63, 250])
def test_generate_name_leaves_space_for_the_generated_suffix(length: int) -> None:
    prefix = "a" * length
    shown = prefix if length < 198 else "a" * 197 + "…"
    rule = f"must be no more than 49 {DERIVED}"
    given = manifest() | {"metadata": {"generateName": prefix}}
    assert refusal(given) == f'metadata.generateName: Invalid value: "{shown}": {rule}'


@pytest.mark.parametrize("kind", ["Chief", "Master", "chief"])
def test_second_leader_is_rejected(kind: str) -> None:
    path = f"spec.tfReplicaSpecs[{kind}].replicas"
    rule = f"{path} in body should be less than or equal to 1"
    assert refusal(with_specs(**{kind: replica_spec(2)})) == f"{path}: Invalid value: 2: {rule}"


def test_replicas_are_bounded_per_type_and_in_total() -> None:
    path = "spec.tfReplicaSpecs[Worker].replicas"
    rule = f"{path} in body should be less than or equal to 5000"
    assert refusal(manifest("W5000", enableDynamicWorker=True)) == ""
    assert refusal(manifest("W1000000000")) == f"{path}: Invalid value: 1000000000: {rule}"
    total = "spec.tfReplicaSpecs: Invalid value: 5001: must be no more than 5000 replicas in total"
    assert refusal(manifest("W5000 P1")) == total


def test_all_faults_are_reported_together_in_the_order_of_the_checks() -> None:
    given = manifest("C1 M1", name="0", run_policy={"managedBy": "x"})
    given["spec"]["tfReplicaSpecs"]["Foo"] = replica_spec(containers=[])
    given["spec"]["tfReplicaSpecs"]["Worker"] = replica_spec(containers=[container(image="")])
    assert [fault.path for fault in KubeflowV1().validate(given)] == [
        "metadata.name",
        "spec.runPolicy.managedBy",
        f"{CONTAINERS}[0].image",
        "spec.tfReplicaSpecs",
        "spec.tfReplicaSpecs",
    ]


@pytest.mark.scenario(19)
@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ({}, NO_SPECS),
        (
            {"tfReplicaSpecs": {"Worker": {"template": {"spec": {}}}}},
            f"[{NO_CONTAINERS}, {NO_TENSORFLOW}]",
        ),
    ],
)
def test_stored_job_with_a_broken_spec_fails_with_its_faults(
    spec: dict[str, object], detail: str
) -> None:
    plan = reject(rejected(manifest() | {"spec": spec}), now=NOW)
    message = f"Failed to marshal the object to TFJob; the spec is invalid: {detail}"
    assert plan.status is not None
    assert not plan.creates
    assert [(each.type, each.status) for each in plan.status.conditions] == [("Failed", "True")]
    (condition,) = plan.status.conditions
    assert (condition.reason, condition.message) == ("InvalidTFJobSpec", message)
    assert plan.status.completion_time == NOW
    (event,) = plan.events
    assert (str(event.type), event.reason, event.message) == (
        "Warning",
        "InvalidTFJobSpec",
        message,
    )
