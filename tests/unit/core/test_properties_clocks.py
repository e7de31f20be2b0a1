"""No outcome depends on a clock: a history has the same outcome if the clock jumps.

Setting the clock back can lengthen a delay by at most that much. So the same events happen at the
same times in both histories, each after all earlier delays are over.
"""

from typing import Any

import pytest
from hypothesis import example, given, note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support.builders import manifest
from tests.support.fake_kubelet import model_kubelet
from tests.support.model_cluster import ModelCluster
from tests.support.strategies import MOVES
from tfjob.core.status import ConditionType

JUMPS = (-600.0, -1.0, 0.0, 1.0, 600.0)
CALM = 400.0
"""Longer than any delay, so that all are over unless the clock is set back."""
SUSPEND, RESUME = "suspend", "resume"
STEPS = ("exit 0", "delete", "confirm", "finish", SUSPEND, RESUME, *sorted(MOVES))

manifests = st.builds(
    manifest,
    st.sampled_from(["W2", "C1 W2", "P1 W2"]),
    restart=st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"]),
    successPolicy=st.sampled_from(["", "AllWorkers"]),
    run_policy=st.sampled_from([{}, {"backoffLimit": 1}, {"backoffLimit": 3}]),
)
histories = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 4), st.sampled_from(JUMPS)), max_size=14
)


def step(cluster: ModelCluster, name: str, pick: int, *, wait: float = CALM) -> None:
    """One event happens, the operator handles it, and its pods start and end as it wants."""
    if name in {SUSPEND, RESUME}:
        cluster.suspend(is_suspended=name == SUSPEND)
    elif cluster.pods:
        names = sorted(cluster.pods)
        MOVES[name](cluster, names[pick % len(names)])
    cluster.settle(most=5)
    cluster.advance(wait)
    cluster.settle(most=5)
    model_kubelet.start_all(cluster)
    cluster.settle(most=5)


def decided(cluster: ModelCluster) -> tuple[Any, ...]:
    status = cluster.status
    replicas = {
        kind: (each.active, each.succeeded, each.failed, each.restarts, each.completed)
        for kind, each in status.replicas.items()
    }
    ends = [status.is_true(kind) for kind in (ConditionType.SUCCEEDED, ConditionType.FAILED)]
    pods = {name: (pod.metadata.uid, pod.phase) for name, pod in cluster.pods.items()}
    return ends, replicas, pods


@pytest.mark.scenario(149)
@given(given_job=manifests, history=histories)
@example(
    given_job=manifest("P1 W2", restart="Always", run_policy={"backoffLimit": 1}),
    history=[("delete", 1, -600.0), ("delete", 1, -600.0), ("exit 0", 0, -600.0)],
)
@hypothesis_settings(max_examples=150)
def test_clocks_that_jump_while_the_operator_watches_change_no_verdict(
    given_job: dict[str, Any], history: list[tuple[str, int, float]]
) -> None:
    calm, jumpy = ModelCluster(given_job), ModelCluster(given_job)
    for cluster in (calm, jumpy):
        step(cluster, RESUME, 0)
    for name, pick, jump in history:
        jumpy.advance(jump)
        for cluster in (calm, jumpy):
            step(cluster, name, pick, wait=CALM - min(jump, 0.0))
        note(f"{name} {pick} {jump}: {calm.status} {jumpy.status}")
        assert decided(jumpy) == decided(calm)
