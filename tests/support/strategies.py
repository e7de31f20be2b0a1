"""What hypothesis draws for the decision: jobs, moves of a cluster, and clusters of any shape."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hypothesis import strategies as st

from tests.support.builders import container, manifest, replica_spec
from tests.support.fake_kubelet import model_kubelet
from tests.support.model_cluster import Lag, ModelCluster
from tfjob.dialects.base import Settings

MOST = {"Chief": 1, "Master": 1, "PS": 2, "Worker": 3, "Evaluator": 1}
"""Replicas per type: small enough that moves meet, wide enough that order matters."""
POLICIES = ("Always", "OnFailure", "Never", "ExitCode")
EXIT_CODES = (0, 1, 137)
POD_REASONS = ("Evicted", "Preempting", "DeadlineExceeded")

Move = Callable[[ModelCluster, str], None]

MOVES: Mapping[str, Move] = {
    "start": model_kubelet.start,
    "schedule": model_kubelet.schedule,
    **{f"exit {code}": partial(model_kubelet.leave, code=code) for code in EXIT_CODES},
    "exit 0 beside a sidecar": partial(model_kubelet.leave, code=0, has_sidecar=True),
    "exit 137 beside a sidecar": partial(model_kubelet.leave, code=137, has_sidecar=True),
    "end sidecar": model_kubelet.end_sidecar,
    "crash init": model_kubelet.crash_init,
    **{reason: partial(model_kubelet.give_up, reason=reason) for reason in POD_REASONS},
    "preempt": model_kubelet.preempt,
    "delete": model_kubelet.delete,
    "vanish": model_kubelet.vanish,
    "confirm": model_kubelet.confirm,
    **{
        f"container exits {code}": partial(model_kubelet.exit_container, code=code)
        for code in EXIT_CODES
    },
    **{
        f"step of deletion, {code} on SIGTERM": partial(model_kubelet.terminate, code=code)
        for code in (0, 1, 143)
    },
    "finish": model_kubelet.finish,
    "hold": model_kubelet.hold,
    "fall silent": model_kubelet.fall_silent,
    "lose node": model_kubelet.lose_node,
}

moves = st.sampled_from(["exit 0", "exit 137", "delete"]) | st.sampled_from(sorted(MOVES))
"""Half of the moves are the important ones."""

CLOCK_STEPS = (0.4, 1.0, 7.0, 31.0, 301.0, 700.0)
CLOCK_JUMPS = (-2.0, -40.0, -4000.0, 4000.0)

lags = st.builds(
    Lag,
    job=st.sampled_from([0, 0, 1, 2]),
    pods=st.sampled_from([0, 1, 2, 5]),
    services=st.sampled_from([0, 2, 5]),
    group=st.sampled_from([0, 1]),
)
settings = st.builds(Settings, gang_scheduler_name=st.sampled_from(["", "", "volcano", "gangs"]))
policy_values: Mapping[str, st.SearchStrategy[Any]] = {
    "cleanPodPolicy": st.sampled_from(["None", "Running", "All"]),
    "ttlSecondsAfterFinished": st.none() | st.sampled_from([0, 5, 100]),
    "activeDeadlineSeconds": st.none() | st.sampled_from([0, 8, 400, 4000]),
    "backoffLimit": st.none() | st.integers(0, 4),
    "suspend": st.booleans(),
}


_KINDS = ("Worker", "PS", "Chief", "Evaluator", "Master")
_POLICY_KEYS = (
    "backoffLimit",
    "cleanPodPolicy",
    "ttlSecondsAfterFinished",
    "activeDeadlineSeconds",
)


def _at_first(kind: str) -> st.SearchStrategy[int]:
    """Mostly some replicas, and none now and then."""
    return st.sampled_from([MOST[kind], MOST[kind], 1, 0])


def counts(kind: str) -> st.SearchStrategy[int]:
    return st.integers(0, MOST[kind])


@st.composite
def manifests(draw: st.DrawFn) -> dict[str, Any]:
    """A valid TFJob of up to eight replicas."""
    kinds = draw(st.sets(st.sampled_from(_KINDS), min_size=1, max_size=3))
    found = manifest("")
    found["spec"]["tfReplicaSpecs"] = {
        kind: replica_spec(
            draw(_at_first(kind)),
            restartPolicy=draw(st.sampled_from(POLICIES)),
            containers=[container(resources={"requests": {"cpu": "1"}})],
        )
        for kind in sorted(kinds - ({"Master"} if "Chief" in kinds else set()))
    }
    found["spec"]["successPolicy"] = draw(st.sampled_from(["", "AllWorkers"]))
    found["spec"]["enableDynamicWorker"] = draw(st.sampled_from([False, False, True]))
    keys = draw(st.sets(st.sampled_from(_POLICY_KEYS), max_size=2))
    found["spec"]["runPolicy"] = {key: draw(policy_values[key]) for key in sorted(keys)}
    return found


lively_manifests = st.builds(
    manifest,
    st.sampled_from(["W3", "P2 W3", "C1 W2"]),
    restart=st.sampled_from(["ExitCode", "OnFailure"]),
    successPolicy=st.just("AllWorkers"),
)
"""Long-lived jobs: few limits end them."""


@st.composite
def clusters(draw: st.DrawFn) -> ModelCluster:
    """A job's cluster after some history: a state that can be reached."""
    given = draw(manifests() | lively_manifests)
    cluster = ModelCluster(given, settings=draw(settings))
    if draw(st.sampled_from([True, True, False])):
        cluster.run_pass()
        _step_start(cluster, draw)
    for _ in range(draw(st.integers(0, 12))):
        draw(st.sampled_from(_STEPS))(cluster, draw)
        if cluster.is_gone:
            break
    return cluster


def _step_pass(cluster: ModelCluster, draw: st.DrawFn) -> None:
    cluster.run_pass(lag=draw(lags))


def _step_pods(cluster: ModelCluster, draw: st.DrawFn) -> None:
    """Several pods make the same move at once, seen or not."""
    move = draw(moves)
    for name in sorted(cluster.pods):
        if draw(st.booleans()):
            MOVES[move](cluster, name)
    if draw(st.booleans()):
        cluster.run_pass()


def _step_start(cluster: ModelCluster, draw: st.DrawFn) -> None:
    cluster.admit()
    model_kubelet.start_all(cluster)


def _step_policy(cluster: ModelCluster, draw: st.DrawFn) -> None:
    key = draw(st.sampled_from(sorted(policy_values)))
    cluster.limit(**{key: draw(policy_values[key])})


def _step_scale(cluster: ModelCluster, draw: st.DrawFn) -> None:
    kind = draw(st.sampled_from(sorted(cluster.manifest["spec"]["tfReplicaSpecs"])))
    cluster.scale(kind, draw(counts(kind)))


def _step_clock(cluster: ModelCluster, draw: st.DrawFn) -> None:
    cluster.advance(draw(st.sampled_from(CLOCK_STEPS)))


_STEPS = (
    _step_pass,
    _step_pass,
    _step_start,
    _step_pods,
    _step_pods,
    _step_policy,
    _step_scale,
    _step_clock,
)
