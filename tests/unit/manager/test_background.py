"""No background task fails silently: its error is retried, or stops the operator with a reason.

These tests list every task and timer of the operator, and fail if there is another one.
"""

import ast
import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tfjob
from tests.support.fake_dialect import FakeDialect, board_crd
from tests.support.local_apiserver.in_memory import DEFINITIONS, JOBS
from tests.support.simulation.cluster import QUIET, SimulatedCluster, simulated
from tests.support.tfjobs import tfjob as a_job
from tfjob.client.workqueue import WorkQueue
from tfjob.controller.reconciler import Reconciler
from tfjob.controller.result import Result
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.manager import app, controller
from tfjob.manager.background import TaskEndedError, supervised, unawaited_errors

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


def fails_at_once(*_: object) -> None:
    raise LookupError("a bug")


TASKS = {
    "tfjob.manager.controller.Controller.run": "controller of ",
    "tfjob.manager.app.Operator._follow_leadership": "leadership of ",
    "tfjob.client.events.EventRecorder.run": "event sender",
    "tfjob.manager.app.unawaited_errors": "timers",
    "tfjob.manager.app.Operator._update_gauges": "metrics",
    "tfjob.manager.app.Operator._resync": "resync",
    "tfjob.client.leader_election.LeaderElector.run": "leader election",
    "tfjob.client.informer.Informer.run": "informer of ",
    "tfjob.controller.worker.Worker.run": "worker for ",
    "tfjob.manager.controller.Controller._watch_when_served": "discovery of boards.example",
}


STARTED = {
    "client": {
        "connection.py: call_at",  # ends an exchange, and raises nothing
        "leader_election.py: call_at",
        "pool.py: call_later",  # closes idle connections, and raises nothing
        "workqueue.py: call_at",
    },
    "controller": {
        # In task groups, which raise what their tasks raise.
        "child_writer.py: create_task",
        "held_pods.py: create_task",
        "worker.py: ensure_future",  # a reconcile, which its worker awaits
    },
    "manager": {"app.py: create_task", "controller.py: create_task"},
}
"""Who starts tasks and timers. Whoever adds one adds a test of what happens when it fails."""


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


def test_every_background_task_is_one_whose_end_is_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: set[str] = set()

    async def noted(work: Work, *, name: str, may_end: Callable[[], bool] = bool) -> None:
        names.add(name)
        await supervised(work, name=name, may_end=may_end)

    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        for each in (app, controller):
            monkeypatch.setattr(each, "supervised", noted)
        operator = world.operator(SETTINGS)
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(60)
        await world.ask("POST", DEFINITIONS, board_crd())
        await asyncio.sleep(60)
        operator.stop()
        await running

    simulated(act, SimulatedCluster)
    assert "informer of Board for ToyJob.toy.example" in names
    assert {each for each in names if not any(part in each for part in TASKS.values())} == set()


@pytest.mark.parametrize("room", STARTED)
def test_nothing_else_starts_a_task_or_a_timer(room: str) -> None:
    folder = Path(tfjob.__file__).parent / room
    assert {each for path in folder.glob("**/*.py") for each in _starts(path)} == STARTED[room]


def _starts(path: Path) -> Iterator[str]:
    calls = {"create_task", "ensure_future", "call_at", "call_later", "call_soon"}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in calls:
            yield f"{path.name}: {called.attr}"


def test_informer_of_an_api_that_comes_later_stops_the_operator_when_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        running = asyncio.create_task(world.operator(SETTINGS).run())
        await asyncio.sleep(60)
        monkeypatch.setattr("tfjob.client.informer.Informer.run", fails)
        await world.ask("POST", DEFINITIONS, board_crd())
        with pytest.raises(LookupError) as raised:
            await running
        assert any("informer of Board" in each for each in raised.value.__notes__)

    simulated(act, SimulatedCluster)


@pytest.mark.parametrize("is_of_lease", [False, True])
def test_timer_that_fails_stops_the_operator_and_is_named(
    monkeypatch: pytest.MonkeyPatch, *, is_of_lease: bool
) -> None:
    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        operator = world.operator(SETTINGS)
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(60)
        assert operator._elector is not None
        if is_of_lease:
            monkeypatch.setattr(operator._elector.lost, "set", fails_at_once)
            for connection in world.connections:
                connection.is_cut = True
        else:
            monkeypatch.setattr(WorkQueue, "_on_timer", fails_at_once)
            await world.ask("POST", JOBS, a_job(run_policy={"activeDeadlineSeconds": 60}))
        with pytest.raises(LookupError) as raised:
            async with asyncio.timeout(600):
                await running
        assert "background task: timers" in raised.value.__notes__

    simulated(act, SimulatedCluster)


def test_reconcile_that_fails_is_logged_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    right = Reconciler.reconcile
    failures = iter([True, True])

    async def reconcile(
        self: Reconciler, key: tuple[str, str], *, max_creates: int | None = None
    ) -> Result:
        if next(failures, False):
            raise LookupError("a bug")
        return await right(self, key, max_creates=max_creates)

    async def act(world: SimulatedCluster) -> None:
        await world.start(KubeflowV1(), FakeDialect())
        operator = world.operator(SETTINGS)
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(60)
        monkeypatch.setattr(Reconciler, "reconcile", reconcile)
        await world.ask("POST", JOBS, a_job())
        await asyncio.sleep(60)
        assert await world.names("/api/v1/namespaces/default/pods") == ["j-worker-0"]
        operator.stop()
        await running

    simulated(act, SimulatedCluster)
    assert [each.getMessage() for each in caplog.records].count("reconcile failed") == 2


async def test_error_of_another_package_that_nobody_awaits_stops_nothing() -> None:
    watching = asyncio.create_task(unawaited_errors())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(fails_at_once)
    for _ in range(3):
        await asyncio.sleep(0)
    assert not watching.done()
    queue = WorkQueue[Any]()
    asyncio.get_running_loop().call_soon(queue.add, ["a list is no key"])
    with pytest.raises(TypeError, match="unhashable"):
        await watching
    assert asyncio.get_running_loop().get_exception_handler() is None


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
