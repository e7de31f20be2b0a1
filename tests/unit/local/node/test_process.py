"""Containers as processes: how they exit, and that no process remains."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.support.patience import PATIENCE
from tfjob.local.node.log_writer import PARTIAL_LIMIT
from tfjob.local.node.process import (
    ContainerProcess,
    Launch,
    ProcessIdentity,
    boot_id,
    kill_marked,
    read_exit_record,
    recover,
    start,
    start_time_of,
)


def launch_of(folder: Path, *argv: str, **env: str) -> Launch:
    return Launch(
        argv=argv,
        env={"PATH": os.environ["PATH"], **env},
        cwd=str(folder),
        log=str(folder / "0.log"),
        exit=str(folder / "0.exit"),
        marker=f"test-{folder}",
    )


async def run(folder: Path, *argv: str, **env: str) -> ContainerProcess:
    return await start(launch_of(folder, *argv, **env))


def log_text(folder: Path) -> str:
    log = folder / "0.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return "\n".join(line.split(" ", 3)[3] for line in lines)


async def until(question: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < deadline, "the condition never came true"
        await asyncio.sleep(0.005)


def pids_in(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()] if path.exists() else []


async def test_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    process = await run(tmp_path, "sh", "-c", "echo out; echo err >&2; exit 3")
    ended = await process.wait()
    assert (ended.code, ended.reason) == (3, "")
    assert sorted(log_text(tmp_path).split()) == ["err", "out"]
    assert read_exit_record(tmp_path / "0.exit") == ended


async def test_signal_becomes_128_plus_its_number(tmp_path: Path) -> None:
    process = await run(tmp_path, "sh", "-c", "kill -USR1 $$")
    assert (await process.wait()).code == 138


async def test_a_progress_bar_is_in_the_log_while_it_is_updated(tmp_path: Path) -> None:
    bar = "import itertools, time\nfor n in itertools.count():\n"
    bar += " print(end=f'\\r{n}%', flush=True); time.sleep(0.02)"
    process = await run(tmp_path, sys.executable, "-c", bar)
    log = tmp_path / "0.log"
    await until(lambda: log.exists() and b" stdout P \r0%" in log.read_bytes())
    assert len(log.read_bytes()) < PARTIAL_LIMIT
    await process.stop(0)


async def test_an_unknown_command_exits_with_127_and_is_named(tmp_path: Path) -> None:
    process = await run(tmp_path, "no-such-command-anywhere")
    ended = await process.wait()
    assert (ended.code, ended.reason) == (127, "StartError")
    assert 'command "no-such-command-anywhere" was not found' in ended.message
    assert await process.started_at() is None
    assert "no-such-command-anywhere" in log_text(tmp_path)


async def test_a_command_that_is_not_executable_exits_with_126(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    ended = await (await run(tmp_path, str(tmp_path / "data"))).wait()
    assert (ended.code, ended.reason) == (126, "StartError")


async def test_missing_working_directory_is_named(tmp_path: Path) -> None:
    launch = Launch(
        argv=("true",),
        env={"PATH": os.environ["PATH"]},
        cwd="/no/such/folder",
        log=str(tmp_path / "0.log"),
        exit=str(tmp_path / "0.exit"),
        marker=f"test-{tmp_path}",
    )
    ended = await (await start(launch)).wait()
    assert ended.code == 128
    assert '"/no/such/folder"' in ended.message


async def test_stop_lets_a_process_end_after_sigterm(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done"
    process = await run(tmp_path, "sh", "-c", script)
    await until(lambda: "ready" in log_text(tmp_path))
    assert (await process.stop(10)).code == 5
    assert "bye" in log_text(tmp_path)


async def test_stop_kills_a_process_that_ignores_sigterm(tmp_path: Path) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.01; done"
    process = await run(tmp_path, "sh", "-c", script)
    await until(lambda: "ready" in log_text(tmp_path))
    assert (await process.stop(0.05)).code == 137


async def test_children_of_a_shell_get_sigterm_too(tmp_path: Path) -> None:
    process = await run(tmp_path, "sh", "-c", "sleep 60 & echo $! > pids; wait")
    await until(lambda: pids_in(tmp_path / "pids") != [])
    assert (await process.stop(10)).code == 143
    assert start_time_of(pids_in(tmp_path / "pids")[0]) is None


DAEMON = "setsid sh -c 'setsid sleep 60 & echo $! >> pids; echo $$ >> pids; wait' & wait"


async def test_daemons_end_with_the_first_process(tmp_path: Path) -> None:
    last_word = "until [ -e go ]; do sleep 0.01; done"
    process = await run(tmp_path, "sh", "-c", DAEMON.removesuffix("wait") + last_word)
    await until(lambda: len(pids_in(tmp_path / "pids")) == 2)
    (tmp_path / "go").touch()
    assert (await process.wait()).code == 0
    assert [start_time_of(pid) for pid in pids_in(tmp_path / "pids")] == [None, None]


async def test_a_reason_given_to_kill_is_the_reason_of_the_end(tmp_path: Path) -> None:
    process = await run(tmp_path, "sleep", "60")
    process.kill("OOMKilled")
    ended = await process.wait()
    assert (ended.code, ended.reason) == (137, "OOMKilled")


async def test_killing_the_supervisor_leaves_no_process(tmp_path: Path) -> None:
    process = await run(tmp_path, "sh", "-c", DAEMON)
    await until(lambda: len(pids_in(tmp_path / "pids")) == 2)
    os.kill(process.identity.pid, signal.SIGKILL)
    ended = await process.wait()
    assert (ended.code, ended.reason) == (137, "ContainerStatusUnknown")
    assert [start_time_of(pid) for pid in pids_in(tmp_path / "pids")] == [None, None]


AGENT = """
import asyncio, sys
from pathlib import Path
from tests.unit.local.node.test_process import DAEMON, run
async def main():
    process = await run(Path(sys.argv[1]), "sh", "-c", DAEMON)
    print(process.identity.pid, flush=True)
    await process.wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_killing_the_agent_leaves_no_process(tmp_path: Path, number: int) -> None:
    root = Path(__file__).parents[4]
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", AGENT, str(tmp_path), cwd=root, stdout=subprocess.PIPE
    )
    await until(lambda: len(pids_in(tmp_path / "pids")) == 2)
    assert agent.stdout is not None
    supervisor = int(await agent.stdout.readline())
    agent.send_signal(number)
    await agent.wait()
    pids = [supervisor, *pids_in(tmp_path / "pids")]
    await until(lambda: all(start_time_of(pid) is None for pid in pids))
    record = read_exit_record(tmp_path / "0.exit")
    assert record is not None
    assert record.code == 137


