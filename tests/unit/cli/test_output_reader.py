import asyncio
import os
import sys

import pytest

from tfjob.cli.output_reader import ended_with_reader


async def wait_for_ever() -> None:
    async with ended_with_reader():
        await asyncio.Event().wait()


def test_waiting_ends_when_the_reader_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            asyncio.run(wait_for_ever())


def test_a_cancellation_from_outside_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(wait_for_ever())
        await asyncio.sleep(0)
        task.cancel()
        await task

    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(cancelled())


def test_output_to_a_file_is_not_watched(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def once() -> str:
        async with ended_with_reader():
            return "done"

    with (tmp_path_factory.mktemp("out") / "file").open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert asyncio.run(once()) == "done"
