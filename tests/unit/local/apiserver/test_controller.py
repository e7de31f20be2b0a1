"""The controller base classes."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tfjob.local.apiserver import controller
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.controller import Controller, delay
from tfjob.local.apiserver.store import Key, Store, StoreFullError

KEY = Key("things", "ns", "a")


class RecordingController(Controller):
    """Records the keys it reconciles; fails the first time if asked to."""

    resource = "things"
    kind = "Thing"

    def __init__(self, backend: Backend, *, fails: bool = False) -> None:
        super().__init__(backend)
        self.seen: list[str] = []
        self.is_failing = fails
        self.is_busy = asyncio.Event()

    def reconcile(self, key: Key) -> None:
        if self.is_failing:
            self.is_failing = False
            raise StoreFullError("the disk is full")
        self.seen.append(key.name)
        self.is_busy.set()


def backend_at(path: Path, moment: datetime) -> Backend:
    return Backend(Store(path / "objects.sqlite"), clock=lambda: moment)


def thing(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "ns"}}


async def attended(one: RecordingController) -> None:
    task = asyncio.create_task(one.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await one.is_busy.wait()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_objects_that_exist_at_the_start_are_reconciled(tmp_path: Path) -> None:
    backend = backend_at(tmp_path, datetime.now(UTC))
    backend.store.put(KEY, thing("a"))
    one = RecordingController(backend)
    await attended(one)
    assert one.seen == ["a"]


async def test_a_controller_continues_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "_RETRY_SECONDS", 0.0)
    backend = backend_at(tmp_path, datetime.now(UTC))
    backend.store.put(KEY, thing("a"))
    one = RecordingController(backend, fails=True)
    await attended(one)
    assert one.seen == ["a"]


async def test_an_object_is_reconciled_when_it_is_due(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    one = RecordingController(backend_at(tmp_path, now))
    one.enqueue_at(KEY, now + timedelta(seconds=5))
    one.enqueue_at(KEY, now)
    await attended(one)
    assert one.seen == ["a"]


def test_an_owner_is_reconciled_when_its_child_changes(tmp_path: Path) -> None:
    one = RecordingController(backend_at(tmp_path, datetime.now(UTC)))
    pod = thing("p")
    refs = [{"kind": "Thing", "name": "a", "uid": "u", "controller": True}]
    pod["metadata"] = {"name": "p", "namespace": "ns", "ownerReferences": refs}
    one.backend.store.put(Key("pods", "ns", "p"), pod)
    one.step()
    assert (one.seen, one.is_idle) == (["a"], True)


def test_the_delay_doubles_up_to_six_minutes() -> None:
    seconds = [delay(failures).total_seconds() for failures in (0, 1, 2, 3, 6, 7, 1000)]
    assert seconds == [0, 10, 20, 40, 320, 360, 360]
