"""Readers of the logs of a job's replicas."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.builders import a_pod
from tfjob.cli import replica_logs
from tfjob.cli.replica_logs import ReplicaLogs


class RefusingApi:
    """An API server that must get no request."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


async def test_nothing_is_read_after_the_end() -> None:
    api: Any = RefusingApi()
    logs = ReplicaLogs(api, api, wanted="all", record=lambda _replica, _line: None)
    await logs.close()
    before = asyncio.all_tasks()
    logs.follow(a_pod("worker", 0, "Succeeded", exit_code=0), "worker-0")
    assert asyncio.all_tasks() == before


async def test_each_run_of_a_pod_has_its_own_time_to_deliver_its_last_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def endless(*_: object, **__: object) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    monkeypatch.setattr(replica_logs, "log_lines", endless)
    api: Any = RefusingApi()
    logs = ReplicaLogs(api, api, wanted="all", record=lambda _replica, _line: None)
    first, second = (a_pod(exit_code=1, restarts=restarts) for restarts in range(2))
    loop = asyncio.get_running_loop()
    now = loop.time()
    for pod in (first, second):
        logs.follow(pod, "worker-0")
    with monkeypatch.context() as patch:
        patch.setattr(loop, "time", lambda: now)
        assert logs.is_behind(first)
        patch.setattr(loop, "time", lambda: now + replica_logs._DRAIN_TIMEOUT)
        assert not logs.is_behind(first)
        assert logs.is_behind(second)
    await logs.close()
