"""Invariants under any interleaving of cluster, user, clock and operator."""

from typing import Any

from hypothesis import note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support import invariants
from tests.support.fake_kubelet import model_kubelet
from tests.support.invariants import PASSES_TO_REST
from tests.support.model_cluster import Lag, ModelCluster, Pass, is_ended, pods_by_place
from tests.support.strategies import (
    CLOCK_JUMPS,
    CLOCK_STEPS,
    MOST,
    MOVES,
    lags,
    lively_manifests,
    manifests,
    moves,
    policy_values,
    settings,
)
from tfjob.core.observe import observe
from tfjob.core.status import ConditionType, JobStatus
from tfjob.dialects.base import Settings

_REPLICA_TYPE = "training.kubeflow.org/replica-type"

BACKOFF = "reached the specified backoff limit"
OF_REPLICAS = "replica(s) failed."


class Life(RuleBasedStateMachine):
    """One job from its creation to its end, with everything that can happen in between.

    All invariants of a single reconcile hold after every reconcile. Over the whole life of the job,
    a verdict is final, no replica has two live pods, times do not go back unless the clock does,
    and no job fails because of what the operator did itself.
    """

    cluster: ModelCluster
    verdict: JobStatus | None
    has_gone_back: bool

    @initialize(manifest=manifests() | lively_manifests, chosen=settings)
    def submit(self, manifest: dict[str, Any], chosen: Settings) -> None:
        self.cluster = ModelCluster(manifest, settings=chosen)
        self.verdict = None
        self.has_gone_back = False
        self._look_if(is_seen=True)
        self.pods_start(is_seen=True)

    @precondition(lambda self: not self.cluster.is_gone)
    @rule(lag=lags)
    def look_late(self, lag: Lag) -> None:
        self._judge(self._run(lag=lag))

    @precondition(lambda self: not self.cluster.is_gone)
    @rule()
    def look(self) -> None:
        made = self._run()
        self._judge(made)
        if invariants.is_resting(made):
            # Parameter servers are deleted last.
            assert all(
                pod.metadata.is_terminating or pod.metadata.labels[_REPLICA_TYPE] == "ps"
                for pod in self.cluster.pods.values()
            )

    @precondition(lambda self: not self.cluster.is_gone)
    @rule(lag=st.just(Lag()) | lags, effects=st.integers(0, 12))
    def crash(self, lag: Lag, effects: int) -> None:
        """The operator crashes after some writes of a plan, and another one takes over. A finish
        that was decided on fresh data is decided again, even if its pods are gone by then."""
        earlier = model_kubelet.terminating(self.cluster)
        made = self._run(lag=lag, crash_after=effects)
        self._judge(made)
        if lag == Lag() and invariants.after(made).is_finished and not self.cluster.is_gone:
            model_kubelet.finish_all(self.cluster, but=earlier)
            again = self._run()
            self._judge(again)
            assert invariants.after(again).is_finished

    @precondition(lambda self: not self.cluster.is_gone)
    @rule()
    def come_to_rest(self) -> None:
        """While nothing else happens, the job settles after a few reconciles."""
        passes = self.cluster.settle(most=PASSES_TO_REST)
        for made in passes:
            self._judge(made)
        assert self.cluster.is_gone or passes[-1].plan.is_empty

    @precondition(lambda self: self.cluster.pods)
    @rule(move=moves, pick=st.integers(0, 7), is_seen=st.booleans())
    def something_happens_to_a_pod(self, move: str, pick: int, is_seen: bool) -> None:
        names = sorted(self.cluster.pods)
        MOVES[move](self.cluster, names[pick % len(names)])
        self._look_if(is_seen)

    @precondition(lambda self: self.cluster.pods)
    @rule(move=moves, is_seen=st.booleans())
    def something_happens_to_all_pods(self, move: str, is_seen: bool) -> None:
        for name in sorted(self.cluster.pods):
            MOVES[move](self.cluster, name)
        self._look_if(is_seen)

    @rule(is_seen=st.booleans())
    def pods_start(self, is_seen: bool) -> None:
        self.cluster.admit()
        model_kubelet.start_all(self.cluster)
        self._look_if(is_seen)

    @rule(is_seen=st.booleans())
    def pods_finish_terminating(self, is_seen: bool) -> None:
        model_kubelet.finish_all(self.cluster)
        self._look_if(is_seen)

    @precondition(lambda self: self.cluster.services or self.cluster.group)
    @rule(pick=st.integers(0, 8))
    def something_else_is_deleted(self, pick: int) -> None:
        names = sorted(self.cluster.services)
        if pick < len(names):
            self.cluster.drop_service(names[pick])
        else:
            self.cluster.drop_group()

    @rule(pick=st.integers(0, 2), count=st.integers(0, 3), is_seen=st.booleans())
    def scale(self, pick: int, count: int, is_seen: bool) -> None:
        kinds = sorted(self.cluster.manifest["spec"]["tfReplicaSpecs"])
        kind = kinds[pick % len(kinds)]
        self.cluster.scale(kind, min(count, MOST[kind]))
        self._look_if(is_seen)

    @rule(key=st.sampled_from(sorted(policy_values)), data=st.data())
    def change_policy(self, key: str, data: st.DataObject) -> None:
        self.cluster.limit(**{key: data.draw(policy_values[key])})

    @rule(is_suspended=st.booleans(), is_seen=st.booleans())
    def suspend_or_resume(self, is_suspended: bool, is_seen: bool) -> None:
        self.cluster.suspend(is_suspended=is_suspended)
        self._look_if(is_seen)

    @rule(seconds=st.sampled_from(CLOCK_STEPS))
    def time_goes_on(self, seconds: float) -> None:
        self.cluster.advance(seconds)

    @rule(seconds=st.sampled_from(CLOCK_JUMPS))
    def the_clock_jumps(self, seconds: float) -> None:
        self.has_gone_back = self.has_gone_back or seconds < 0
        self.cluster.advance(seconds)

    @invariant()
    def no_replica_has_two_live_pods(self) -> None:
        live = [pod for pod in self.cluster.pods.values() if not is_ended(pod)]
        assert all(len(pods) == 1 for pods in pods_by_place(live).values())

    @invariant()
    def a_verdict_is_final(self) -> None:
        status = self.cluster.status
        assert status.is_finished == (status.completion_time is not None)
        if self.verdict is not None:
            assert status.conditions == self.verdict.conditions
            assert status.completion_time == self.verdict.completion_time
        elif status.is_finished:
            self.verdict = status

    def _look_if(self, is_seen: bool) -> None:
        if is_seen and not self.cluster.is_gone:
            self._judge(self._run())

    def _run(self, *, lag: Lag | None = None, crash_after: int | None = None) -> Pass:
        """One reconcile, which must not create a pod for a replica whose success is stored."""
        before, pods = self.cluster.status, dict(self.cluster.pods)
        made = self.cluster.run_pass(lag=lag, crash_after=crash_after)
        new = [pod for name, pod in self.cluster.pods.items() if name not in pods]
        if not invariants.is_resuming(made):
            labels = {replica.label: replica.type for replica in made.job.replicas}
            for label, index in pods_by_place(new):
                assert index not in before.of(labels[label]).completed
        return made

    def _judge(self, made: Pass) -> None:
        note(f"{made.plan}")
        invariants.check(made)
        if not self.has_gone_back:
            invariants.times_do_not_go_back(made.job.status, invariants.after(made))
            self._no_failure_is_made_up(made)
            self._no_success_is_made_up(made)

    def _no_success_is_made_up(self, made: Pass) -> None:
        """A replica has succeeded only if its pod exited with 0 before it was deleted."""
        then = invariants.after(made)
        for instance in observe(made.job, made.children).all_instances():
            before, after = (each.of(instance.replica.type) for each in (made.job.status, then))
            is_new = instance.index in after.completed - before.completed
            if is_new and not invariants.is_resuming(made):
                assert instance.pod is not None
                assert instance.pod.metadata.uid in self.cluster.truth.own_successes

    def _no_failure_is_made_up(self, made: Pass) -> None:
        """A job fails only if a pod really failed or was disrupted, or a limit was reached."""
        failed = invariants.after(made).condition(ConditionType.FAILED)
        if failed is None or made.job.status.is_finished:
            return
        truth, seen = self.cluster.truth, {pod.metadata.uid for pod in made.children.pods}
        if failed.message.endswith(OF_REPLICAS):
            assert seen & (truth.own_failures | truth.taken)
        if failed.message.endswith(BACKOFF) and made.job.policy.backoff_limit:
            assert truth.in_place + len(truth.own_failures) >= made.job.policy.backoff_limit


TestLife = Life.TestCase
TestLife.settings = hypothesis_settings(max_examples=600, stateful_step_count=40)
