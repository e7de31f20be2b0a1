"""Readers of the logs of a job's replicas."""

import asyncio
from typing import Any

from tests.support.builders import a_pod
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
