"""Why a pod waits."""

import pytest

from tests.support.builders import NOW, a_job, a_pod, at
from tfjob.core.diagnosis import waiting
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.waiting import Wait
from tfjob.core.observe import Children, observe
from tfjob.k8s import time
from tfjob.k8s.pod import Pod, PodCondition


def waits_of(pod: Pod) -> list[Wait]:
    observed = observe(a_job("W1"), Children(pods=[pod]))
    return list(waiting.of_instance(observed.all_instances()[0], now=NOW))


def unscheduled(message: str, *, reason: str = "Unschedulable", seconds: float = -10) -> Pod:
    condition = PodCondition(
        type="PodScheduled",
        status="False",
        reason=reason,
        message=message,
        last_transition_time=time.render(at(seconds)),
    )
    return a_pod(phase="Pending", node="", conditions=[condition])


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", Cause.INSUFFICIENT_RESOURCES),
        ("0/3 nodes are available: 3 Too many pods.", Cause.INSUFFICIENT_RESOURCES),
        (
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
            Cause.NO_MATCHING_NODE,
        ),
        ("1 node(s) had untolerated taint {a: b}", Cause.NO_MATCHING_NODE),
        ("pod has unbound immediate PersistentVolumeClaims", Cause.VOLUME_NOT_BOUND),
        ('persistentvolumeclaim "data" not found', Cause.VOLUME_NOT_BOUND),
        ("waiting for resourceclaim x to be created", Cause.DEVICE_NOT_ALLOCATED),
        (
            "0/1 nodes are available: 1 request gpu: device class a.example does not exist.",
            Cause.DEVICE_NOT_ALLOCATED,
        ),
        (
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports",
            Cause.INSUFFICIENT_RESOURCES,
        ),
        ("pod group is not ready, 1 Pending, 3 minAvailable", Cause.GANG_INCOMPLETE),
        ("something new", Cause.UNSCHEDULABLE),
    ],
)
def test_the_scheduler_s_message_names_the_cause(message: str, cause: Cause) -> None:
    (found,) = waits_of(unscheduled(message))
    assert (found.cause, found.replica, found.detail) == (cause, "worker-0", message)
    assert found.due is None


def test_a_gate_is_named_at_once_and_a_full_cluster_after_a_moment() -> None:
    (gated,) = waits_of(unscheduled("gate", reason="SchedulingGated", seconds=-1))
    assert (gated.cause, gated.due) == (Cause.SCHEDULING_GATED, None)
    (full,) = waits_of(unscheduled("Insufficient cpu", seconds=-1))
    assert full.due == at(2)


def test_a_scheduler_whose_clock_is_ahead_is_believed_at_once() -> None:
    (found,) = waits_of(unscheduled("Insufficient cpu", seconds=3600))
    assert found.due is None


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("ErrImagePull", Cause.IMAGE_NOT_PULLED),
        ("ImagePullBackOff", Cause.IMAGE_NOT_PULLED),
        ("ErrImageNeverPull", Cause.IMAGE_NOT_PULLED),
        ("InvalidImageName", Cause.IMAGE_NOT_PULLED),
        ("RunContainerError", Cause.CONTAINER_NOT_CREATED),
    ],
)
def test_the_kubelet_s_reason_names_the_cause(reason: str, cause: Cause) -> None:
    (found,) = waits_of(a_pod(phase="Pending", waiting=(reason, "text")))
    assert (found.cause, found.reason, found.node) == (cause, reason, "node-1")


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("CreateContainerConfigError", 'secret "a" not found', Cause.CONFIG_MISSING),
        (
            "CreateContainerConfigError",
            "couldn't find key K in ConfigMap ns/params",
            Cause.CONFIG_MISSING,
        ),
        (
            "CreateContainerConfigError",
            "container has runAsNonRoot and image will run as root",
            Cause.CONTAINER_NOT_CREATED,
        ),
        (
            "RunContainerError",
            'exec: "a": executable file not found in $PATH',
            Cause.CONTAINER_NOT_STARTED,
        ),
        ("CreateContainerError", "no command specified", Cause.CONTAINER_NOT_STARTED),
        ("CreateContainerError", "context deadline exceeded", Cause.CONTAINER_NOT_CREATED),
    ],
)
def test_the_kubelet_s_message_tells_configuration_from_command(
    reason: str, message: str, cause: Cause
) -> None:
    (found,) = waits_of(a_pod(phase="Pending", waiting=(reason, message)))
    assert (found.cause, found.detail) == (cause, message)


def test_a_missing_claim_is_not_taken_for_a_missing_config_map() -> None:
    waiting = ("CreateContainerConfigError", 'volume "d": persistentvolumeclaim "data" not found')
    (found,) = waits_of(a_pod(phase="Pending", waiting=waiting))
    assert found.cause is Cause.VOLUME_NOT_BOUND


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"])
def test_a_pod_that_takes_its_time_has_no_cause(reason: str) -> None:
    assert waits_of(a_pod(phase="Pending", waiting=(reason, ""))) == []


def test_a_pod_that_does_not_go_is_named_after_five_minutes() -> None:
    assert waits_of(a_pod(deleted=-100)) == []
    (found,) = waits_of(a_pod(deleted=-400))
    assert found.cause is Cause.STUCK_TERMINATING
