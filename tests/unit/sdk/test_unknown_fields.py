"""Fields that an API server would drop are reported, with a suggestion."""

from typing import Any

import pytest

from tests.support import seeds
from tests.support.tfjobs import container, of_types, replica, tfjob
from tfjob.dialects.base import Dialect
from tfjob.dialects.registry import DIALECTS, dialect_for
from tfjob.sdk.unknown_fields import unknown_fields

TFJOBS = [each for each in DIALECTS if each.kind == "TFJob"]
NUMBER_AS_KEY: dict[Any, Any] = {**tfjob(), 5: 1}


def found_in(manifest: Any) -> dict[str, str]:
    faults = unknown_fields(manifest, DIALECTS[0])
    assert {fault.detail for fault in faults} <= {"unknown field"}
    return {fault.path: fault.remedy for fault in faults}


@pytest.mark.parametrize("dialect", TFJOBS, ids=lambda each: each.version)
def test_job_of_known_fields_has_none(dialect: Dialect) -> None:
    job = tfjob("C1 W2", run_policy={"schedulingPolicy": {"minResources": {"cpu": 1}}})
    job["metadata"] = {"name": "j", "labels": {"any": "x"}, "annotations": {"a.b/c": "d"}}
    assert unknown_fields({**job, "status": {"conditions": []}}, dialect) == []


@pytest.mark.parametrize("name", seeds.JOBS)
def test_published_job_of_known_fields_has_none(name: str) -> None:
    job = seeds.published(name)
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    assert unknown_fields(job, dialect) == []


def test_unknown_fields_of_pod_templates_are_no_faults() -> None:
    job = of_types(Worker=replica(containers=[container(newField=1)], newToo=[{"a": 1}]))
    assert found_in(job) == {}


@pytest.mark.parametrize(
    ("manifest", "path", "remedy"),
    [
        (
            tfjob(cleanPodPolicyy="All"),
            "spec.cleanPodPolicyy",
            "did you mean spec.cleanPodPolicy?",
        ),
        (
            tfjob(run_policy={"backofLimit": 1}),
            "spec.runPolicy.backofLimit",
            "did you mean spec.runPolicy.backoffLimit?",
        ),
        (
            of_types(Worker={**replica(), "restartpolicy": "Never"}),
            "spec.tfReplicaSpecs[Worker].restartpolicy",
            "did you mean spec.tfReplicaSpecs[…].restartPolicy?",
        ),
        (
            of_types(Worker={**replica(), "activeDeadlineSeconds": 5}),
            "spec.tfReplicaSpecs[Worker].activeDeadlineSeconds",
            "did you mean spec.runPolicy.activeDeadlineSeconds?",
        ),
        (tfjob(suspend=True), "spec.suspend", "did you mean spec.runPolicy.suspend?"),
        (
            {**tfjob(), "runPolicy": {}},
            "runPolicy",
            "did you mean spec.runPolicy?",
        ),
        ({**tfjob(), "sepc": {}}, "sepc", "did you mean spec?"),
        (
            {**tfjob(), "metadata": {"name": "j", "lables": {}}},
            "metadata.lables",
            "did you mean metadata.labels?",
        ),
        (tfjob(zebra=1), "spec.zebra", "remove it: the API server prunes it"),
        (NUMBER_AS_KEY, "5", "remove it: the API server prunes it"),
    ],
)
def test_unknown_field_is_named_with_a_guess(manifest: Any, path: str, remedy: str) -> None:
    assert found_in(manifest) == {path: remedy}


@pytest.mark.parametrize("spec", [None, [], 5, {"tfReplicaSpecs": [1]}, {"tfReplicaSpecs": None}])
def test_field_of_the_wrong_type_is_left_to_others(spec: Any) -> None:
    assert found_in({**tfjob(), "spec": spec}) == {}
