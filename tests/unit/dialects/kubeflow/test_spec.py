"""The spec: older fields, defaults and bounds."""

from typing import Any

import pytest

from tests.support.builders import manifest, replica_spec
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.kubeflow.spec import Spec, is_external, read_spec
from tfjob.k8s.field import summary

NUMBERS = {
    "ttlSecondsAfterFinished": "ttl",
    "activeDeadlineSeconds": "deadline",
    "backoffLimit": "backoff_limit",
}


def read(given: Any) -> tuple[Spec, str]:
    reader = Reader()
    found = read_spec(reader, given, is_stored=False)
    return found, summary(reader.faults)


def spec_of(**fields: Any) -> Spec:
    found, faults = read(manifest("W1", **fields))
    assert faults == ""
    return found


def faults_of(**fields: Any) -> str:
    return read(manifest("W1", **fields))[1]


def test_absent_policies_say_nothing() -> None:
    found = spec_of()
    assert (found.clean_policy, found.ttl, found.deadline, found.backoff_limit) == (None,) * 4
    assert not (found.is_suspended)
    assert not (found.is_dynamic)
    assert not (found.succeeds_with_all_workers)


def test_types_come_in_the_order_in_which_children_are_created() -> None:
    kinds = ["Evaluator", "Worker", "PS", "Chief"]
    given = manifest(tfReplicaSpecs={kind: replica_spec() for kind in kinds})
    found, _ = read(given)
    assert [each.type for each in found.replicas] == ["Chief", "PS", "Worker", "Evaluator"]


@pytest.mark.parametrize("name", [123, True, ["j"], {"a": "b"}])
def test_name_of_the_wrong_type_is_one_fault_and_not_also_missing(name: object) -> None:
    _, faults = read({**manifest("W1"), "metadata": {"name": name}})
    assert faults.startswith("metadata.name: Invalid value: ")
    assert "is required" not in faults


@pytest.mark.parametrize("count", [0, 1, 5_000])
def test_number_of_replicas_is_taken_as_it_is(count: int) -> None:
    found, faults = read(manifest(f"W{count}"))
    assert (found.replicas[0].count, faults) == (count, "")


@pytest.mark.parametrize(("key", "field"), NUMBERS.items())
def test_number_is_read_in_its_place_and_in_the_older_one(key: str, field: str) -> None:
    assert getattr(spec_of(run_policy={key: 7}), field) == 7
    assert getattr(spec_of(**{key: 7}), field) == 7
    assert getattr(spec_of(run_policy={key: 0}, **{key: 7}), field) == 0
    assert getattr(spec_of(run_policy={key: None}, **{key: 7}), field) == 7


@pytest.mark.scenario(137)
def test_run_policy_wins_over_the_older_place_of_the_clean_policy() -> None:
    assert spec_of(cleanPodPolicy="None").clean_policy == "None"
    both = spec_of(cleanPodPolicy="None", run_policy={"cleanPodPolicy": "All"})
    assert both.clean_policy == "All"


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", [-1, "1", True, 1.5, [], {}])
def test_bad_number_is_rejected_in_both_places(key: str, value: object) -> None:
    assert faults_of(run_policy={key: value}).startswith(f"spec.runPolicy.{key}: Invalid value: ")
    assert faults_of(**{key: value}).startswith(f"spec.{key}: Invalid value: ")
    assert faults_of(run_policy={key: 1}, **{key: value}).startswith(f"spec.{key}: ")