async def test_recover_trusts_the_exit_record(tmp_path: Path) -> None:
    process = await run(tmp_path, "sh", "-c", "exit 4")
    ended = await process.wait()
    again = await recover(process.identity, marker="none", exit_record=tmp_path / "0.exit")
    assert again == ended


async def test_recover_ends_running_processes_and_reports_them_as_lost(tmp_path: Path) -> None:
    process = await run(tmp_path, "sh", "-c", DAEMON)
    await until(lambda: len(pids_in(tmp_path / "pids")) == 2)
    ended = await recover(
        process.identity,
        marker=f"test-{tmp_path}",
        exit_record=tmp_path / "0.exit",
        patience=0,
    )
    assert (ended.code, ended.reason) == (137, "ContainerStatusUnknown")
    assert [start_time_of(pid) for pid in pids_in(tmp_path / "pids")] == [None, None]
    await process.wait()


async def test_a_full_disk_is_reported_and_the_command_continues(tmp_path: Path) -> None:
    troubles: list[str] = []
    launch = launch_of(tmp_path, "sh", "-c", "echo lost; sleep 0.05; exit 6")
    full = msgspec.structs.replace(launch, log="/dev/full")
    process = await start(full, on_trouble=troubles.append)
    assert (await process.wait()).code == 6
    assert troubles == ["log lines were lost: /dev/full: No space left on device"]


async def test_an_exit_record_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    troubles: list[str] = []
    launch = launch_of(tmp_path, "sh", "-c", "exit 6")
    nowhere = msgspec.structs.replace(launch, exit=str(tmp_path / "none" / "0.exit"))
    process = await start(nowhere, on_trouble=troubles.append)
    assert (await process.wait()).code == 6
    assert "exit record was lost" in troubles[0]


async def test_an_invalid_environment_variable_exits_with_126(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, "true")
    odd = msgspec.structs.replace(launch, env={**launch.env, "A=B": "x"})
    ended = await (await start(odd)).wait()
    assert (ended.code, ended.reason) == (126, "StartError")


def test_a_reused_process_id_is_not_mistaken_for_the_process() -> None:
    mine = ProcessIdentity(pid=os.getpid(), start_time=start_time_of(os.getpid()) or "")
    assert mine.is_alive()
    assert not ProcessIdentity(pid=os.getpid(), start_time="1").is_alive()


@pytest.mark.parametrize(
    ("error", "start_time"), [(None, ""), (PermissionError, ""), (ProcessLookupError, None)]
)
def test_a_process_of_another_user_exists_where_there_is_no_proc(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError] | None, start_time: str | None
) -> None:
    def kill(_pid: int, _number: int) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(os, "kill", kill)
    assert start_time_of(7) == start_time


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which boot it is")
def test_the_boot_has_an_id() -> None:
    assert uuid.UUID(boot_id()).version == 4


def test_sweep_without_carriers_returns_at_once() -> None:
    kill_marked("nobody-carries-this")
