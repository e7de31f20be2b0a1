"""Invariants of one reconcile, and of reconciles repeated until nothing is left to do."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
from hypothesis import assume, event, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support import invariants
from tests.support.builders import decoded, manifest
from tests.support.fake_kubelet import model_kubelet
from tests.support.fuzzed_clusters import fuzzed_clusters, fuzzed_pods
from tests.support.invariants import PASSES_TO_REST
from tests.support.model_cluster import Lag, ModelCluster, Pass
from tests.support.strategies import POLICIES, clusters
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.core.status import ConditionType, JobStatus
from tfjob.dialects.base import Settings

ROUNDS_TO_REST = 6
"""So often a job that is left alone has to be woken, at most, until nothing is left to do."""

T = TypeVar("T")


def decided(cluster: ModelCluster) -> Pass:
    """Decide once, without applying the plan."""
    _, children = cluster.look(Lag())
    plan = reconcile(job=cluster.job, children=children, now=cluster.now)
    return Pass(job=cluster.job, children=children, now=cluster.now, plan=plan)


def in_any_order(plan: Plan) -> dict[str, Any]:
    """The plan as a value that does not depend on the order of its writes."""
    found: dict[str, Any] = msgspec.to_builtins(plan)
    for key in ("creates", "updates", "deletes", "events"):
        found[key] = sorted(found[key], key=repr)
    return found


def reversed_keys(value: Any) -> Any:
    """The same JSON with the keys of all its objects in reverse order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [reversed_keys(each) for each in value]
    return value


def shuffled(data: st.DataObject, values: Sequence[T]) -> list[T]:
    return data.draw(st.permutations(list(values)))


@hypothesis_settings(max_examples=300)
@given(cluster=clusters() | fuzzed_clusters(), data=st.data())
def test_the_order_of_children_and_of_keys_does_not_matter(
    cluster: ModelCluster, data: st.DataObject
) -> None:
    """Neither the order of the objects nor that of JSON keys changes the plan, except for the order
    of its parts."""
    made = decided(cluster)
    children = msgspec.structs.replace(
        made.children,
        pods=shuffled(data, made.children.pods),
        services=shuffled(data, made.children.services),
    )
    job = decoded(reversed_keys(dict(cluster.manifest)), cluster.settings)
    other = reconcile(job=job, children=children, now=cluster.now)
    assert in_any_order(other) == in_any_order(made.plan)


@given(cluster=clusters())
def test_every_invariant_of_a_reconcile_holds_in_every_reachable_state(
    cluster: ModelCluster,
) -> None:
    """All invariants of a single reconcile hold."""
    assume(not cluster.is_gone)
    invariants.check(decided(cluster))


@given(cluster=fuzzed_clusters())
def test_an_absurd_state_gives_a_bounded_plan_and_no_exception(cluster: ModelCluster) -> None:
    """Any stored status and any children lead to a plan. It is no larger than the job and its
    children, creates no duplicates, and deletes only children that it was given."""
    made = decided(cluster)
    invariants.size_is_bounded(made)
    invariants.creates_are_due(made)
    invariants.deletes_are_meant(made)
    invariants.rest_is_complete(made)
    before = made.job.status
    if not before.is_finished and before.condition(ConditionType.CREATED) is None:
        assert invariants.after(made).conditions[0].type == ConditionType.CREATED


@given(cluster=clusters() | fuzzed_clusters())
def test_applied_plans_reach_a_fixed_point(cluster: ModelCluster) -> None:
    """While nothing else happens and no time passes, a job settles within PASSES_TO_REST
    reconciles: the last one has nothing to write, and neither would one more."""
    assume(not cluster.is_gone)
    passes = cluster.settle(most=PASSES_TO_REST)
    event(f"{len(passes)} passes")
    if not cluster.is_gone:
        assert passes[-1].plan.is_empty
        assert cluster.run_pass().plan.is_empty


