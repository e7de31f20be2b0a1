"""`python -m tests.chaos`: jobs of two tenants while everything around the operator fails.

At the end each job must be in the state that the exits of its containers demand, nothing may be
orphaned, and nothing may have run twice. A failure prints the seed and the last faults.
"""

import argparse
import asyncio
import random
import secrets
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from tests.chaos.faults import PATIENCE_SECONDS, Faults
from tests.chaos.jobs import KINDS
from tests.chaos.tenant import Tenant
from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.processes import Processes
from tests.support.faulty_proxy import FaultyProxy
from tests.support.operator_process import OperatorProcess
from tfjob.dialects.kubeflow.v1 import KubeflowV1

QUOTA = 96 << 20
TENANTS = 2
LAST_FAULTS = 30
_STANDSTILL_SECONDS = 300.0
"""A recovery has failed if nothing changes for this long."""
_SUBMITTING_SHARE = 0.7


@dataclass(frozen=True)
class Asked:
    seconds: float
    seed: int
    jobs: int


async def run(asked: Asked) -> list[str]:
    """What was wrong at the end."""
    plane = ControlPlane(etcd_quota=QUOTA, patience=PATIENCE_SECONDS)
    await asyncio.to_thread(plane.start)
    try:
        await asyncio.to_thread(plane.install_crds, [KubeflowV1().crd()])
        return await _run_on(plane, asked)
    finally:
        await asyncio.to_thread(plane.stop)


async def _run_on(plane: ControlPlane, asked: Asked) -> list[str]:
    rng = random.Random(asked.seed)  # noqa: S311 - a seed repeats it
    proxy = FaultyProxy(plane.endpoint)
    processes = Processes(plane.folder)
    async with AsyncExitStack() as stack:
        stack.callback(processes.close)
        endpoint = await stack.enter_async_context(proxy.serving())
        kubeconfig = plane.folder / "kubeconfig-proxy"
        kubeconfig.write_text(endpoint.kubeconfig())
        operator = OperatorProcess(kubeconfig, name="operator", processes=processes)
        stack.callback(operator.close)
        await asyncio.to_thread(operator.start)
        tenants: list[Tenant] = []
        for number in range(TENANTS):
            namespace = await asyncio.to_thread(plane.create_namespace, f"tenant-{number}-")
            own = random.Random(rng.random())  # noqa: S311 - the same
            tenant = Tenant(plane.endpoint, namespace, own)
            tenants.append(await stack.enter_async_context(tenant))
        faults = Faults(plane, operator, proxy, rng=rng)
        await _disturb(tenants, faults, asked, rng)
        proxy.clear()
        await asyncio.to_thread(operator.start, ready=False)
        return await _verdict(tenants, faults, operator)


async def _disturb(
    tenants: Sequence[Tenant], faults: Faults, asked: Asked, rng: random.Random
) -> None:
    """Submit the jobs, and let faults happen until the time is over."""
    began = time.monotonic()
    share = asked.seconds * _SUBMITTING_SHARE
    each = asked.jobs // len(tenants)
    async with asyncio.TaskGroup() as group:
        for tenant in tenants:
            group.create_task(tenant.submit(KINDS, jobs=each, seconds=share))
        is_filled = False
        while time.monotonic() - began < asked.seconds:
            await asyncio.sleep(rng.uniform(0.5, 5))
            if not is_filled and time.monotonic() - began > asked.seconds / 2:
                is_filled = True
                await faults.space_exhausted()
            else:
                await faults.one()


async def _verdict(
    tenants: Sequence[Tenant], faults: Faults, operator: OperatorProcess
) -> list[str]:
    """Wait until all is as it must be; what is not is told."""
    began = changed_at = time.monotonic()
    wrong: list[str] = []
    while True:
        before = wrong
        wrong = [line for tenant in tenants for line in await tenant.unsettled()]
        if wrong != before:
            changed_at = time.monotonic()
        if not wrong or time.monotonic() - changed_at > _STANDSTILL_SECONDS:
            break
        await asyncio.sleep(1)
    print(f"settled {time.monotonic() - began:.0f} s after the last fault", flush=True)
    wrong += [line for tenant in tenants for line in await tenant.faults()]
    if not operator.is_alive:
        wrong.append("the operator has ended")
    if wrong:
        wrong += ["the last faults:", *faults.told[-LAST_FAULTS:]]
        wrong += ["the last words of the operator:", operator.last_words()]
        for tenant in tenants:
            wrong += await tenant.last_events()
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults happen")
    parser.add_argument("--seed", type=int, help="repeats the draws of an earlier run")
    parser.add_argument("--jobs", type=int, default=200, help="of all tenants together")
    wishes = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if wishes.seed is None else wishes.seed
    print(f"seed {seed}, {wishes.jobs} jobs, {wishes.seconds:.0f} s", flush=True)
    wrong = asyncio.run(run(Asked(wishes.seconds, seed, wishes.jobs)))
    if wrong:
        print("\n".join([f"FAILED: repeat with SEED={seed}", *wrong]))
        return 1
    print(f"chaos: every job ended as it must; seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
