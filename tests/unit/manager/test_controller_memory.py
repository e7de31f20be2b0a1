"""No state is kept for deleted jobs, however they were deleted."""

import asyncio
import gc
from collections.abc import Iterator
from types import CodeType, CoroutineType, FunctionType, ModuleType

import msgspec

from tests.support.local_apiserver.in_memory import CORE, JOBS
from tests.support.simulation.cluster import SimulatedCluster, simulated
from tests.support.tfjobs import tfjob
from tfjob.client.interning import Interner
from tfjob.dialects.kubeflow.v1 import KubeflowV1

EXIT_CODES = {"good-worker-0": [0], "bad-worker-0": [137, 1]}
_NOT_FOLLOWED = (
    *(type, CodeType, CoroutineType, ModuleType),
    *(asyncio.AbstractEventLoop, asyncio.Task),
    # It keeps parts of deleted objects, up to a limit.
    Interner,
)


def parts_of(each: object) -> Iterator[object]:
    """What an object refers to; nothing that is outside of the operator."""
    if isinstance(each, _NOT_FOLLOWED) or type(each).__module__.startswith("tests."):
        return
    if isinstance(each, FunctionType):
        yield each.__closure__
        return
    if isinstance(each, msgspec.Struct):
        yield from (getattr(each, name) for name in each.__struct_fields__)
    if isinstance(each, dict):
        yield from each
    yield from gc.get_referents(each)


def texts_in(root: object) -> set[str]:
    """All texts that can be reached from an object."""
    found: dict[int, object] = {}
    left = [root]
    while left:
        each = left.pop()
        if id(each) not in found:
            found[id(each)] = each
            left.extend(parts_of(each))
    return {each for each in found.values() if isinstance(each, str)}


async def marks(world: SimulatedCluster) -> set[str]:
    """The UIDs of all jobs and pods, and the names of all jobs."""
    jobs, pods = await world.server.listed(JOBS), await world.server.listed(f"{CORE}/pods")
    names = {each["metadata"]["name"] for each in jobs}
    return names | {each["metadata"]["uid"] for each in (*jobs, *pods)}


def test_deleted_jobs_leave_no_state() -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1())
        operator = world.operator()
        running = asyncio.create_task(operator.run())
        for name in ("good", "bad", "endless"):
            await world.ask("POST", JOBS, tfjob("W2", name=name, restart="ExitCode"))
        known = set[str]()
        for _ in range(100):
            await asyncio.sleep(2)
            known |= await marks(world)
        assert len(known) > 3 + 3 + 6
        assert texts_in(operator) & known
        for name in ("good", "bad", "endless"):
            await world.ask("DELETE", f"{JOBS}/{name}")
        await asyncio.sleep(600)
        assert await marks(world) == set()
        assert texts_in(operator) & known == set()
        operator.stop()
        await running

    simulated(act, lambda: SimulatedCluster(exit_codes=EXIT_CODES, dialects=[KubeflowV1()]))
