"""One simulated life of a few jobs under one seed, and everything that was wrong with it.

The same seed gives the same run. Faults end after a while; then the final state is checked, and
that no invariant was broken on the way.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence

import msgspec

from tests.support.simulation import virtual_time
from tests.support.simulation.checked import CheckedCluster
from tests.support.simulation.cluster import QUIET, end
from tests.support.simulation.connection import Connection, FaultInjector, InjectedFault
from tests.support.simulation.jobs import Expected, random_job
from tfjob.controller.pacing import PacingConfig

FAULTY = 300.0
PATIENCE = 2000.0
REST = 60.0
"""Seconds: how long faults happen, how long jobs may take, and how long rest is observed."""
SETTLING = 400.0
"""Seconds after which all events, with their counts, have been written."""
MOST_REQUESTS_PER_JOB = 120
LEASE_NAMESPACE = "kube-system"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate."""

    seed: int
    jobs: Sequence[Expected] = ()
    operators: int = 1
    fault_rate: float = 0.1
    may_crash: bool = True
    cuts: float = 0.0
    script: Mapping[int, InjectedFault] = {}
    pacing: PacingConfig = PacingConfig()


class Result(msgspec.Struct, frozen=True):
    faults: list[str]
    requests: int
    lives: int


def simulate(trial: Trial) -> Result:
    return virtual_time.run(_simulate(trial))


async def _simulate(trial: Trial) -> Result:
    chance = random.Random(trial.seed)  # noqa: S311 - a run must be repeatable
    jobs = trial.jobs or [random_job(f"j{number}", chance) for number in range(3)]
    injector = FaultInjector(
        chance=chance,
        fault_rate=trial.fault_rate,
        drops=trial.fault_rate,
        may_crash=trial.may_crash,
        script=dict(trial.script),
    )
    cluster = CheckedCluster(jobs, injector)
    await cluster.start()
    settings = msgspec.structs.replace(
        QUIET,
        is_leader_elected=trial.operators > 1,
        lease_namespace=LEASE_NAMESPACE,
        pacing=trial.pacing,
    )
    tasks = [
        asyncio.create_task(cluster.operate(settings, f"operator-{place}"))
        for place in range(trial.operators)
    ]
    tasks.append(asyncio.create_task(_cut(cluster, trial.cuts)))
    faults = await _rest(cluster)
    connections = list(cluster.connections)
    for task in tasks:
        await end(task)
    await cluster.stop()
    await asyncio.sleep(1.0)
    faults += [f"task left: {task!r}" for task in asyncio.all_tasks() - {asyncio.current_task()}]
    return Result(faults, requests=_requests(connections), lives=len(connections))


async def _rest(cluster: CheckedCluster) -> list[str]:
    """Wait until everything has ended and faults are over; then list what is wrong."""
    loop = asyncio.get_running_loop()
    while loop.time() < PATIENCE and not cluster.have_all_ended:
        cluster.injector.is_calm = loop.time() > FAULTY
        await asyncio.sleep(1.0)
    cluster.injector.is_calm = True
    await asyncio.sleep(SETTLING)
    before = cluster.backend.store.revision, _requests(cluster.connections)
    await asyncio.sleep(REST)
    after = cluster.backend.store.revision, _requests(cluster.connections)
    faults = [*cluster.invariants.broken, *await cluster.leftovers(), *_wrong_ends(cluster)]
    if before != after and len(cluster.operators) == 1:
        faults.append(f"no rest: {before} became {after}")
    # A periodic resync may have begun in this very second.
    await asyncio.sleep(0.5)
    for name, operator in cluster.operators.items():
        left = [
            (len(each.queue), each.queue.delayed, each.expected) for each in operator.controllers
        ]
        if any(map(any, left)):
            faults.append(f"{name}: waiting, delayed and awaited keys {left}")
    if _requests(cluster.connections) > MOST_REQUESTS_PER_JOB * len(cluster.jobs):
        faults.append(f"{_requests(cluster.connections)} requests")
    return faults


def _wrong_ends(cluster: CheckedCluster) -> list[str]:
    ends = cluster.invariants.ends
    return [
        f"{job.name}: ended as {ends.get(job.name)}, expected {sorted(job.ends)}"
        for job in cluster.jobs
        if ends.get(job.name) not in job.ends
    ]


async def _cut(cluster: CheckedCluster, often: float) -> None:
    """Disconnect an operator now and then, for longer or shorter than a lease lasts."""
    chance = cluster.injector.chance
    while often and not cluster.injector.is_calm:
        await asyncio.sleep(chance.expovariate(often))
        connection = cluster.connections[-chance.randint(1, min(2, len(cluster.connections)))]
        connection.is_cut = True
        await asyncio.sleep(chance.uniform(1.0, 40.0))
        connection.is_cut = False


def _requests(connections: Sequence[Connection]) -> int:
    """Requests about jobs: not the watches, and not the lease, which go on for ever."""
    return sum(
        number
        for connection in connections
        for name, number in connection.requests.items()
        if not name.startswith(("watch ", "list ")) and "/leases" not in name
    )
