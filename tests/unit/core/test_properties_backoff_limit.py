"""backoffLimit under any interleaving of failures, disruptions, stale caches and crashes."""

from hypothesis import note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support import invariants
from tests.support.builders import manifest
from tests.support.fake_kubelet import model_kubelet
from tests.support.invariants import PASSES_TO_REST
from tests.support.model_cluster import Lag, ModelCluster, Pass
from tests.support.strategies import CLOCK_STEPS, MOVES, lags
from tfjob.core.status import ConditionType

OWN_FAILURE = "own failure"
DISRUPTIONS = ("Evicted", "delete", "vanish", "preempt", "finish", "hold")
LIMIT_REACHED = "Job j has failed because it has reached the specified backoff limit"


class BackoffLimit(RuleBasedStateMachine):
    """A job that never succeeds: only its limit can end it, and only when it is used up.

    Every restart is counted exactly once, even if the operator crashes between two writes. With
    failures alone, exactly `backoffLimit` restarts are counted before the job fails. Restarts in
    place count too, even those of pods that vanish. Disruptions never count.
    """

    cluster: ModelCluster
    limit: int

    @initialize(
        restart=st.sampled_from(["ExitCode", "OnFailure", "Always"]), limit=st.integers(0, 4)
    )
    def submit(self, restart: str, limit: int) -> None:
        given = manifest("P2 W3", restart=restart, run_policy={"backoffLimit": limit})
        self.cluster = ModelCluster(given)
        self.limit = limit
        self._pass()
        self._start()

    @rule(lag=lags)
    def look_late(self, lag: Lag) -> None:
        self._pass(lag=lag)

    @rule(effects=st.integers(0, 8), lag=st.just(Lag()) | lags)
    def crash(self, effects: int, lag: Lag) -> None:
        """A finish that was decided on fresh data and lost is decided again after the crash."""
        earlier = model_kubelet.terminating(self.cluster)
        made = self._pass(lag=lag, crash_after=effects)
        if lag == Lag() and invariants.after(made).is_finished:
            model_kubelet.finish_all(self.cluster, but=earlier)
            assert invariants.after(self._pass()).is_finished

    @rule(pick=st.integers(0, 4), is_seen=st.booleans())
    def a_replica_fails(self, pick: int, is_seen: bool) -> None:
        self._move(OWN_FAILURE, pick)
        if is_seen:
            self._pass()

    @rule(picks=st.sets(st.integers(0, 4), min_size=2))
    def several_replicas_fail(self, picks: set[int]) -> None:
        for pick in sorted(picks):
            self._move(OWN_FAILURE, pick)

    @rule(pick=st.integers(0, 4), move=st.sampled_from(DISRUPTIONS))
    def a_replica_is_disrupted(self, pick: int, move: str) -> None:
        self._move(move, pick)

    @precondition(lambda self: self.cluster.policies)
    @rule(pick=st.integers(0, 4), move=st.sampled_from(["exit 1", "crash init", "schedule"]))
    def a_container_starts_again_in_place(self, pick: int, move: str) -> None:
        if "Never" not in self.cluster.policies.values():
            self._move(move, pick)

    @rule()
    def replicas_start(self) -> None:
        self._start()

    @rule()
    def somebody_writes_to_the_job(self) -> None:
        self.cluster.limit(backoffLimit=self.limit)

    @rule(seconds=st.sampled_from(CLOCK_STEPS))
    def time_goes_on(self, seconds: float) -> None:
        self.cluster.advance(seconds)

    @rule()
    def come_to_rest(self) -> None:
        """Once the job has settled, every failure is recorded, or the job has failed."""
        passes = self.cluster.settle(most=PASSES_TO_REST)
        for made in passes:
            self._judge(made)
        assert passes[-1].plan.is_empty
        if not self.cluster.status.is_finished:
            failures = self.cluster.truth.own_failures
            counted = {
                each.uid for kind in self.cluster.status.replicas.values() for each in kind.records
            }
            left = [pod.metadata for pod in self.cluster.pods.values()]
            assert {meta.uid for meta in left} & failures <= counted

    @invariant()
    def every_restart_is_counted_once(self) -> None:
        status, truth = self.cluster.status, self.cluster.truth
        assert status.restarts <= len(truth.own_failures) + truth.in_place
        assert len(truth.restarted) <= status.restarts

    @invariant()
    def only_the_limit_ends_the_job(self) -> None:
        status, truth = self.cluster.status, self.cluster.truth
        failed = status.condition(ConditionType.FAILED)
        assert not status.is_true(ConditionType.SUCCEEDED)
        if failed is None:
            return
        assert failed.message.startswith(LIMIT_REACHED)
        if truth.in_place:
            assert truth.in_place + len(truth.own_failures) >= self.limit
        else:
            assert len(truth.own_failures) > self.limit
            assert status.restarts == self.limit

    def _start(self) -> None:
        model_kubelet.start_all(self.cluster)

    def _move(self, move: str, pick: int) -> None:
        names = sorted(self.cluster.pods)
        if not names:
            return
        name = names[pick % len(names)]
        if move != OWN_FAILURE:
            MOVES[move](self.cluster, name)
        elif self.cluster.policies[self.cluster.pods[name].metadata.uid] == "Never":
            MOVES["exit 137"](self.cluster, name)
        else:
            MOVES["DeadlineExceeded"](self.cluster, name)

    def _pass(self, *, lag: Lag | None = None, crash_after: int | None = None) -> Pass:
        made = self.cluster.run_pass(lag=lag, crash_after=crash_after)
        self._judge(made)
        return made

    def _judge(self, made: Pass) -> None:
        note(f"{made.plan}")
        invariants.check(made)


TestBackoffLimit = BackoffLimit.TestCase
TestBackoffLimit.settings = hypothesis_settings(max_examples=200, stateful_step_count=40)
