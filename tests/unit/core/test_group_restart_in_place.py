"""Recovery mode Group: containers that the kubelet restarts, and clocks of nodes."""

import pytest

from tests.support.builders import a_pod, at, created_names, deleted_names, manifest, pods
from tests.unit.core.group_passes import LOST, generation, in_place, records, restarts, running
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerState, ContainerStatus, Terminated


def test_a_container_that_was_restarted_in_place_is_recreated_with_its_group() -> None:
    passes = running(restart="OnFailure", run_policy={"backoffLimit": 5})
    plan = passes.go(*pods(worker="R-R"), in_place(1, 2), now=at(3))
    assert sorted(deleted_names(plan, "Pod")) == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert records(passes)["uid-j-worker-1"] == ("Disrupted", LOST)
    assert restarts(passes) == 1
    passes.go(in_place(1, 2, deleted=3), now=at(5))
    plan = passes.go(now=at(9))
    assert len(created_names(plan, "Pod")) == 3
    found = passes.job.status.diagnosis
    assert restarts(passes) == 1
    assert found is not None
    assert found.incident_count == 1


def test_the_end_of_a_container_that_ran_again_is_not_an_incident_of_its_own() -> None:
    passes = running(restart="OnFailure")
    passes.go(*pods(worker="R-R"), in_place(1, 2), now=at(3))
    killed = in_place(1, 2, deleted=3)
    own = killed.status.container_statuses[0]
    end = Terminated(exit_code=143, finished_at=time.render(at(5)))
    last = ContainerStatus(
        name="tensorflow",
        restart_count=1,
        state=ContainerState(terminated=end),
        last_state=own.last_state,
    )
    passes.go(a_pod("worker", 1, others=[last], deleted=3), now=at(6))
    found = passes.job.status.diagnosis
    assert found is not None
    assert found.incident_count == 1


def test_a_restart_in_place_from_before_the_mode_was_chosen_restarts_nothing() -> None:
    passes = running(restart="OnFailure", mode="Auto")
    passes.go(*pods(worker="R-R"), in_place(1, 2), now=at(3))
    chosen = manifest("W3", restart="OnFailure", annotations={RECOVERY: "Group"})
    passes.edit(chosen)
    assert passes.go(*pods(worker="R-R"), in_place(1, 2), now=at(4)).deletes == []


@pytest.mark.parametrize("seconds", [-600, 600])
def test_wrong_clocks_do_not_change_what_is_restarted(seconds: float) -> None:
    passes = running(restart="OnFailure")
    plan = passes.go(*pods(worker="R-R"), in_place(1, 2), now=at(3 + seconds))
    assert len(deleted_names(plan, "Pod")) == 3


@pytest.mark.parametrize("ahead", [-90_000, 0, 90_000])
def test_the_clock_of_another_node_does_not_hide_a_loss(ahead: float) -> None:
    """Worker 2, on a node whose clock is wrong, was lost more often than is kept."""
    passes = running(restart="OnFailure")
    for number in range(8):
        when = 1000.0 * number
        lost = in_place(2, when + ahead, uid=f"{number}-2", node="wrong")
        passes.go(*generation(number, lost), now=at(when + 1))
        passes.go(now=at(when + 500))
    plan = passes.go(*generation(8, in_place(1, 8000, uid="8-1")), now=at(8001))
    assert len(deleted_names(plan, "Pod")) == 3


def test_a_restart_in_place_that_is_no_longer_kept_is_not_news() -> None:
    passes = running(restart="OnFailure", mode="Auto")
    passes.go(*generation(0, in_place(1, 2, uid="0-1")), now=at(3))
    for number in range(1, 9):
        old = in_place(1, 2, uid="0-1")
        lost = in_place(2, 1000.0 * number, uid=f"{number}-2")
        passes.go(*generation(0, old, lost), now=at(1000.0 * number + 1))
    chosen = manifest("W3", restart="OnFailure", annotations={RECOVERY: "Group"})
    passes.edit(chosen)
    found = generation(0, in_place(1, 2, uid="0-1"))
    assert passes.go(*found, now=at(9000)).deletes == []


def test_replicas_that_all_run_again_in_place_are_left_alone() -> None:
    passes = running("W2", pods(worker="RR"), restart="OnFailure")
    followed = in_place(0, 8)
    status = followed.status.container_statuses[0]
    last = Terminated(exit_code=1, started_at=time.render(at(-50)), finished_at=time.render(at(8)))
    followed = a_pod(
        "worker",
        0,
        others=[
            ContainerStatus(
                name="tensorflow",
                restart_count=1,
                state=status.state,
                last_state=ContainerState(terminated=last),
            )
        ],
    )
    plan = passes.go(followed, in_place(1, 2), now=at(10))
    assert plan.deletes == []
