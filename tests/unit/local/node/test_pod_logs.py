"""Requests for the log of a container."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tfjob.local.node.log_reader import LogOptions
from tfjob.local.node.pod_logs import PodLogs, log_options

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
POD: dict[str, Any] = {"metadata": {"name": "p", "uid": "u1"}}


@pytest.fixture
def logs(tmp_path: Path) -> PodLogs:
    folder = tmp_path / "u1" / "containers" / "c"
    folder.mkdir(parents=True)
    for run in (0, 1):
        line = f"2026-01-01T00:00:0{run}.000000000Z stdout F run {run}\n"
        (folder / f"{run}.log").write_text(line)
    return PodLogs(tmp_path, clock=lambda: NOW)


async def text(logs: PodLogs, pod: dict[str, Any] = POD, **options: str) -> bytes:
    query = {"container": "c", **options}
    return b"".join([chunk async for chunk in logs.read(pod, query)])


async def test_the_latest_run_is_read_or_the_previous_one_on_request(logs: PodLogs) -> None:
    assert await text(logs) == b"run 1\n"
    assert await text(logs, previous="true") == b"run 0\n"
    assert await text(logs, timestamps="true") == b"2026-01-01T00:00:01.000000000Z run 1\n"
    assert await text(logs, sinceSeconds="30") == b""


def test_query_parameters_are_decoded_into_options() -> None:
    query = {"follow": "true", "tailLines": "5", "limitBytes": "9", "sinceSeconds": "60"}
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert log_options(query, now=NOW) == LogOptions(
        follow=True, tail_lines=5, limit_bytes=9, since=moment
    )
    assert log_options({"sinceTime": "2026-01-01T00:00:00Z"}, now=NOW).since == moment
    assert log_options({}, now=NOW) == LogOptions()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"tailLines": "-1"}, "tailLines: must be a whole number of at least 0, got '-1'"),
        ({"limitBytes": "0"}, "limitBytes: must be a whole number of at least 1"),
        ({"sinceSeconds": "x"}, "sinceSeconds: must be a whole number"),
        ({"sinceTime": "yesterday"}, "sinceTime: must be an RFC 3339 time"),
    ],
)
def test_an_invalid_query_is_reported(query: dict[str, str], message: str) -> None:
    with pytest.raises(LookupError, match=message):
        log_options(query, now=NOW)


async def test_a_container_that_waits_has_no_log_yet(logs: PodLogs) -> None:
    waiting = {"name": "d", "state": {"waiting": {"reason": "ContainerCreating"}}}
    pod = {**POD, "status": {"containerStatuses": [waiting]}}
    with pytest.raises(LookupError, match='"d" in pod "p" is waiting to start: ContainerCreating'):
        await text(logs, pod, container="d")


@pytest.mark.parametrize("name", ["none", "../c", ""])
async def test_a_missing_log_is_reported(logs: PodLogs, name: str) -> None:
    with pytest.raises(LookupError, match="is not available"):
        await text(logs, container=name)


async def test_a_first_run_has_no_previous_run(logs: PodLogs, tmp_path: Path) -> None:
    (tmp_path / "u1" / "containers" / "c" / "1.log").unlink()
    with pytest.raises(LookupError, match='previous terminated container "c" in pod "p" not found'):
        await text(logs, previous="true")
