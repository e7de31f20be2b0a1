"""The folder that keeps a run."""

import json
import os
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tfjob.local.node.process import ProcessIdentity
from tfjob.sdk.kept_runs import kept_runs, prune
from tfjob.sdk.run_folder import RunFolder

NOW = datetime(2026, 11, 17, 2, 50, 51, tzinfo=UTC)


def create(parent: Path, job: str = "mnist") -> RunFolder:
    return RunFolder.create(parent, job=job, file="job.yaml", now=NOW)


def test_each_replica_has_a_file_with_its_lines(tmp_path: Path) -> None:
    run = create(tmp_path)
    run.log("worker-0", "one")
    run.log("ps-0", "other")
    run.flush()
    run.log("worker-0", "twö")
    run.finish("succeeded", now=NOW)
    assert run.path == tmp_path / "mnist-20261117-025051"
    assert (run.path / "worker-0.log").read_text(encoding="utf-8") == "one\ntwö\n"
    assert (run.path / "ps-0.log").read_text() == "other\n"


def test_only_their_owner_can_read_them(tmp_path: Path) -> None:
    run = create(tmp_path / "runs")
    run.log("worker-0", "secret")
    run.flush()
    modes = {stat.S_IMODE(each.stat().st_mode) for each in run.path.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(run.path.parent.stat().st_mode) == 0o700


def test_two_runs_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    names = [create(tmp_path).path.name for _ in range(3)]
    stem = "mnist-20261117-025051"
    assert names == [stem, f"{stem}-2", f"{stem}-3"]


def test_a_run_that_goes_on_is_told_from_one_that_was_killed(tmp_path: Path) -> None:
    run = create(tmp_path)
    (found,) = kept_runs(tmp_path)
    assert (found.state, found.record.is_running) == ("running", True)
    record = (run.path / "run.json").read_text()
    (run.path / "run.json").write_text(record.replace('"start_time":"', '"start_time":"9'))
    (found,) = kept_runs(tmp_path)
    assert (found.state, found.record.is_running) == ("killed", False)


@pytest.mark.parametrize(
    ("host", "boot", "process", "state"),
    [
        ("here", "this", "alive", "running"),
        ("here", "this", "dead", "killed"),
        ("here", "earlier", "alive", "killed"),
        ("here", "earlier", "dead", "killed"),
        ("other", "other", "alive", "runs on host other"),
        ("other", "other", "dead", "runs on host other"),
        # A container has a name of its own, and the boot ID of its machine.
        ("other", "this", "dead", "runs on host other"),
        # The machine was renamed.
        ("other", "this", "alive", "running"),
        # A system without boot IDs.
        ("here", "", "alive", "running"),
        ("other", "", "alive", "runs on host other"),
    ],
)
def test_a_process_counts_on_its_own_machine_since_its_boot(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    boot: str,
    process: str,
    state: str,
) -> None:
    made_on, made_at = host, boot
    monkeypatch.setattr("socket.gethostname", lambda: made_on)
    monkeypatch.setattr("tfjob.sdk.run_folder.boot_id", lambda: made_at)
    create(tmp_path)
    made_on, made_at = "here", boot and "this"
    monkeypatch.setattr(ProcessIdentity, "is_alive", lambda _: process == "alive")
    (found,) = kept_runs(tmp_path)
    assert found.state == state
    assert found.record.is_running == (state == "running")
    prune(tmp_path, keep=0)
    assert found.path.exists()  # it was written a moment ago
    days = 0 if state == "killed" else 6
    set_age(found.path, timedelta(days=days, minutes=11))
    prune(tmp_path, keep=0)
    assert found.path.exists() == (state != "killed")
    if found.path.exists():
        set_age(found.path, timedelta(days=7, minutes=1))
    prune(tmp_path, keep=0)
    assert found.path.exists() == (state == "running")


def test_a_record_without_a_host_is_of_this_one(tmp_path: Path) -> None:
    made = create(tmp_path)
    path = made.path / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "host": "", "boot": ""}))
    (found,) = kept_runs(tmp_path)
    assert found.state == "running"
    record["process"]["start_time"] += "9"
    path.write_text(json.dumps({**record, "host": "", "boot": ""}))
    (found,) = kept_runs(tmp_path)
    assert found.state == "killed"


def set_age(folder: Path, age: timedelta) -> None:
    moment = time.time() - age.total_seconds()
    for each in (*folder.iterdir(), folder):
        os.utime(each, (moment, moment))


def test_a_large_log_keeps_its_newest_lines(tmp_path: Path) -> None:
    run = create(tmp_path)
    small = RunFolder(run.path, run._record, on_trouble=pytest.fail, limit=20)
    for number in range(12):
        small.log("worker-0", f"line {number}")
        small.flush()
    small.finish("succeeded", now=NOW)
    (found,) = kept_runs(tmp_path)
    lines = list(found.lines("worker-0"))
    assert lines[-1] == "line 11"
    assert lines == [f"line {number}" for number in range(12 - len(lines), 12)]
    assert 4 <= len(lines) <= 8
    assert found.replicas() == ["worker-0"]


def test_what_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    run = create(tmp_path)
    told: list[str] = []
    run.on_trouble = told.append
    (run.path / "worker-0.log").mkdir()
    for _ in range(2):
        run.log("worker-0", "lost")
        run.flush()
    assert told == [f"{run.path}: cannot be written: Is a directory; logs are not kept"]


def test_many_lines_do_not_wait_in_memory(tmp_path: Path) -> None:
    run = create(tmp_path)
    for _ in range(12):
        run.log("worker-0", "x" * 100_000)
    assert (run.path / "worker-0.log").stat().st_size > 1_000_000
