"""Causes that only events of a pod show, and when the events are read."""

import msgspec
import pytest

from tests.support.builders import NOW, a_job, a_pod, at, container, decoded, manifest, replica_spec
from tfjob.core.diagnosis import failures, pod_events, waiting
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.failures import Failure
from tfjob.core.diagnosis.waiting import Wait
from tfjob.core.job import Job
from tfjob.core.observe import Children, observe
from tfjob.k8s import time
from tfjob.k8s.event import InvolvedObject, PodEvent
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, PodCondition, Terminated

_SCHEDULED = "PodScheduled"
_PREPARED = "PodReadyToStartContainers"


def event(
    reason: str, message: str = "text", *, seconds: float = -1, count: int = 2, uid: str = ""
) -> PodEvent:
    return PodEvent(
        metadata=ObjectMeta(name="e", namespace="ns"),
        involved_object=InvolvedObject(kind="Pod", uid=uid or "uid-j-worker-0"),
        reason=reason,
        message=message,
        count=count,
        last_timestamp=time.render(at(seconds)),
    )


def condition(kind: str, *, holds: bool = True, seconds: float = -10) -> PodCondition:
    moment = time.render(at(seconds))
    return PodCondition(type=kind, status=str(holds), last_transition_time=moment)


def starting(*conditions: PodCondition, seconds: float = -10) -> Pod:
    scheduled = condition(_SCHEDULED, seconds=seconds)
    return a_pod(
        phase="Pending",
        waiting=("ContainerCreating", ""),
        conditions=[scheduled, *conditions],
    )


def waits_of(pod: Pod, *events: PodEvent) -> list[Wait]:
    observed = observe(a_job("W1"), Children(pods=[pod]))
    return list(waiting.of_instance(observed.all_instances()[0], now=NOW, events=events))


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("FailedMount", Cause.MOUNT_FAILED),
        ("FailedAttachVolume", Cause.MOUNT_FAILED),
        ("FailedCreatePodSandBox", Cause.SANDBOX_FAILED),
    ],
)
def test_an_event_tells_why_a_pod_does_not_start(reason: str, cause: Cause) -> None:
    (found,) = waits_of(starting(), event(reason, "no volume"))
    assert (found.cause, found.detail, found.reason) == (cause, "no volume", reason)


def test_an_event_of_another_pod_says_nothing() -> None:
    assert waits_of(starting(), event("FailedMount", uid="other")) == []


def test_a_mount_that_failed_once_says_nothing() -> None:
    """A kubelet that does not know the pod's ConfigMaps yet reports so, and tries again."""
    assert waits_of(starting(), event("FailedMount", count=1)) == []
    assert waits_of(starting(), event("FailedAttachVolume", count=1)) != []


@pytest.mark.parametrize("later", ["Pulling", "Pulled", "Created", "Started"])
def test_a_pod_that_got_past_it_merely_takes_its_time(later: str) -> None:
    events = [event("FailedMount", seconds=-8), event(later, seconds=-2)]
    assert waits_of(starting(), *events) == []


def test_a_pod_with_a_sandbox_merely_takes_its_time() -> None:
    assert waits_of(starting(condition(_PREPARED)), event("FailedMount")) == []


def test_the_latest_event_counts() -> None:
    events = [event("FailedCreatePodSandBox", seconds=-2), event("FailedMount", seconds=-8)]
    (found,) = waits_of(starting(), *events)
    assert found.cause is Cause.SANDBOX_FAILED


def test_of_many_events_those_that_tell_something_are_left_the_newest_first() -> None:
    killed = event("Killing", "Container c failed liveness probe, will be restarted", seconds=-40)
    unhealthy = event("Unhealthy", "Liveness probe failed: 500", seconds=-41)
    mount = event("FailedMount", seconds=-90)
    noise = [
        event("Unhealthy", "Readiness probe failed: 500"),
        event("Killing", "Stopping container c"),
        event("BackOff"),
        event("Scheduled"),
    ]
    past = [event(reason, seconds=-at) for at, reason in enumerate(["Started", "Created"], 50)]
    assert pod_events.relevant([*noise, mount, *past, unhealthy, killed]) == [
        killed,
        unhealthy,
        past[0],
        mount,
    ]


