"""Which jobs the API server accepts, and its messages for the others, without a webhook."""

from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.job_fixture import JobFixture
from tests.support.tfjobs import container, of_types, replica, tfjob

Json = dict[str, Any]


def worker_with(*containers: Json) -> Json:
    return of_types(Worker=replica(1, containers=list(containers)))


def without_specs(value: Any) -> Json:
    job = tfjob()
    job["spec"]["tfReplicaSpecs"] = value
    return job


def with_policy(**fields: Any) -> Json:
    return tfjob(run_policy=fields)


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "name begins with a digit": (
        tfjob(name="00test"),
        ["metadata.name: Invalid value", "should match: a DNS-1035 label must consist of"],
    ),
    "no containers": (
        worker_with(),
        ["Required value: must be specified", "must have at least one container with name"],
    ),
    "no image": (worker_with(container(image="")), ["containers[0].image", "must be required"]),
    "no container called tensorflow": (
        worker_with(container("other")),
        ["Required value: must have at least one container with name tensorflow"],
    ),
    "two leaders": (
        tfjob("C1 M1 W1"),
        ["spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"],
    ),
    "two leaders in other letters": (
        of_types(CHIEF=replica(), master=replica()),
        ["must not have more than 1 Chief or Master role"],
    ),
    "unknown manager": (
        with_policy(managedBy="other-job-controller"),
        ["spec.runPolicy.managedBy: Unsupported value", '"kubeflow.org/training-operator"'],
    ),
    "no manager's name": (with_policy(managedBy=""), ["spec.runPolicy.managedBy"]),
    "null specs": (without_specs(None), ["spec.tfReplicaSpecs: Required value"]),
    "no specs": (without_specs({}), ["spec.tfReplicaSpecs: Required value: must be required"]),
    "null replica": (of_types(Worker=None), ["must be specified"]),
    "twins": (of_types(Worker=replica(), worker=replica()), ['Duplicate value: "']),
    "unknown type": (
        of_types(Foo=replica()),
        ['Unsupported value: "Foo": supported values: "Chief", "Evaluator", "Master", "PS"'],
    ),
    "name too long for its children": (
        tfjob("E1", name="a" * 60),
        ["because pod and service names are derived from it"],
    ),
    "two chiefs": (tfjob("C2"), ["spec.tfReplicaSpecs"]),
    "negative replicas": (of_types(Worker=replica(-1)), ["replicas: Invalid value: -1"]),
    "unknown restart policy": (tfjob(restart="Sometimes"), ['Unsupported value: "Sometimes"']),
    "unknown clean-up": (with_policy(cleanPodPolicy="Unfinished"), ["cleanPodPolicy"]),
    "negative limit": (with_policy(backoffLimit=-1), ["backoffLimit"]),
    "unknown success policy": (tfjob(successPolicy="Any"), ["spec.successPolicy"]),
    "replicas as text": (of_types(Worker={**replica(), "replicas": "2"}), ["replicas"]),
}


@pytest.mark.scenario(8, 9, 10, 11, 12, 13, 14, 17, 18, "R25")
@pytest.mark.parametrize("why", REFUSED)
async def test_bad_job_is_rejected_in_the_words_of_the_contract(
    fixture: JobFixture, why: str
) -> None:
    job, texts = REFUSED[why]
    refusal = await fixture.refused(job)
    for text in texts:
        assert text in refusal


@pytest.mark.scenario(7)
@pytest.mark.parametrize(
    "job",
    [
        with_policy(managedBy="kubeflow.org/training-operator"),
        with_policy(managedBy="kueue.x-k8s.io/multikueue", suspend=True),
        with_policy(cleanPodPolicy="", ttlSecondsAfterFinished=0, activeDeadlineSeconds=0),
        tfjob("C1 P2 W4 E1", successPolicy="", restart="ExitCode"),
        tfjob("W0"),
        tfjob("W1", cleanPodPolicy="None", ttlSecondsAfterFinished=5),
    ],
)
async def test_good_job_is_taken(fixture: JobFixture, job: Json) -> None:
    made = await fixture.create(job)
    assert made["spec"]["tfReplicaSpecs"] == job["spec"]["tfReplicaSpecs"]


@pytest.mark.scenario(15)
@pytest.mark.parametrize(("before", "after"), [(None, "training-operator"), ("multikueue", None)])
async def test_manager_can_be_neither_set_nor_unset_later(
    fixture: JobFixture, before: str | None, after: str | None
) -> None:
    names = {
        "training-operator": "kubeflow.org/training-operator",
        "multikueue": "kueue.x-k8s.io/multikueue",
    }
    policy = {"suspend": True, **({"managedBy": names[before]} if before else {})}
    await fixture.submit(run_policy=policy)
    change = {"runPolicy": {"managedBy": names[after] if after else None}}
    with pytest.raises(ApiError, match=r"runPolicy\.managedBy: Invalid value.*field is immutable"):
        await fixture.patch(change)


@pytest.mark.scenario(16)
async def test_queue_can_be_set_once(fixture: JobFixture) -> None:
    await fixture.submit(run_policy={"suspend": True})
    await fixture.patch({"runPolicy": {"schedulingPolicy": {"queue": "a"}}})
    text = r"spec\.runPolicy\.schedulingPolicy\.queue is immutable"
    with pytest.raises(ApiError, match=text):
        await fixture.patch({"runPolicy": {"schedulingPolicy": {"queue": "b"}}})


@pytest.mark.scenario("R42")
async def test_jobs_are_accepted_while_the_operator_is_down(fixture: JobFixture) -> None:
    fixture.env.operator.kill()
    await fixture.submit("W1")
    assert "Required value" in await fixture.refused(without_specs({}))
    await fixture.patch({"runPolicy": {"suspend": True}})
    fixture.env.operator.start()
    await fixture.reaches("Created", "Suspended")


async def test_pod_fields_that_nobody_declared_reach_the_pod(fixture: JobFixture) -> None:
    own = replica(1, hostname="h", tolerations=[{"key": "gpu", "operator": "Exists"}])
    await fixture.create(of_types(Worker=own))
    pod = await fixture.kubelet.appears("j-worker-0")
    assert pod["spec"]["hostname"] == "h"
    assert {"key": "gpu", "operator": "Exists"} in pod["spec"]["tolerations"]
