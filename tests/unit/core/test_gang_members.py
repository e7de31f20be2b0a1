"""The size of a PodGroup when replicas have succeeded: matched with the pods that are left."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import Passes, a_pod, at, created_names, manifest, pods
from tests.unit.core.test_scenarios_gang import PLUGIN, VOLCANO, a_group, inside
from tfjob.core.gang_members import Members
from tfjob.core.scheduling_spec import GangSpec
from tfjob.dialects.base import Settings
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, Running


def all_workers(count: int) -> dict[str, Any]:
    given = manifest(f"W{count}", restart="OnFailure")
    given["spec"]["successPolicy"] = "AllWorkers"
    return given


def with_sidecar(index: int, phase: str = "Running") -> Pod:
    """A worker whose training container has exited with code 0, while a sidecar runs on."""
    sidecar = ContainerStatus(name="sidecar", state=ContainerState(running=Running()))
    return a_pod("worker", index, phase, exit_code=0, others=[sidecar])


def sizes(passes: Passes, *found: Pod, stored: int) -> list[int]:
    """The sizes that the next reconcile sets in a PodGroup of the stored size."""
    group = a_group("Running", minMember=stored, queue="default")
    plan = passes.go(*found, now=at(1), pod_group=group)
    return [each.body["spec"]["minMember"] for each in plan.updates]


def test_a_replica_that_succeeded_before_it_was_scaled_down_does_not_count() -> None:
    passes = Passes(all_workers(4), VOLCANO)
    group = a_group("Running", minMember=4, queue="default")
    passes.go(*inside(*pods(worker="RRRS")), pod_group=group)
    passes.edit(all_workers(3))
    assert passes.job.status.of("Worker").completed == frozenset({3})
    assert sizes(passes, *inside(*pods(worker="R")), stored=3) == []


def test_a_pod_whose_sidecar_runs_on_is_still_a_member() -> None:
    passes = Passes(all_workers(3), VOLCANO)
    left, group = with_sidecar(2), a_group("Running", minMember=3, queue="default")
    passes.go(*inside(*pods(worker="RR"), left), pod_group=group)
    assert passes.job.status.of("Worker").completed == frozenset({2})
    assert sizes(passes, *inside(left), stored=3) == []


def test_a_pod_whose_sidecar_failed_is_no_member() -> None:
    passes = Passes(all_workers(3), VOLCANO)
    group = a_group("Running", minMember=3, queue="default")
    passes.go(*inside(*pods(worker="RR"), with_sidecar(2)), pod_group=group)
    assert sizes(passes, *inside(with_sidecar(2, "Failed")), stored=3) == [2]


def test_a_pod_that_succeeded_outside_the_group_is_no_member() -> None:
    """The job was started without a gang scheduler."""
    passes = Passes(all_workers(3), VOLCANO)
    group = a_group("Running", minMember=1, queue="default")
    passes.go(*pods(worker="RRS"), pod_group=group)
    assert sizes(passes, *pods(worker="--S"), stored=1) == [2]


@pytest.mark.parametrize("settings", [VOLCANO, PLUGIN])
def test_a_replica_that_succeeded_and_runs_on_outside_is_subtracted_once(
    settings: Settings,
) -> None:
    passes = Passes(all_workers(3), settings)
    left = with_sidecar(2)
    passes.go(*pods(worker="RR"), left, pod_group=a_group("Running", minMember=1))
    assert passes.job.status.of("Worker").completed == frozenset({2})
    group = a_group("Running", minMember=3, queue="default")
    plan = passes.go(left, now=at(1), pod_group=group)
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert [each.body["spec"]["minMember"] for each in plan.updates] == [2]


@pytest.mark.parametrize(
    ("labels", "is_member"),
    [
        ({"group": "j", "kind": "tf"}, True),
        ({"group": "j", "kind": "tf", "queue": "other"}, True),
        ({"kind": "tf"}, False),
        ({"group": "j"}, False),
    ],
)
def test_a_member_has_all_marks_of_its_gang_whatever_its_queue(
    labels: dict[str, str], is_member: bool
) -> None:
    gang = GangSpec(
        api_version="v",
        group_name="j",
        scheduler_name="s",
        min_member=1,
        pod_labels={"group": "j", "kind": "tf"},
        other_labels={"queue": "q"},
        pod_annotations={"note": "1"},
    )
    marked = msgspec.structs.replace(
        a_pod().metadata, labels=labels, annotations={"note": "1", "other": "2"}
    )
    pod = msgspec.structs.replace(a_pod(), metadata=marked)
    members = Members(pods=[pod])
    assert (members.placed(gang), list(members.outside(gang))) == (
        (1, []) if is_member else (0, [pod])
    )
