"""Replicas of real TensorFlow jobs are killed at random: the jobs go on, and know what happened.

TFJOB_SEED repeats the draws of an earlier run; TFJOB_KILLS asks for another number of kills. The
time from a kill until all replicas train again is printed, with the mode of recovery.
"""

import importlib.util
import itertools
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.chaos import assert_nothing_is_left
from tests.support.controlplane.cluster import PlaneStarter
from tests.support.controlplane.toolchain import Toolchain
from tests.support.go_operator import GoOperator
from tests.support.killed_replicas import Kills, ProgramJob
from tests.support.local_cluster import WHOLE, LocalCluster

SEED = int(os.environ.get("TFJOB_SEED") or secrets.randbelow(1_000_000))
KILLS = int(os.environ.get("TFJOB_KILLS") or 20)
PROGRAMS = Path(__file__).parent / "programs"
COLLECTIVE, SERVERS, INDEPENDENT = (
    PROGRAMS / f"{name}.py" for name in ("collective", "servers", "independent")
)
MOST_PER_JOB = 3
"""The delay before a restart grows with each failure of a replica; a new job begins anew."""
WORKERS = ("worker-0", "worker-1", "worker-2")


@contextmanager
def local_cluster(folder: Path, *, parts: tuple[str, ...] = WHOLE) -> Iterator[LocalCluster]:
    assert importlib.util.find_spec("tensorflow"), "NO TENSORFLOW: `make e2e-local` installs it"
    with LocalCluster(folder, workdir=PROGRAMS, parts=parts) as cluster:
        yield cluster
        cluster.end()
        assert_nothing_is_left(cluster)


def jobs_until(
    kills: Kills, cluster: LocalCluster, folder: Path
) -> Iterator[tuple[ProgramJob, int]]:
    """New jobs, each with the kills that it is to survive, until all kills are made."""
    while kills.count < KILLS:
        name = f"job-{kills.count}"
        yield ProgramJob(cluster, folder / name, name), min(MOST_PER_JOB, KILLS - kills.count)


@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("mode", ["Auto", "Group"])
def test_a_collective_job_survives_the_loss_of_its_workers(tmp_path: Path, mode: str) -> None:
    kills = Kills(f"collective, {mode}", seed=SEED)
    with local_cluster(tmp_path / "cluster") as cluster:
        for job, count in jobs_until(kills, cluster, tmp_path):
            job.submit(COLLECTIVE, {"Worker": 3}, mode=mode)
            victims = [kills.choose(WORKERS) for _ in range(count)]
            for victim in victims:
                kills.one(job, victim, trainers=WORKERS)
            job.finish()
            assert_survived(job, victims)
            assert [replica for _, replica in job.causes()] == victims
            for worker in WORKERS:
                assert_resumed(job, worker)
            assert len({job.last_step(worker) for worker in WORKERS}) == 1
    kills.sum_up()


@pytest.mark.timeout(7200, func_only=True)
def test_a_collective_job_in_mode_replica_fails(tmp_path: Path) -> None:
    kills = Kills("collective, Replica", seed=SEED)
    with local_cluster(tmp_path / "cluster") as cluster:
        job = ProgramJob(cluster, tmp_path / "job", "job")
        job.submit(COLLECTIVE, {"Worker": 3}, mode="Replica")
        kills.one(job, kills.choose(WORKERS), trainers=WORKERS)
        assert job.verdict() == "Failed", job.status()


@pytest.mark.timeout(7200, func_only=True)
def test_a_collective_job_under_training_operator_fails(
    tmp_path: Path, start_control_plane: PlaneStarter
) -> None:
    """A job that loses nobody succeeds there, on the same node."""
    kills = Kills("collective, training-operator", seed=SEED)
    plane = start_control_plane()
    peer = GoOperator(plane, Toolchain(os.environ))
    plane.install_crds([peer.crd()])
    peer.prepare()
    data = tmp_path / "cluster" / "data"
    data.mkdir(parents=True, mode=0o700)
    (data / "kubeconfig").write_text(plane.kubeconfig.read_text())
    try:
        peer.start()
        with local_cluster(tmp_path / "cluster", parts=("node",)) as cluster:
            spared, lost = (
                ProgramJob(cluster, tmp_path / name, name) for name in ("spared", "lost")
            )
            spared.submit(COLLECTIVE, {"Worker": 3}, mode="Replica")
            spared.until_all_train(WORKERS)
            spared.finish()
            assert spared.verdict() == "Succeeded", spared.status()
            lost.submit(COLLECTIVE, {"Worker": 3}, mode="Replica")
            kills.one(lost, kills.choose(WORKERS), trainers=WORKERS)
            assert lost.verdict() == "Failed", lost.status()
    finally:
        peer.close()


@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("victims", [("chief-0", "worker-0", "worker-1"), ("ps-0",)], ids="/".join)
@pytest.mark.parametrize("mode", ["Auto", "Group"])
def test_a_job_with_parameter_servers_resumes_from_its_checkpoint(
    tmp_path: Path, mode: str, victims: Sequence[str]
) -> None:
    kills = Kills(f"parameter servers, {mode}, {'/'.join(victims)}", seed=SEED)
    with local_cluster(tmp_path / "cluster") as cluster:
        for job, count in jobs_until(kills, cluster, tmp_path):
            job.submit(SERVERS, {"Chief": 1, "PS": 1, "Worker": 2}, mode=mode)
            killed = [kills.choose(victims) for _ in range(count)]
            for victim in killed:
                kills.one(job, victim, trainers=["chief-0"])
            job.finish()
            assert_survived(job, killed)
            assert_resumed(job, "chief-0")
    kills.sum_up()


@pytest.mark.timeout(7200, func_only=True)
def test_workers_that_need_nobody_keep_their_pods_when_another_is_lost(tmp_path: Path) -> None:
    kills = Kills("independent, Auto", seed=SEED)
    with local_cluster(tmp_path / "cluster") as cluster:
        for job, count in jobs_until(kills, cluster, tmp_path):
            job.submit(INDEPENDENT, {"Worker": 3}, mode="Auto")
            job.until_all_train(WORKERS)
            before = job.uids()
            for _ in range(count):
                kills.one(job, "worker-1", trainers=WORKERS)
            after = job.uids()
            assert [before[each] == after[each] for each in WORKERS] == [True, False, True]
            job.finish()
            assert_survived(job, ["worker-1"] * count)
    kills.sum_up()


def assert_survived(job: ProgramJob, killed: Sequence[str]) -> None:
    """The job has succeeded, and names each kill, and nothing else, as what happened."""
    assert job.verdict() == "Succeeded", job.status()
    # Kills of different replicas within a minute may be one incident.
    assert sorted(job.causes()) == sorted(("Killed", each) for each in killed), job.status()
    assert job.restarts() == len(killed), job.status()


def assert_resumed(job: ProgramJob, replica: str) -> None:
    """Each new process goes on from a saved step, which is at most ten steps back."""
    for (pid, step), (next_pid, next_step) in itertools.pairwise(job.history(replica)):
        assert next_pid == pid or next_step > step - 10, (pid, step, next_pid, next_step)