def test_deadline_alone_may_be_wide() -> None:
    wide = 2**40
    assert spec_of(run_policy={"activeDeadlineSeconds": wide}).deadline == wide
    for key in ("ttlSecondsAfterFinished", "backoffLimit"):
        assert faults_of(run_policy={key: wide}) == (
            f"spec.runPolicy.{key}: Invalid value: {wide}: spec.runPolicy.{key} in body should be"
            " less than or equal to 2147483647"
        )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"run_policy": {"cleanPodPolicy": "Some"}},
            (
                'spec.runPolicy.cleanPodPolicy: Unsupported value: "Some": supported values: '
                '"", "All", "None", "Running"'
            ),
        ),
        (
            {"cleanPodPolicy": "Some", "run_policy": {"cleanPodPolicy": "All"}},
            (
                'spec.cleanPodPolicy: Unsupported value: "Some": supported values: '
                '"", "All", "None", "Running"'
            ),
        ),
        (
            {"successPolicy": "Any"},
            'spec.successPolicy: Unsupported value: "Any": supported values: "", "AllWorkers"',
        ),
        (
            {"restart": "Sometimes"},
            (
                'spec.tfReplicaSpecs[Worker].restartPolicy: Unsupported value: "Sometimes": '
                'supported values: "", "Always", "ExitCode", "Never", "OnFailure"'
            ),
        ),
        (
            {"run_policy": {"suspend": "yes"}},
            (
                'spec.runPolicy.suspend: Invalid value: "yes": spec.runPolicy.suspend in body must '
                'be of type boolean: "string"'
            ),
        ),
        (
            {"enableDynamicWorker": 1},
            (
                "spec.enableDynamicWorker: Invalid value: 1: spec.enableDynamicWorker in body must "
                'be of type boolean: "integer"'
            ),
        ),
        (
            {"run_policy": {"schedulingPolicy": {"minResources": {"cpu": "lots"}}}},
            (
                'spec.runPolicy.schedulingPolicy.minResources.cpu: Invalid value: "lots": '
                "spec.runPolicy.schedulingPolicy.minResources.cpu in body should match "
                r"'^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$'"
            ),
        ),
    ],
)
def test_value_outside_its_kind_is_rejected(fields: dict[str, Any], text: str) -> None:
    assert faults_of(**fields) == text


@pytest.mark.parametrize("key", ["minAvailable", "scheduleTimeoutSeconds"])
@pytest.mark.parametrize("value", [-1, "1", 2**31])
def test_bad_number_of_the_scheduling_policy_is_rejected(key: str, value: object) -> None:
    path = f"spec.runPolicy.schedulingPolicy.{key}"
    assert faults_of(run_policy={"schedulingPolicy": {key: value}}).startswith(f"{path}: Invalid")


@pytest.mark.parametrize("key", ["queue", "priorityClass"])
def test_bad_text_of_the_scheduling_policy_is_rejected(key: str) -> None:
    path = f"spec.runPolicy.schedulingPolicy.{key}"
    assert faults_of(run_policy={"schedulingPolicy": {key: 1}}).startswith(f"{path}: Invalid")


@pytest.mark.parametrize(("policy", "expected"), [("AllWorkers", True), ("", False), (None, False)])
def test_success_policy(policy: str | None, expected: bool) -> None:
    assert spec_of(successPolicy=policy).succeeds_with_all_workers is expected


@pytest.mark.scenario(117)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"suspend": None}, False),
        ({"suspend": False}, False),
        ({"suspend": True}, True),
        (None, False),
        ({}, False),
    ],
)
def test_only_suspend_true_suspends(policy: dict[str, Any] | None, expected: bool) -> None:
    assert spec_of(run_policy=policy).is_suspended is expected


@pytest.mark.scenario(119)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, False),
        ({}, False),
        ({"managedBy": None}, False),
        ({"managedBy": "kubeflow.org/training-operator"}, False),
        ({"managedBy": ""}, True),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, True),
        ({"managedBy": "anyone"}, True),
    ],
)
def test_jobs_of_other_managers_are_external(policy: dict[str, Any] | None, expected: bool) -> None:
    assert is_external(manifest(run_policy=policy)) is expected


@pytest.mark.parametrize("spec", [None, [], "x", {"runPolicy": []}, {"runPolicy": "x"}])
def test_job_that_cannot_be_read_is_ours_to_reject(spec: object) -> None:
    assert is_external(manifest() | {"spec": spec}) is False
    assert read(manifest() | {"spec": spec})[1] != ""
