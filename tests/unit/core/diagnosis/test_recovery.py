"""Recovery: a consequence of a loss neither fails the job nor counts."""

from typing import Any

import pytest

from tests.support.builders import Passes, a_pod, at, deleted_names, manifest, pods
from tfjob.core.diagnosis.diagnosis import names
from tfjob.core.job import Recovery
from tfjob.core.plan import Rule
from tfjob.dialects.base import Settings
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, Running, Terminated

ANNOTATION = {"tfjob.dev/recovery": "Replica"}


def running(roles: str = "W3", *, restart: str = "ExitCode", **fields: Any) -> Passes:
    settings = fields.pop("settings", None)
    given = manifest(roles, restart=restart, **fields)
    passes = Passes(given, settings)
    passes.go()
    passes.go(*pods(worker="RRR"), now=at(1))
    return passes


def failed(index: int, code: int, seconds: float, *, since: float = -50, **fields: Any) -> Pod:
    return a_pod("worker", index, "Failed", exit_code=code, ran=(since, seconds), **fields)


def in_place(index: int, seconds: float, *, code: int = 1, restarts: int = 1) -> Pod:
    """A worker whose container the kubelet has restarted."""
    ended = Terminated(
        exit_code=code,
        reason="Error",
        started_at=time.render(at(-50)),
        finished_at=time.render(at(seconds)),
    )
    status = ContainerStatus(
        name="tensorflow",
        restart_count=restarts,
        state=ContainerState(running=Running(time.render(at(seconds + 1)))),
        last_state=ContainerState(terminated=ended),
    )
    return a_pod("worker", index, others=[status])


def restarts(passes: Passes) -> int:
    return passes.job.status.restarts


def test_a_survivor_that_follows_a_kill_is_restarted_and_not_counted() -> None:
    passes = running(run_policy={"backoffLimit": 1})
    passes.go(*pods(worker="R-R"), failed(1, 137, 2), now=at(3))
    assert restarts(passes) == 1
    plan = passes.go(*pods(worker="--R"), failed(0, 1, 9), now=at(10))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert [each.rule for each in plan.deletes] == [Rule.PEER_LOST]
    assert not passes.job.status.is_finished
    assert restarts(passes) == 1
    passes.go(*pods(worker="RR"), failed(2, 1, 11), now=at(12))
    assert (passes.job.status.is_finished, restarts(passes)) == (False, 1)


@pytest.mark.parametrize(
    ("since", "seconds", "is_failed"),
    [
        pytest.param(8, 27, False, id="restarted-between-the-losses"),
        pytest.param(8, 82, False, id="within-the-window-of-the-second"),
        pytest.param(8, 83, True, id="too-late"),
        pytest.param(23, 27, True, id="started-after-both"),
    ],
)
def test_a_survivor_may_follow_each_of_several_losses_of_one_cause(
    since: float, seconds: float, is_failed: bool
) -> None:
    """As when a node after another is drained: the first survivor is hit again by the second."""
    passes = running()
    passes.go(*pods(worker="-RR"), failed(0, 137, 2, uid="a"), now=at(3))
    passes.go(*pods(worker="R-R"), failed(1, 1, 4, uid="b"), now=at(5))
    passes.go(*pods(worker="RR"), failed(2, 137, 22, uid="c"), now=at(23))
    follower = failed(1, 1, seconds, since=since, uid="d")
    passes.go(*pods(worker="R-R"), follower, now=at(seconds + 1))
    assert passes.job.status.is_finished is is_failed


def test_cause_and_consequence_seen_together_count_once() -> None:
    passes = running(run_policy={"backoffLimit": 1})
    found = (failed(0, 1, 9), failed(1, 137, 2), failed(2, 1, 9))
    plan = passes.go(*found, now=at(10))
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert (passes.job.status.is_finished, restarts(passes)) == (False, 1)


def test_a_replica_that_still_runs_is_never_touched() -> None:
    passes = running()
    plan = passes.go(*pods(worker="R-R"), failed(1, 137, 2), now=at(3))
    assert deleted_names(plan, "Pod") == ["j-worker-1"]


def test_a_first_failure_with_a_permanent_code_fails_the_job() -> None:
    passes = running()
    passes.go(*pods(worker="-RR"), failed(0, 1, 9), now=at(10))
    assert passes.job.status.is_finished


def test_a_failure_with_evidence_of_its_own_counts_although_a_peer_was_lost() -> None:
    passes = running(run_policy={"backoffLimit": 5})
    passes.go(*pods(worker="R-R"), failed(1, 137, 2), now=at(3))
    passes.go(*pods(worker="-RR"), failed(0, 137, 9, reason="OOMKilled"), now=at(10))
    assert restarts(passes) == 2


def test_a_replica_that_fails_again_by_itself_fails_the_job() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed(1, 137, 2), now=at(3))
    passes.go(*pods(worker="-RR"), failed(0, 1, 9), now=at(10))
    passes.go(*pods(worker="-RR"), now=at(11))
    again = failed(0, 1, 30, since=20, uid="second")
    passes.go(*pods(worker="-RR"), again, now=at(31))
    assert passes.job.status.is_finished


