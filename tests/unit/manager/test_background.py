"""No task dies in silence: whatever ends in the background heals, or ends the operator loudly."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tests.support.fake_dialect import FakeDialect
from tests.support.simulation.cluster import QUIET, SimulatedCluster, simulated
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager.background import TaskEndedError, supervised

SETTINGS = msgspec.structs.replace(QUIET, is_leader_elected=True, lease_namespace="kube-system")
Work = Callable[..., Awaitable[None]]


async def fails(*_: object) -> None:
    await asyncio.sleep(5)
    raise LookupError("a bug of ours")


async def returns(*_: object) -> None:
    await asyncio.sleep(5)


async def cancels_itself(*_: object) -> None:
    await asyncio.sleep(5)
    raise asyncio.CancelledError


TASKS = {
    "tfjob.manager.controller.Controller.run": "controller of ",
    "tfjob.manager.app.Operator._take_up_work": "start of work on ",
    "tfjob.client.events.EventRecorder.run": "event sender",
    "tfjob.manager.app.Operator._measure": "metrics",
    "tfjob.manager.app.Operator._resync": "resync",
    "tfjob.client.leader_election.LeaderElector.run": "leader election",
    "tfjob.manager.app.Operator._tell_leadership": "leadership log",
    "tfjob.client.informer.Informer.run": "watch of ",
    "tfjob.controller.worker.Worker.run": "worker for ",
    "tfjob.manager.controller.Controller._follow_later": "search for boards.example/v1/boards",
}


@pytest.mark.parametrize("work", [fails, returns, cancels_itself])
@pytest.mark.parametrize("target", TASKS)
def test_background_task_that_ends_unasked_ends_the_operator_and_is_named(
    target: str, work: Work, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        monkeypatch.setattr(target, work)
        error = LookupError if work is fails else TaskEndedError
        with caplog.at_level(logging.CRITICAL), pytest.raises(error):
            async with asyncio.timeout(600):
                await world.operator(SETTINGS).run()

    simulated(act, SimulatedCluster)
    told = [each for each in caplog.records if each.levelno == logging.CRITICAL]
    assert {each.getMessage() for each in told} == {"background task failed: the operator ends"}
    assert any(TASKS[target] in _words(each) for each in told)


def _words(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


async def test_who_is_asked_to_end_ends_without_an_error() -> None:
    done = asyncio.create_task(supervised(returns_at_once, name="t", may_end=lambda: True))
    await done
    waiting = asyncio.create_task(supervised(waits, name="t"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def returns_at_once() -> None:
    pass


async def waits() -> None:
    await asyncio.Event().wait()
