"""Why a TensorBoard does not run, in one line that changes only with the cause."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import a_job
from tfjob.core.companion_problem import companion_problem, pod_problem, pods_of_companions
from tfjob.core.job import Companion
from tfjob.core.observe import Children
from tfjob.k8s.child_types import CompanionObject, CompanionSpec, CompanionStatus
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)

LABELS = {"app": "tensorboard", "job": "j"}
BOARD = Companion(
    kind="Deployment", name="board", manifest={"spec": {"selector": {"matchLabels": LABELS}}}
)
ENDED = ContainerState(terminated=Terminated(exit_code=1, message="No such file\nmore"))


def waiting(reason: str, message: str = "") -> ContainerState:
    return ContainerState(waiting=Waiting(reason=reason, message=message))


def a_pod(
    state: ContainerState | None = None,
    *,
    last: ContainerState | None = None,
    conditions: tuple[PodCondition, ...] = (),
    created: str = "2026-01-02T03:00:00Z",
    deleted: str | None = None,
    owner: str | None = "replicaset",
) -> Pod:
    own = (
        ContainerStatus(name="tb", state=state, last_state=last or ContainerState())
        if state
        else None
    )
    owners = [OwnerReference(uid=owner, controller=True)] if owner else []
    return Pod(
        metadata=ObjectMeta(
            name="board-x",
            labels=LABELS,
            creation_timestamp=created,
            deletion_timestamp=deleted,
            owner_references=owners,
        ),
        status=PodStatus(conditions=conditions, container_statuses=[own] if own else []),
    )


def around(*pods: Pod, **fields: Any) -> Children:
    spec = CompanionSpec(replicas=fields.pop("replicas", 1))
    found = CompanionObject(
        metadata=ObjectMeta(name="board"), spec=spec, status=CompanionStatus(**fields)
    )
    return Children(companions={("Deployment", "board"): found}, companion_pods=pods)


UNSCHEDULED = PodCondition(
    type="PodScheduled", status="False", reason="Unschedulable", message="no node has the claim"
)


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        (a_pod(waiting("ImagePullBackOff", "a")), "the image of container tb cannot be pulled"),
        (a_pod(waiting("ErrImagePull", "b")), "the image of container tb cannot be pulled"),
        (
            a_pod(waiting("CreateContainerConfigError", "no secret")),
            "CreateContainerConfigError: no secret",
        ),
        (a_pod(ENDED), "container tb exited with code 1: No such file"),
        (
            a_pod(waiting("CrashLoopBackOff", "back-off 10s"), last=ENDED),
            "container tb exited with code 1: No such file",
        ),
        (a_pod(conditions=(UNSCHEDULED,)), "no node has the claim"),
        (a_pod(waiting("ContainerCreating")), ""),
        (a_pod(ContainerState(running=Running())), ""),
        (a_pod(), ""),
    ],
)
def test_reason_of_a_pod(pod: Pod, told: str) -> None:
    assert companion_problem(BOARD, around(pod)) == told


def test_only_the_newest_pod_that_stays_counts() -> None:
    old = a_pod(ENDED, created="2026-01-02T02:00:00Z")
    leaving = a_pod(ENDED, created="2026-01-02T04:00:00Z", deleted="2026-01-02T05:00:00Z")
    newest = a_pod(waiting("ErrImagePull"))
    assert pod_problem([old, leaving, newest]) == "the image of container tb cannot be pulled"


def test_refused_pods_are_reported_from_the_deployment() -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: q"}
    assert companion_problem(BOARD, around(conditions=[refused])) == "exceeded quota: q"
    assert companion_problem(BOARD, around(conditions=[{**refused, "status": "False"}])) == ""


@pytest.mark.parametrize("conditions", [None, "a", {}, [1, {"type": 1}]])
def test_conditions_of_any_shape_are_no_error(conditions: Any) -> None:
    assert companion_problem(BOARD, around(conditions=conditions)) == ""


@pytest.mark.parametrize("fields", [{"ready_replicas": 1}, {"replicas": 0}])
def test_companion_that_is_ready_or_scaled_to_zero_has_no_problem(fields: Any) -> None:
    assert companion_problem(BOARD, around(a_pod(ENDED), **fields)) == ""


def test_companion_that_does_not_exist_has_no_problem() -> None:
    assert companion_problem(BOARD, Children(companion_pods=[a_pod(ENDED)])) == ""


def test_long_text_is_cut() -> None:
    pod = a_pod(waiting("CreateContainerError", "x" * 1000))
    assert len(companion_problem(BOARD, around(pod))) == 300


def test_pods_of_other_owners_and_labels_are_not_the_companion_s() -> None:
    job = msgspec.structs.replace(a_job("W1"), companions=[BOARD])
    own = a_pod()
    others = [
        a_pod(owner=None),
        a_pod(owner=job.owner.uid),
        msgspec.structs.replace(own, metadata=ObjectMeta(name="b", labels={"app": "tensorboard"})),
    ]
    assert pods_of_companions(job, [*others, own]) == [own]