def test_a_restarted_replica_may_lose_those_that_are_still_to_end() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), failed(1, 137, 2), now=at(3))
    passes.go(*pods(worker="-RR"), failed(0, 1, 9), now=at(10))
    passes.go(*pods(worker="RR"), failed(2, 1, 14), now=at(15))
    again = failed(1, 1, 16, since=6, uid="second")
    passes.go(*pods(worker="R-R"), again, now=at(17))
    assert not passes.job.status.is_finished
    assert restarts(passes) == 1


@pytest.mark.parametrize(
    "fields",
    [{"settings": Settings(recovery="Replica")}, {"annotations": ANNOTATION}],
    ids=["setting", "annotation"],
)
def test_the_peer_s_rules_are_a_setting(fields: dict[str, Any]) -> None:
    passes = running(**fields)
    assert passes.job.semantics.recovery is Recovery.REPLICA
    passes.go(*pods(worker="R-R"), failed(1, 137, 2), now=at(3))
    passes.go(*pods(worker="-RR"), failed(0, 1, 9), now=at(10))
    assert passes.job.status.is_finished


def test_an_annotation_overrules_the_operator() -> None:
    passes = running(
        settings=Settings(recovery="Replica"), annotations={"tfjob.dev/recovery": "Auto"}
    )
    assert passes.job.semantics.recovery is Recovery.AUTO


def test_restarts_in_place_that_follow_a_loss_do_not_count() -> None:
    passes = running(restart="OnFailure", run_policy={"backoffLimit": 3})
    killed = in_place(1, 2, code=137)
    passes.go(*pods(worker="R-R"), killed, now=at(3))
    passes.go(in_place(0, 9), killed, *pods(worker="--R"), now=at(10))
    passes.go(in_place(0, 9), killed, in_place(2, 10), now=at(11))
    assert not passes.job.status.is_finished
    records = {each.index: each for each in passes.job.status.of("Worker").records}
    assert [records[index].excused for index in range(3)] == [1, 0, 1]
    third = in_place(1, 300, code=137, restarts=2)
    passes.go(in_place(0, 9), third, in_place(2, 10), now=at(301))
    assert not passes.job.status.is_finished
    fourth = in_place(1, 600, code=137, restarts=3)
    passes.go(in_place(0, 9), fourth, in_place(2, 10), now=at(601))
    assert passes.job.status.is_finished


def test_the_chief_follows_a_parameter_server_and_a_worker_does_not() -> None:
    given = manifest("C1 P1 W1", restart="ExitCode")
    passes = Passes(given)
    passes.go()
    passes.go(*pods(chief="R", ps="R", worker="R"), now=at(1))
    server = a_pod("ps", 0, "Failed", exit_code=137, ran=(-50, 2))
    passes.go(*pods(chief="R", worker="R"), server, now=at(3))
    chief = a_pod("chief", 0, "Failed", exit_code=1, ran=(-50, 6))
    plan = passes.go(*pods(ps="R", worker="R"), chief, now=at(7))
    assert deleted_names(plan, "Pod") == ["j-chief-0"]
    worker = a_pod("worker", 0, "Failed", exit_code=1, ran=(-50, 8))
    passes.go(*pods(ps="R"), chief, worker, now=at(9))
    assert passes.job.status.is_finished


def test_survivors_that_are_restarted_in_place_cost_one_write_for_all() -> None:
    passes = running(restart="OnFailure")
    lost = in_place(1, 2, code=137)
    passes.go(lost, *pods(worker="R-R"), now=at(3))
    for index, seconds in ((0, 5), (2, 9)):
        others = [a_pod("worker", other) for other in (0, 2) if other != index]
        plan = passes.go(lost, in_place(index, seconds), *others, now=at(seconds + 1))
        assert (plan.status, plan.requeue_at) == (None, at(62))
    passes.go(lost, in_place(0, 5), in_place(2, 9), now=at(62))
    found = passes.job.status.diagnosis
    assert found is not None
    assert names(found.incidents[0].consequences) == ["worker-0", "worker-2"]
    assert found.incidents[0].until == at(9)


def test_a_sidecar_that_crashes_after_a_consequence_counts() -> None:
    passes = running(restart="OnFailure", run_policy={"backoffLimit": 3})
    lost, survivor = in_place(1, 2, code=137), in_place(0, 5)
    passes.go(lost, survivor, *pods(worker="--R"), now=at(6))
    for crashes in (1, 2):
        assert not passes.job.status.is_finished
        proxy = ContainerStatus(
            name="proxy", restart_count=crashes, state=ContainerState(running=Running())
        )
        (own,) = survivor.status.container_statuses
        again = a_pod("worker", 0, others=[own, proxy])
        passes.go(lost, again, *pods(worker="--R"), now=at(6 + crashes))
    assert passes.job.status.is_finished
