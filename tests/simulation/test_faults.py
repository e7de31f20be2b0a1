"""Real operators and a real API server under seeded faults: the right end, and nothing twice.

Each failure names its seed; the same seed plays the same run again.
"""

import statistics

import pytest

from tests.support.simulation.connection import InjectedFault
from tests.support.simulation.jobs import Expected
from tests.support.simulation.run import Result, Trial, simulate
from tests.support.tfjobs import tfjob
from tfjob.controller.pacing import PacingConfig

BATCH = 15


def check(trial: Trial) -> Result:
    result = simulate(trial)
    assert result.faults == [], f"seed {trial.seed}: {result.faults}"
    return result


def seeds(batch: int) -> range:
    return range(batch * BATCH, (batch + 1) * BATCH)


@pytest.mark.scenario("R22", "R37", "R38")
@pytest.mark.parametrize("batch", range(3))
def test_jobs_end_right_over_a_network_that_loses_delays_and_rejects(batch: int) -> None:
    for seed in seeds(batch):
        check(Trial(seed=seed, fault_rate=0.25, may_crash=False))


@pytest.mark.scenario("R22")
@pytest.mark.parametrize("batch", range(4))
def test_jobs_end_right_under_an_operator_that_dies_again_and_again(batch: int) -> None:
    lives = [check(Trial(seed=seed, fault_rate=0.2)).lives for seed in seeds(batch)]
    assert max(lives) > 3


@pytest.mark.scenario("R37")
@pytest.mark.parametrize("batch", range(3))
def test_jobs_end_right_while_operators_lose_the_lead_to_each_other(batch: int) -> None:
    for seed in seeds(batch):
        check(Trial(seed=seed, operators=2, fault_rate=0.1, cuts=0.02))


def test_jobs_end_right_without_pacing() -> None:
    for seed in seeds(0):
        check(Trial(seed=seed, fault_rate=0.2, pacing=PacingConfig(is_on=False)))


def restarting_job() -> Expected:
    """Two workers, the first of which is started twice more and decides; nothing may stay."""
    return Expected(
        manifest=tfjob("W2", restart="ExitCode", run_policy={"cleanPodPolicy": "All"}),
        exit_codes={"j-worker-0": [137, 137, 0]},
        ends=frozenset({"Succeeded"}),
        has_ttl=False,
    )


@pytest.mark.parametrize(
    "fault", [InjectedFault.CRASH_BEFORE, InjectedFault.CRASH_AFTER, InjectedFault.LOST]
)
def test_job_ends_right_whichever_request_is_the_last(fault: InjectedFault) -> None:
    job = restarting_job()
    calm = check(Trial(seed=1, jobs=[job], fault_rate=0.0))
    for place in range(1, calm.requests + 1):
        check(Trial(seed=1, jobs=[job], fault_rate=0.0, script={place: fault}))


def test_calm_job_costs_few_requests() -> None:
    results = [
        check(Trial(seed=each, jobs=[restarting_job()], fault_rate=0.0)) for each in range(15)
    ]
    assert {each.lives for each in results} == {1}
    # Two services, four pods, two deletions for restarts and four at the end, and a fresh look at
    # the job before pods are made; the rest is status and events, which tell each of these, and the
    # cause of the restarts, once. Watches are late, as chance will have it, and what is not seen
    # may be asked for again.
    assert statistics.median(each.requests for each in results) < 64


def test_same_seed_gives_the_same_run() -> None:
    trial = Trial(seed=7, fault_rate=0.2)
    assert simulate(trial) == simulate(trial)


def test_invariants_notice_a_wrong_end() -> None:
    job = restarting_job()
    wrong = Expected(
        manifest=job.manifest, exit_codes=job.exit_codes, ends=frozenset(), has_ttl=True
    )
    faults = simulate(Trial(seed=1, jobs=[wrong], fault_rate=0.0)).faults
    assert faults == ["j: stored True, ttl True", "j: ended as Succeeded, expected []"]


def test_invariants_notice_a_pod_that_runs_too_often() -> None:
    job = Expected(
        manifest=tfjob("W1", restart="ExitCode", run_policy={"cleanPodPolicy": "None"}),
        exit_codes={"j-worker-0": [137, 143, 0]},
        ends=frozenset({"Succeeded"}),
        has_ttl=False,
    )
    faults = simulate(Trial(seed=1, jobs=[job], fault_rate=0.0)).faults
    assert faults == ["j-worker-0: made 3 times"]