@hypothesis_settings(max_examples=300)
@given(cluster=clusters() | fuzzed_clusters())
def test_a_second_reconcile_adds_nothing_to_the_status_just_written(
    cluster: ModelCluster,
) -> None:
    """A reconcile that only reports progress is followed by one with nothing to write and no
    earlier requeue, so the second one can be skipped."""
    assume(not cluster.is_gone)
    for made, again in pairwise(cluster.settle(most=PASSES_TO_REST)):
        if not _tells_only_how_it_goes_on(made):
            continue
        event("told")
        assert again.plan.is_empty
        assert not again.plan.events
        if again.plan.requeue_at is not None:
            assert made.plan.requeue_at is not None
            assert made.plan.requeue_at <= again.plan.requeue_at


def _tells_only_how_it_goes_on(made: Pass) -> bool:
    then, plan = invariants.after(made), made.plan
    goes_on = not then.is_finished and not then.is_true(ConditionType.SUSPENDED)
    is_due = plan.requeue_at is not None and plan.requeue_at <= made.now
    if is_due:  # such as a deadline of 0 seconds
        return False
    return goes_on and plan.status is not None and not plan.has_effects and not plan.events


@given(cluster=clusters(), percent=st.integers(0, 99))
def test_time_alone_changes_nothing_before_the_requeue_time(
    cluster: ModelCluster, percent: int
) -> None:
    """Between a reconcile with nothing to write and its requeue time, no reconcile has anything to
    write; without a requeue time, none ever has. Lost nodes count as changes from outside."""
    assume(not cluster.is_gone and not cluster.lost_nodes)
    last = cluster.settle(most=PASSES_TO_REST)[-1]
    assume(last.plan.is_empty)
    span = timedelta(days=1) if last.plan.requeue_at is None else last.plan.requeue_at - cluster.now
    cluster.now += span * percent / 100
    assert cluster.run_pass().plan.is_empty


@given(cluster=clusters())
def test_undisturbed_job_settles(cluster: ModelCluster) -> None:
    """Reconciled at its requeue times, with every terminating pod gone by then, a job needs at most
    ROUNDS_TO_REST rounds until it has no requeue time any more, or only waits for admission by its
    gang's scheduler. Pods of a lost node are force-deleted, unless the job is finished or
    suspended."""
    for _ in range(ROUNDS_TO_REST):
        passes = cluster.settle(most=PASSES_TO_REST)
        if cluster.is_gone or _is_at_rest(cluster, passes):
            return
        model_kubelet.finish_all(cluster)
        if passes[-1].plan.requeue_at is not None:
            cluster.now = max(cluster.now, passes[-1].plan.requeue_at)
    raise AssertionError(f"still busy after {ROUNDS_TO_REST} rounds: {cluster.run_pass().plan}")


def _is_at_rest(cluster: ModelCluster, passes: Sequence[Pass]) -> bool:
    leaving = [pod for pod in cluster.pods.values() if pod.metadata.is_terminating]
    is_over = cluster.status.is_finished or cluster.status.is_true(ConditionType.SUSPENDED)
    if not all(is_over and pod.spec.node_name in cluster.lost_nodes for pod in leaving):
        return False
    is_waiting = cluster.status.last_reconcile_time is not None and cluster.group is not None
    return passes[-1].plan.requeue_at is None or is_waiting


@given(limit=st.integers(1, 30), passed=st.integers(0, 29))
def test_a_deadline_is_kept_also_while_a_gang_waits_for_its_scheduler(
    limit: int, passed: int
) -> None:
    """A job that waits for something else is still requeued for its deadline."""
    assume(passed < limit)
    given = manifest("W2", run_policy={"activeDeadlineSeconds": limit})
    cluster = ModelCluster(given, settings=Settings(gang_scheduler_name="volcano"))
    cluster.run_pass()
    cluster.admit()
    cluster.run_pass()
    ends_at = cluster.now + timedelta(seconds=limit + 1)
    cluster.drop_group()
    cluster.advance(passed)
    made = cluster.run_pass()
    assert made.plan.requeue_at is not None
    assert made.plan.requeue_at <= ends_at


