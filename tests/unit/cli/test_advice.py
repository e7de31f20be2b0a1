"""Warnings about jobs that TensorFlow rejects or that hang."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import a_job
from tfjob.cli.advice import advice
from tfjob.dialects.base import Settings


def advised(roles: str, restart: str = "OnFailure", **fields: Any) -> list[str]:
    """The replica types that are warned about, in order."""
    return [each.partition(":")[0] for each in advice(a_job(roles, restart=restart, **fields))]


@pytest.mark.parametrize(
    ("roles", "restart", "warned"),
    [
        pytest.param("W1", "OnFailure", [], id="one-worker"),
        pytest.param("W4", "OnFailure", [], id="several-workers"),
        pytest.param("M1", "OnFailure", [], id="a-lone-master"),
        pytest.param("M1 W1", "OnFailure", ["Master"], id="a-distributed-master"),
        pytest.param("C1 P1 W1", "OnFailure", [], id="servers-with-a-chief"),
        pytest.param("P1 W1", "OnFailure", ["PS"], id="servers-without-a-chief"),
        pytest.param("M1 P1 W1", "OnFailure", ["Master"], id="servers-with-a-master"),
        pytest.param("C1 P1 W1", "Never", ["PS"], id="servers-that-never-restart"),
        pytest.param("P1 W1", "Never", ["PS", "PS"], id="both-about-servers"),
        pytest.param("P0 W2", "Never", [], id="no-servers-after-all"),
        pytest.param("W2", "ExitCode", ["Worker"], id="exit-codes-of-several-workers"),
        pytest.param("W1", "ExitCode", [], id="exit-code-of-one-worker"),
        pytest.param("C1 W1", "ExitCode", ["Worker"], id="exit-codes-of-chief-and-worker"),
        pytest.param("C1 P1 W4", "ExitCode", [], id="exit-codes-beside-servers"),
        pytest.param("C1", "ExitCode", [], id="no-workers"),
        pytest.param("C1 W0", "ExitCode", [], id="no-workers-after-all"),
    ],
)
def test_what_tensorflow_rejects_is_warned_about(
    roles: str, restart: str, warned: list[str]
) -> None:
    assert advised(roles, restart) == warned


def test_each_warning_says_what_happens_and_what_to_write_instead() -> None:
    (text,) = advice(a_job("M1 W1", restart="OnFailure"))
    assert text == (
        "Master: TensorFlow 2 strategies reject the task type `master` in a distributed job;"
        " name the replica type Chief"
    )
    assert advice(a_job("P1 W2", restart="Never")) == [
        (
            "PS: ParameterServerStrategy needs a coordinator and this job has none;"
            " add a Chief, or train with a strategy that needs no parameter servers"
        ),
        (
            "PS: with restartPolicy Never one lost parameter server fails the whole job;"
            " OnFailure or ExitCode restarts it"
        ),
    ]


@pytest.mark.parametrize(
    ("mode", "rest"),
    [
        (
            "Auto",
            (
                "; if they train together, the annotation tfjob.dev/recovery: Group restarts them"
                " as soon as one is lost"
            ),
        ),
        ("Replica", ", which ExitCode treats as a permanent failure; OnFailure restarts them all"),
    ],
)
def test_exit_codes_of_workers_that_may_train_together_are_warned_about(
    mode: str, rest: str
) -> None:
    (text,) = advice(a_job("W2", Settings(recovery=mode), restart="ExitCode"))
    assert text == (
        "Worker: when one of several workers is lost, MultiWorkerMirroredStrategy ends the others"
        f" with exit code 1{rest}"
    )


def test_group_restarts_are_not_recommended_to_a_job_that_has_them() -> None:
    assert advice(a_job("W2", Settings(recovery="Group"), restart="ExitCode")) == []


def test_job_without_any_replica_is_warned_about() -> None:
    assert advice(a_job("W0 P0", restart="OnFailure")) == [
        (
            "every replica type has 0 replicas, so nothing will ever run;"
            " set replicas of one type to 1 or more"
        )
    ]


@pytest.mark.parametrize(("given", "count"), [("OnFailure", 0), ("Never", 1), ("", 0), (None, 0)])
def test_ignored_policy_of_the_template_is_warned_about(given: str | None, count: int) -> None:
    job = a_job("W1", restart="OnFailure")
    spec = {"restartPolicy": given, "containers": [{"name": "tensorflow", "image": "i"}]}
    replica = msgspec.structs.replace(job.replicas[0], template={"spec": spec})
    assert advice(msgspec.structs.replace(job, replicas=[replica])) == count * [
        (
            "Worker: template.spec.restartPolicy is Never and has no effect:"
            " the pods get OnFailure; set restartPolicy beside replicas instead"
        )
    ]


def test_request_for_the_gpus_of_old_clusters_is_warned_about() -> None:
    job = a_job("W1", restart="OnFailure")
    resources = {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}}
    template = {"spec": {"containers": [{"name": "tensorflow", "resources": resources}]}}
    replicas = [msgspec.structs.replace(each, template=template) for each in job.replicas]
    (warning,) = advice(msgspec.structs.replace(job, replicas=replicas))
    assert warning.startswith("Worker: template.spec.containers[0].resources.limits asks for")
    assert warning.endswith("the pods stay Pending; write nvidia.com/gpu")