def period_of(pod: Pod, job: Job | None = None) -> str:
    """The period in which the pod's events are due now; empty if they are not."""
    found = pod_events.due_lookup(job or a_job("W1"), [pod], now=NOW)
    return "" if found is None else found.period


def test_events_are_read_after_three_seconds_and_then_less_and_less_often() -> None:
    assert period_of(starting(seconds=-2)) == ""
    ages = (3, 5, 6, 11, 12, 23, 24, 383, 384, 767, 768)
    found = [period_of(starting(seconds=-age)) for age in ages]
    assert found[0] == found[1] != found[2] == found[3] != found[4] == found[5] != found[6]
    assert found[8] == found[9] != found[10]


@pytest.mark.parametrize("age", [-60, -1, 0, 1, 3, 5, 6, 100, 383, 384, 10_000, 10**9])
def test_the_next_lookup_is_in_the_next_period(age: float) -> None:
    pod = starting(seconds=-age)
    due = pod_events.next_lookup_at([pod], now=NOW)
    assert due is not None
    assert due > NOW
    before = pod_events.due_lookup(a_job("W1"), [pod], now=NOW)
    then = pod_events.due_lookup(a_job("W1"), [pod], now=due)
    assert then is not None
    assert before is None or before.period != then.period


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(),
        a_pod(phase="Failed", exit_code=1),
        a_pod(phase="Pending", node=""),
        a_pod(phase="Pending", waiting=("ImagePullBackOff", "")),
        starting(condition(_PREPARED)),
    ],
)
def test_events_are_not_read_if_the_status_of_the_pod_is_enough(pod: Pod) -> None:
    assert period_of(pod) == ""
    assert pod_events.next_lookup_at([pod], now=NOW) is None


def probed_job() -> Job:
    given = manifest("W1", restart="OnFailure")
    probe = container(livenessProbe={"exec": {"command": ["true"]}})
    given["spec"]["tfReplicaSpecs"]["Worker"] = replica_spec(
        1, restart="OnFailure", containers=[probe]
    )
    return decoded(given)


def restarted(*, code: int = 137, reason: str = "Error") -> Pod:
    ended = Terminated(exit_code=code, reason=reason, finished_at=time.render(at(-5)))
    status = ContainerStatus(
        name="tensorflow", restart_count=1, last_state=ContainerState(terminated=ended)
    )
    return a_pod(others=[status])


def failure_of(pod: Pod, *events: PodEvent) -> Failure:
    observed = observe(probed_job(), Children(pods=[pod]))
    (instance,) = observed.all_instances()
    (found,) = failures.of_instance(instance, now=NOW, events=events)
    return found


KILL = event("Killing", "Container tensorflow failed liveness probe, will be restarted", seconds=-9)
UNHEALTHY = event("Unhealthy", "Liveness probe failed: no answer", seconds=-10)


def test_a_killing_probe_is_the_cause() -> None:
    assert period_of(restarted(), probed_job()) == "run/1"
    found = failure_of(restarted(), KILL, UNHEALTHY).incident
    assert (found.cause, found.detail) == (Cause.PROBE_FAILED, UNHEALTHY.message)


def test_a_probe_that_did_not_kill_is_no_cause() -> None:
    assert failure_of(restarted(), UNHEALTHY).incident.cause is Cause.KILLED


def test_a_kill_of_long_ago_is_no_cause() -> None:
    old = msgspec.structs.replace(KILL, last_timestamp=time.render(at(-3600)))
    assert failure_of(restarted(), old).incident.cause is Cause.KILLED


def test_an_oom_kill_stays_an_oom_kill() -> None:
    assert failure_of(restarted(reason="OOMKilled"), KILL).incident.cause is Cause.OUT_OF_MEMORY


def test_events_of_a_container_without_a_probe_are_not_read() -> None:
    assert period_of(restarted(), a_job("W1", restart="OnFailure")) == ""
