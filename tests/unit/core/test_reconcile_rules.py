"""Every create and delete says which rule caused it."""

from collections.abc import Sequence

import pytest

from tests.support.builders import NOW, Passes, a_job, a_pod, at, decide, manifest, pods, rejected
from tfjob.core.invalid_job import reject
from tfjob.core.observe import Children
from tfjob.core.plan import Delete, Rule


def rules_of(deletes: Sequence[Delete]) -> dict[str, Rule]:
    return {each.name: each.rule for each in deletes if each.kind == "Pod"}


def test_a_replica_without_a_pod_is_missing_and_so_is_its_service() -> None:
    plan = decide(a_job("W1"))
    assert [(each.kind, each.rule) for each in plan.creates] == [
        ("Service", Rule.MISSING_SERVICE),
        ("Pod", Rule.MISSING_REPLICA),
    ]


def test_a_failed_pod_is_replaced_by_the_restart_policy() -> None:
    passes = Passes(manifest("W1", restart="OnFailure"))
    failed = pods(worker="F")
    plan = passes.go(*failed)
    assert rules_of(plan.deletes) == {"j-worker-0": Rule.RESTART_POLICY}
    (told,) = (each for each in plan.events if each.rule is not None)
    assert (told.child, told.rule) == ("j-worker-0", Rule.RESTART_POLICY)
    made = [each.rule for each in passes.go().creates if each.kind == "Pod"]
    assert made == [Rule.RESTART_POLICY]


def test_an_evicted_pod_is_replaced_because_of_the_disruption() -> None:
    passes = Passes(manifest("W1", restart="OnFailure"))
    plan = passes.go(a_pod("worker", 0, phase="Failed", pod_reason="Evicted"))
    assert rules_of(plan.deletes) == {"j-worker-0": Rule.DISRUPTION}
    made = [each.rule for each in passes.go().creates if each.kind == "Pod"]
    assert made == [Rule.DISRUPTION]


def test_a_pod_that_is_too_many_goes_by_scale_down() -> None:
    assert rules_of(decide(a_job("W1"), *pods(worker="RR")).deletes) == {
        "j-worker-1": Rule.SCALE_DOWN
    }


@pytest.mark.parametrize(
    ("policy", "found", "expected"),
    [
        ({"suspend": True}, "R", Rule.SUSPENDED),
        ({"cleanPodPolicy": "All"}, "S", Rule.CLEAN_POD_POLICY),
    ],
)
def test_the_policy_that_removes_a_pod_is_named(
    policy: dict[str, object], found: str, expected: Rule
) -> None:
    passes = Passes(manifest("W1", runPolicy=policy))
    passes.go(*pods(worker=found))
    assert set(rules_of(passes.go(*pods(worker=found)).deletes).values()) == {expected}


def test_a_limit_ends_what_runs_and_the_policy_takes_what_has_ended() -> None:
    policy = {"activeDeadlineSeconds": 10, "cleanPodPolicy": "All"}
    passes = Passes(manifest("P1 W1", runPolicy=policy))
    found = pods(ps="F", worker="R")
    passes.go(*found[1:])
    plan = passes.go(*found, now=at(60))
    assert rules_of(plan.deletes) == {
        "j-ps-0": Rule.CLEAN_POD_POLICY,
        "j-worker-0": Rule.ACTIVE_DEADLINE,
    }


def test_pods_of_a_job_that_cannot_be_read_go_by_its_invalid_spec() -> None:
    job = rejected(manifest(""))
    plan = reject(job, children=Children(pods=pods(worker="R")), now=NOW)
    assert rules_of(plan.deletes) == {"j-worker-0": Rule.INVALID_SPEC}


def test_a_pod_on_a_lost_node_is_forced_out_as_stuck() -> None:
    pod = a_pod("worker", 0, deleted=-600, node="n1")
    plan = decide(a_job("W1", restart="OnFailure"), pod, lost_nodes=frozenset({"n1"}))
    assert rules_of(plan.deletes) == {"j-worker-0": Rule.STUCK_TERMINATING}
