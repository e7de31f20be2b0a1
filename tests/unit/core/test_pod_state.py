"""Whether a pod has ended, and whether it was disrupted."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import a_job, a_pod, at, meta
from tfjob.core import pod_state
from tfjob.core.job import Semantics
from tfjob.k8s import time
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Phase,
    Pod,
    PodCondition,
    PodSpec,
    Running,
    Terminated,
)

RULES: Semantics = a_job("W1").semantics


@pytest.mark.parametrize(
    ("policy", "phase", "code", "expected"),
    [
        ("Never", "Running", None, Phase.RUNNING),
        ("Never", "Running", 0, Phase.SUCCEEDED),
        ("Never", "Running", 1, Phase.FAILED),
        ("Never", "Failed", 0, Phase.SUCCEEDED),
        ("Never", "Unknown", 1, Phase.FAILED),
        ("Never", "Pending", 1, Phase.PENDING),
        ("Never", "Succeeded", 1, Phase.SUCCEEDED),
        ("OnFailure", "Running", 0, Phase.SUCCEEDED),
        ("OnFailure", "Running", 1, Phase.RUNNING),
        ("OnFailure", "Failed", 1, Phase.FAILED),
        ("OnFailure", "Failed", 0, Phase.SUCCEEDED),
        ("Always", "Running", 0, Phase.RUNNING),
        ("Always", "Running", 1, Phase.RUNNING),
        ("Always", "Failed", 0, Phase.FAILED),
        ("Always", "Failed", None, Phase.FAILED),
    ],
)
def test_a_replica_is_judged_by_its_training_container_if_that_has_ended_for_good(
    policy: str, phase: str, code: int | None, expected: Phase
) -> None:
    assert pod_state.replica_phase(a_pod(phase=phase, exit_code=code), policy=policy) is expected


def test_a_replica_is_judged_by_the_policy_of_its_pod_where_another_made_it() -> None:
    pod = a_pod(exit_code=143)
    spec = msgspec.structs.replace(pod.spec, restart_policy="Never")
    adopted = msgspec.structs.replace(pod, spec=spec)
    assert pod_state.replica_phase(adopted, policy="OnFailure") is Phase.FAILED


def beside(name: str = "sidecar", *, code: int | None = None) -> ContainerStatus:
    """Another container, which runs on or has ended."""
    ended = None if code is None else Terminated(exit_code=code)
    runs = Running() if code is None else None
    return ContainerStatus(name=name, state=ContainerState(running=runs, terminated=ended))


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Never", 0, True),
        ("Never", 1, True),
        ("OnFailure", 0, True),
        ("OnFailure", 1, False),
        ("Always", 0, False),
        ("Always", 1, False),
        ("", 0, False),
        ("Never", None, False),
    ],
)
def test_a_pod_has_ended_when_its_containers_have_though_its_phase_says_running(
    policy: str, code: int | None, expected: bool
) -> None:
    assert pod_state.has_ended(a_pod(exit_code=code), policy=policy) is expected


def test_restart_policy_of_the_pod_takes_precedence() -> None:
    pod = a_pod(exit_code=1)
    spec = msgspec.structs.replace(pod.spec, restart_policy="Never")
    assert pod_state.has_ended(msgspec.structs.replace(pod, spec=spec), policy="Always")


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_pod_in_which_another_container_runs_has_not_ended(policy: str) -> None:
    assert not pod_state.has_ended(a_pod(exit_code=0, others=[beside()]), policy=policy)
    assert pod_state.has_ended(a_pod(exit_code=0, others=[beside(code=0)]), policy=policy)


def test_a_native_sidecar_that_continues_does_not_count() -> None:
    assert pod_state.has_ended(a_pod(exit_code=0, init=[beside("proxy")]), policy="Never")


def test_nothing_is_started_again_in_a_pod_that_is_being_deleted() -> None:
    assert pod_state.has_ended(a_pod(exit_code=1, deleted=-5), policy="Always")


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True)],
)
def test_phase_decides_without_container_statuses(phase: str, expected: bool) -> None:
    assert pod_state.has_ended(a_pod(phase=phase), policy="Never") is expected


@pytest.mark.parametrize("code", [0, 1, 143])
@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(-9, True, id="ended-after-the-deletion"),
        pytest.param(-1, True, id="ended-in-the-second-of-the-deletion"),
        pytest.param(0, False, id="ended-before-the-deletion"),
    ],
)
def test_an_end_after_the_deletion_is_a_disruption_whatever_the_exit_code(
    code: int, deleted: float, expected: bool
) -> None:
    pod = a_pod(phase="Failed" if code else "Succeeded", exit_code=code, deleted=deleted)
    assert pod_state.is_disrupted(pod, RULES) is expected


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Never", 1, False),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Always", 0, True),
        ("Always", 1, True),
    ],
)
def test_a_container_that_was_to_start_again_had_not_ended_before_the_deletion(
    policy: str, code: int, expected: bool
) -> None:
    pod = a_pod(exit_code=code, deleted=0)
    pod = msgspec.structs.replace(pod, spec=PodSpec(node_name="n", restart_policy=policy))
    assert pod_state.is_disrupted(pod, RULES) is expected


def held(pod: Pod) -> Pod:
    kept = msgspec.structs.replace(pod.metadata, finalizers=["example.com/archive"])
    return msgspec.structs.replace(pod, metadata=kept)


def test_final_deletion_by_the_kubelet_does_not_hide_an_earlier_one() -> None:
    gone: dict[str, Any] = {"phase": "Succeeded", "exit_code": 0, "deleted": 1, "grace": 0}
    assert pod_state.is_disrupted(a_pod(**gone), RULES)
    assert pod_state.is_disrupted(held(a_pod(**gone)), RULES)


@pytest.mark.parametrize("grace", [0, 30])
@pytest.mark.parametrize(
    ("observed", "generation", "expected"),
    [
        pytest.param(1, 2, False, id="the kubelet did not know of the deletion"),
        pytest.param(2, 2, True, id="it did"),
        pytest.param(3, 3, True, id="it did, after another change of the pod"),
        pytest.param(0, 2, True, id="it does not say"),
        pytest.param(1, 0, True, id="the server does not count"),
    ],
)
def test_observed_generation_shows_whether_the_end_or_the_deletion_came_first(
    grace: int, observed: int, generation: int, expected: bool
) -> None:
    """The times say that the deletion came first."""
    pod = a_pod(phase="Succeeded", exit_code=0, deleted=-9, grace=grace)
    metadata = msgspec.structs.replace(pod.metadata, generation=generation)
    status = msgspec.structs.replace(pod.status, observed_generation=observed)
    pod = msgspec.structs.replace(pod, metadata=metadata, status=status)
    assert pod_state.is_disrupted(pod, RULES) is expected


@pytest.mark.parametrize(
    ("marked", "observed", "reason", "expected"),
    [
        pytest.param(0, 1, "", False, id="drained after its end"),
        pytest.param(-1, 1, "", True, id="marked in the second of its end"),
        pytest.param(-9, 1, "", True, id="marked before its end"),
        pytest.param(0, 2, "", True, id="the kubelet knew of the deletion"),
        pytest.param(0, 0, "", True, id="the kubelet does not say"),
        pytest.param(0, 1, "Evicted", True, id="evicted by the kubelet"),
    ],
)
def test_a_pod_that_ended_before_its_node_was_drained_was_not_evicted(
    marked: float, observed: int, reason: str, expected: bool
) -> None:
    mark = PodCondition(
        type="DisruptionTarget",
        status="True",
        reason="EvictionByEvictionAPI",
        last_transition_time=time.render(at(marked)),
    )
    fields: dict[str, Any] = {"deleted": 1, "grace": 0, "conditions": [mark], "pod_reason": reason}
    pod = a_pod(phase="Succeeded", exit_code=0, **fields)
    metadata = msgspec.structs.replace(pod.metadata, generation=2)
    status = msgspec.structs.replace(pod.status, observed_generation=observed)
    pod = msgspec.structs.replace(pod, metadata=metadata, status=status)
    assert pod_state.is_evicted(pod) is expected
    assert pod_state.is_disrupted(pod, RULES) is expected


def test_deletion_was_requested_one_grace_period_before_its_timestamp() -> None:
    assert pod_state.deletion_requested_at(meta("x", deleted=-5, grace=30)) == at(-5)
    assert pod_state.deletion_requested_at(meta("x", deleted=-5, grace=0)) == at(-5)
    assert pod_state.deletion_requested_at(meta("x")) is None
