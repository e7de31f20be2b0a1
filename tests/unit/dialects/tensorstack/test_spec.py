"""Reading the spec: defaults, older spellings, faults with path and hint."""

from typing import Any

import pytest
import yaml

from tests.unit.dialects.tensorstack.jobs import DIALECT, Json, decoded, replica, training_job
from tests.unit.dialects.tensorstack.verdicts import of, policy
from tfjob.core.job import CleanPolicy, RestartPolicy, SuccessCriterion

PUBLISHED = """
apiVersion: batch.tensorstack.dev/v1beta1
kind: TensorFlowTrainingJob
metadata:
  name: tensorflow-example
spec:
  replicaSpecs:
  - replicas: 4
    restartPolicy: OnFailure
    template:
      spec:
        containers:
        - command:
          - python
          - dist_mnist.py
          image: tensorflow/tensorflow:2.11.0
          name: tensorflow
          resources:
            limits:
              cpu: 1
              memory: 2Gi
            requests:
              cpu: 500m
              memory: 1Gi
    type: worker
"""


def test_published_example_is_accepted_unchanged() -> None:
    given = yaml.safe_load(PUBLISHED)
    assert DIALECT.validate(given) == []
    (worker,) = decoded(given).replicas
    assert (worker.type, worker.count, worker.restart) == ("worker", 4, RestartPolicy.ON_FAILURE)


def test_defaults() -> None:
    job = decoded(of({"type": "worker", "template": replica()["template"]}))
    (worker,) = job.replicas
    assert (worker.count, worker.restart) == (1, RestartPolicy.NEVER)
    assert job.policy.clean is CleanPolicy.NONE
    assert job.policy.backoff_limit is None
    assert job.policy.deadline is None
    assert not job.policy.is_suspended


@pytest.mark.parametrize(
    ("roles", "success_criterion"),
    [
        ("C1 W2", SuccessCriterion(types=("chief",), index=0)),
        ("W2 P1 E1", SuccessCriterion(types=("worker",), index=0)),
        ("E1 W1 C1", SuccessCriterion(types=("chief",), index=0)),
    ],
)
def test_master_decides(roles: str, success_criterion: SuccessCriterion) -> None:
    job = decoded(training_job(roles))
    assert job.semantics.success_criterion == success_criterion
    assert job.labels.leaders == success_criterion


@pytest.mark.parametrize(
    ("fields", "clean"),
    [
        ({"cleanUpPolicy": "Unfinished"}, CleanPolicy.RUNNING),
        ({"cleanUpPolicy": "unfinished"}, CleanPolicy.RUNNING),
        ({"cleanUpPolicy": "ALL"}, CleanPolicy.ALL),
        ({"cleanPodPolicy": "All"}, CleanPolicy.ALL),
        ({"cleanUpPolicy": "None", "cleanPodPolicy": "All"}, CleanPolicy.NONE),
        ({"cleanUpPolicy": None, "cleanPodPolicy": "All"}, CleanPolicy.ALL),
    ],
)
def test_clean_up_in_all_its_spellings(fields: Json, clean: CleanPolicy) -> None:
    assert decoded(policy(**fields)).policy.clean is clean


def test_longest_deadline_is_still_a_date() -> None:
    job = decoded(policy(activeDeadlineSeconds=2**63 - 1))
    assert job.policy.deadline is not None
    assert job.policy.deadline.days > 36_000


def test_types_keep_the_order_of_the_spec() -> None:
    job = decoded(training_job("P1 W1 C1"))
    assert [each.type for each in job.replicas] == ["ps", "worker", "chief"]


def faults_of(job: Json) -> list[tuple[str, str]]:
    return [(fault.path, fault.text) for fault in DIALECT.validate(job)]


def test_second_entry_of_a_type_is_named() -> None:
    assert faults_of(of(replica(), replica())) == [
        ("spec.replicaSpecs[1].type", 'spec.replicaSpecs[1].type: Duplicate value: "worker"')
    ]


def test_type_in_capitals_is_helped() -> None:
    (fault,) = DIALECT.validate(of(replica("Worker")))
    assert fault.remedy == "did you mean worker?"


def test_missing_master_is_reported_beside_other_faults() -> None:
    paths = [path for path, _ in faults_of(training_job("P2", runPolicy={"backoffLimit": -1}))]
    assert sorted(paths) == ["spec.replicaSpecs", "spec.runPolicy.backoffLimit"]


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({}, "metadata.name"),
        ({"name": 3}, "metadata.name"),
        ({"name": "a" * 46}, "metadata.name"),
        ({"generateName": "a" * 41}, "metadata.generateName"),
        ({"generateName": "A-"}, "metadata.generateName"),
    ],
)
def test_bad_name_is_rejected_where_it_stands(metadata: Json, path: str) -> None:
    faults = DIALECT.validate({**training_job(), "metadata": metadata})
    assert {fault.path for fault in faults} == {path}


@pytest.mark.parametrize("metadata", [{"generateName": "a" * 40}, {"generateName": "train-"}])
def test_generated_name_is_accepted_if_it_will_fit(metadata: Json) -> None:
    assert DIALECT.validate({**training_job(), "metadata": metadata}) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("My_Job", "use a name such as my-job"),
        ("0-day", "use a name such as job-0-day"),
        ("___", "use lower-case letters, digits and '-'"),
    ],
)
def test_bad_name_is_helped(name: str, remedy: str) -> None:
    (fault,) = DIALECT.validate({**training_job(), "metadata": {"name": name}})
    assert fault.remedy == remedy


def test_unknown_fields_are_no_fault() -> None:
    job = training_job(elastic={"enabled": True}, runMode={"elastic": {}})
    assert DIALECT.validate(job) == []


@pytest.mark.parametrize("odd", [float("nan"), {1: "a"}], ids=repr)
def test_what_only_yaml_can_say_is_rejected(odd: Any) -> None:
    (fault,) = DIALECT.validate(training_job(odd=odd))
    assert fault.path == "spec.odd"


def test_name_of_children_follows_from_the_uid() -> None:
    given = training_job()
    given["metadata"] = {"name": "mnist", "uid": "d2719a2e-5c2c-4b2f-9d0f-4f5a0f0a7c11"}
    (worker,) = decoded(given).replicas
    prefix, _, rest = worker.name(0).partition("-")
    assert prefix == "mnist"
    assert len(rest.removesuffix("-worker-0")) == 5
    assert set(rest.removesuffix("-worker-0")) <= set("0123456789abcdef")
