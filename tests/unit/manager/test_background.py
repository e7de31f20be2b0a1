"""A background task that ends unexpectedly stops the operator with an error that names it."""

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
    raise LookupError("a bug")


async def returns(*_: object) -> None:
    await asyncio.sleep(5)


async def cancels_itself(*_: object) -> None:
    await asyncio.sleep(5)
    raise asyncio.CancelledError


TASKS = {
    "tfjob.manager.controller.Controller.run": "controller of ",
    "tfjob.manager.app.Operator._follow_leadership": "leadership of ",
    "tfjob.client.events.EventRecorder.run": "event sender",
    "tfjob.manager.app.Operator._update_gauges": "metrics",
    "tfjob.manager.app.Operator._resync": "resync",
    "tfjob.client.leader_election.LeaderElector.run": "leader election",
    "tfjob.client.informer.Informer.run": "informer of ",
    "tfjob.controller.worker.Worker.run": "worker for ",
    "tfjob.manager.controller.Controller._watch_when_served": "discovery of boards.example",
}


@pytest.mark.parametrize("work", [fails, returns, cancels_itself])
@pytest.mark.parametrize("target", TASKS)
def test_background_task_that_ends_unexpectedly_stops_the_operator_and_is_named(
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
    logged = [each for each in caplog.records if each.levelno == logging.CRITICAL]
    assert {each.getMessage() for each in logged} == {
        "background task failed: stopping the operator"
    }
    assert any(TASKS[target] in _text(each) for each in logged)


def _text(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


async def test_task_that_may_end_or_is_cancelled_raises_no_error_of_its_own() -> None:
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