@given(cluster=clusters(), pods=fuzzed_pods())
def test_finished_job_creates_nothing_and_keeps_its_verdict(
    cluster: ModelCluster, pods: list[Any]
) -> None:
    """Succeeded and Failed are final and never both true, whatever pods do afterwards."""
    cluster.limit(activeDeadlineSeconds=0, ttlSecondsAfterFinished=None, suspend=False)
    cluster.run_pass()
    cluster.admit()
    cluster.settle(most=PASSES_TO_REST)
    before = cluster.status
    assume(not cluster.is_gone)
    assert before.is_finished
    plan = reconcile(job=cluster.job, children=Children(pods=pods), now=cluster.now)
    after = plan.status or before
    assert not plan.creates
    assert after.conditions == before.conditions
    assert after.completion_time == before.completion_time
    ends = [after.is_true(ConditionType.SUCCEEDED), after.is_true(ConditionType.FAILED)]
    assert sum(ends) == 1


@given(cluster=clusters())
def test_a_suspended_job_owns_nothing_and_starts_whole_when_it_is_resumed(
    cluster: ModelCluster,
) -> None:
    """A suspended job ends up without pods, services and PodGroup. Once resumed, it creates every
    replica again, even those that had succeeded, and its restarts stay counted."""
    cluster.suspend(is_suspended=True)
    cluster.settle(most=PASSES_TO_REST)
    assume(not cluster.status.is_finished and not cluster.is_gone)
    assert cluster.status.is_true(ConditionType.SUSPENDED)
    for name in list(cluster.pods):
        cluster.drop_pod(name)
    restarts = cluster.status.restarts
    assert cluster.settle(most=PASSES_TO_REST)[-1].plan.is_empty
    assert (cluster.pods, cluster.services, cluster.group) == ({}, {}, None)
    cluster.suspend(is_suspended=False)
    cluster.limit(activeDeadlineSeconds=None)
    cluster.run_pass()
    cluster.admit()
    cluster.run_pass()
    assert len(cluster.pods) == len(cluster.services) == cluster.job.total
    assert cluster.status.restarts == restarts


@given(
    policy=st.sampled_from(POLICIES),
    before=st.integers(0, 4),
    between=st.integers(0, 4),
    after=st.integers(0, 4),
    is_gone_between=st.booleans(),
)
def test_scaling_touches_nothing_but_what_is_too_many_or_missing(
    policy: str, before: int, between: int, after: int, is_gone_between: bool
) -> None:
    """Through scaling down and up again, replicas below all three counts keep their pods, the job
    continues, and in the end exactly the wanted replicas have a pod."""
    cluster = ModelCluster(manifest(f"C1 W{before}", restart=policy))
    cluster.run_pass()
    model_kubelet.start_all(cluster)
    cluster.run_pass()
    untouched = {name: pod.metadata.uid for name, pod in cluster.pods.items()}
    for count in (between, after):
        cluster.scale("Worker", count)
        cluster.settle(most=PASSES_TO_REST)
        if is_gone_between:
            model_kubelet.finish_all(cluster)
            cluster.settle(most=PASSES_TO_REST)
    model_kubelet.finish_all(cluster)
    cluster.settle(most=PASSES_TO_REST)
    kept = {f"j-worker-{index}" for index in range(min(before, between, after))} | {"j-chief-0"}
    assert {name: cluster.pods[name].metadata.uid for name in kept} == {
        name: untouched[name] for name in kept
    }
    assert set(cluster.pods) == {"j-chief-0", *(f"j-worker-{index}" for index in range(after))}
    assert cluster.status.conditions[-1].type == ConditionType.RUNNING


@given(cluster=clusters())
def test_a_stored_status_is_read_back_as_it_was_decided(cluster: ModelCluster) -> None:
    """Writing a status and reading it back loses nothing, so it is written only once."""
    plan = decided(cluster).plan
    assume(plan.status is not None)
    decided_on: JobStatus | None = plan.status
    cluster.run_pass()
    assert cluster.status == decided_on
