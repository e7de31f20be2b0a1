"""Recovery mode Group in jobs with parameter servers."""

import pytest

from tests.support.builders import a_pod, at, created_names, deleted_names, pods
from tests.unit.core.group_passes import failed, records, running


def test_a_lost_parameter_server_restarts_the_chief_and_the_workers() -> None:
    """The other parameter servers and the evaluator keep their pods."""
    left = pods(ps="R", evaluator="R")
    users = pods(chief="R", worker="RR")
    passes = running("C1 P2 W2 E1", [*users, *pods(ps="RR", evaluator="R")])
    plan = passes.go(*users, *left, failed("ps", 1, 137, 2), now=at(3))
    group = ["j-chief-0", "j-ps-1", "j-worker-0", "j-worker-1"]
    assert sorted(deleted_names(plan, "Pod")) == group
    assert records(passes, "Chief") == {"uid-j-chief-0": ("Group", "uid-j-ps-1/0")}
    assert {cause for cause, _ in records(passes, "Worker").values()} == {"Group"}
    assert passes.job.status.of("Worker").restarts == 0
    assert created_names(passes.go(a_pod("worker", deleted=3), *left, now=at(5)), "Pod") == []
    assert created_names(passes.go(*left, now=at(9)), "Pod") == group


@pytest.mark.parametrize("role", ["worker", "chief"])
def test_replica_lost_together_with_a_parameter_server_waits_for_the_group(role: str) -> None:
    passes = running("C1 P2 W2", pods(chief="R", ps="RR", worker="RR"))
    letters = {"chief": "R", "ps": "R", "worker": "RR"}
    letters[role] = letters[role][1:]
    lost = failed(role, len(letters[role]), 137, 2)
    passes.go(*pods(**letters), lost, failed("ps", 1, 137, 2), now=at(3))
    key = "uid-j-ps-1/0"
    incidents = {*records(passes, "Chief").values(), *records(passes).values()}
    assert {incident for _, incident in incidents} == {key}
    old = a_pod("worker", deleted=3)
    assert created_names(passes.go(old, *pods(ps="R"), now=at(9)), "Pod") == []
    group = ["j-chief-0", "j-ps-1", "j-worker-0", "j-worker-1"]
    assert created_names(passes.go(*pods(ps="R"), now=at(15)), "Pod") == group


def test_worker_that_starts_beside_the_old_group_is_restarted_with_it() -> None:
    """The pod of the parameter server that was lost is gone by then."""
    starting = a_pod("worker", 1, "Pending")
    whole = [*pods(chief="R", ps="RR", worker="R"), starting]
    passes = running("C1 P2 W2", whole)
    found = [*pods(chief="R", ps="R", worker="R"), starting]
    passes.go(*found, failed("ps", 1, 137, 2), now=at(3))
    left = [a_pod("chief", deleted=3), *pods(ps="R"), a_pod("worker", 1)]
    assert deleted_names(passes.go(*left, now=at(9)), "Pod") == ["j-worker-1"]


def test_dynamic_workers_are_not_restarted_with_a_parameter_server() -> None:
    whole = pods(chief="R", ps="R", worker="RR")
    passes = running("C1 P1 W2", whole, enableDynamicWorker=True)
    plan = passes.go(*pods(chief="R", worker="RR"), failed("ps", 0, 137, 2), now=at(3))
    assert deleted_names(plan, "Pod") == ["j-ps-0"]


@pytest.mark.parametrize("role", ["chief", "worker"])
def test_with_parameter_servers_nobody_misses_a_chief_or_a_worker(role: str) -> None:
    passes = running("C1 P1 W2", pods(chief="R", ps="R", worker="RR"))
    letters = {"chief": "R", "ps": "R", "worker": "RR"}
    letters[role] = letters[role][1:]
    lost = failed(role, len(letters[role]), 137, 2)
    plan = passes.go(*pods(**letters), lost, now=at(3))
    assert deleted_names(plan, "Pod") == [lost.metadata.name]
