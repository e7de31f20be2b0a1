"""Decoding a TFJob: success criterion, exit codes, labels and owner."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.builders import OWNER, a_job, decoded, manifest, rejected
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import RestartPolicy, SuccessCriterion
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.job import decode, validate

WORKER_0 = SuccessCriterion(types=("Worker",), index=0)


@pytest.mark.parametrize(
    ("roles", "success_criterion"),
    [
        ("C1 P1 W2 E1", SuccessCriterion(types=("Chief",))),
        ("M1 W2", SuccessCriterion(types=("Master",))),
        ("P1 W2 E1", WORKER_0),
        ("C0 W2", WORKER_0),
        ("P2 E1", SuccessCriterion(types=("PS", "Evaluator"))),
        ("W0 P1", SuccessCriterion(types=("PS",))),
        ("W0", SuccessCriterion(types=())),
    ],
)
def test_deciding_type(roles: str, success_criterion: SuccessCriterion) -> None:
    assert a_job(roles).semantics.success_criterion == success_criterion


def test_all_workers_decide_under_their_policy_unless_there_is_a_chief() -> None:
    assert a_job("W2", successPolicy="AllWorkers").semantics.success_criterion == SuccessCriterion(
        types=("Worker",)
    )
    chief = a_job("C1 W2", successPolicy="AllWorkers")
    assert chief.semantics.success_criterion == SuccessCriterion(types=("Chief",))


@pytest.mark.parametrize(
    ("table", "retried", "permanent"),
    [
        ("default", [129, 130, 134, 137, 138, 143, 255, None], [1, 2, 3, 125, 126, 127, 128, 139]),
        ("v1.9", [128, 130, 139, 255, None], [1, 2, 127]),
        ("classic", [130, 137, 138, 143], [1, 128, 134, 139, 255, None]),
    ],
)
def test_exit_codes_are_judged_by_the_chosen_table(
    table: str, retried: list[int | None], permanent: list[int | None]
) -> None:
    codes = a_job(settings=Settings(exit_code_table=table)).semantics.exit_codes
    assert [code for code in retried if not codes.is_retryable(code)] == []
    assert [code for code in permanent if codes.is_retryable(code)] == []


def test_only_dynamic_workers_may_fail() -> None:
    given = manifest("P1 W2", enableDynamicWorker=True)
    tolerant = {each.type: each.tolerates_failure for each in decoded(given).replicas}
    assert tolerant == {"PS": False, "Worker": True}
    assert not any(each.tolerates_failure for each in a_job("P1 W2").replicas)


def test_owner_is_v1_whatever_was_written() -> None:
    given = manifest() | {"apiVersion": "kubeflow.org/v1beta1"}
    assert decoded(given).owner.reference() == OWNER


def test_job_without_a_namespace_is_in_the_default_one() -> None:
    given = manifest() | {"metadata": {"name": "j"}}
    assert decoded(given).namespace == "default"


def test_run_policy_becomes_times() -> None:
    policy = {"ttlSecondsAfterFinished": 5, "activeDeadlineSeconds": 0, "backoffLimit": 2}
    found = a_job(run_policy=policy).policy
    assert (found.ttl, found.deadline) == (timedelta(seconds=5), timedelta(0))
    assert found.backoff_limit == 2


def test_endless_deadline_is_still_a_time() -> None:
    found = a_job(run_policy={"activeDeadlineSeconds": 2**63 - 1}).policy.deadline
    assert found is not None
    assert found > timedelta(days=36_000)


def test_restart_policy_reaches_replica_and_pod() -> None:
    (replica,) = a_job(restart="ExitCode").replicas
    assert (replica.restart, replica.pod_restart_policy) == (RestartPolicy.EXIT_CODE, "Never")


def test_selector_of_a_type_is_in_its_status() -> None:
    (replica,) = a_job("P2").replicas
    assert replica.status_selector == (
        "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=tfjob-controller,"
        "training.kubeflow.org/replica-type=ps"
    )


def test_children_are_claimed_by_operator_and_job() -> None:
    assert a_job(name="a").child_labels == {
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/job-name": "a",
    }


def test_job_on_its_way_out_is_known_as_such() -> None:
    given = manifest()
    given["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert decoded(given).is_deleting
    assert rejected(given | {"spec": {}}).is_deleting
    assert not decoded(manifest()).is_deleting


def test_invalid_job_of_another_manager_stays_its_own() -> None:
    given = manifest("C2", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert rejected(given).is_external


def test_invalid_job_keeps_name_and_stored_status() -> None:
    stored = {"conditions": [{"type": "Created", "status": "True"}]}
    found = rejected(manifest("C2", status=stored))
    assert found.owner.name == "j"
    assert [each.type for each in found.status.conditions] == ["Created"]


@pytest.mark.parametrize("given", [None, [], "x", 7, {}, {"metadata": 1, "spec": 2, "status": 3}])
def test_what_is_no_job_is_a_fault(given: Any) -> None:
    assert validate(given) != []
    assert isinstance(decode(given, Settings()), InvalidJob)


def test_annotations_that_are_no_texts_are_left_out() -> None:
    given = manifest()
    given["metadata"]["annotations"] = {"a": "b", "c": 1}
    assert decoded(given).annotations == {"a": "b"}
