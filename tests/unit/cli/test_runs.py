"""`tfjob runs` and `tfjob logs --run`."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.job_files import written
from tests.support.patience import PATIENCE
from tests.unit.cli.conftest import Command
from tests.unit.cli.test_run import job, line_of
from tfjob.sdk import kept_runs
from tfjob.sdk.run_folder import RunFolder

NOW = datetime(2026, 11, 17, 2, 50, 51, tzinfo=UTC)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def run() -> RunFolder:
    made = RunFolder.create(kept_runs.runs_folder(), job="mnist", file="job.yaml", now=NOW)
    for replica in ("worker-0", "worker-1"):
        made.log(replica, "first")
        made.log(replica, f"last of {replica}")
    made.finish("failed", now=NOW + timedelta(seconds=75))
    return made


def test_a_run_is_kept_and_its_logs_can_be_read_later(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, job("sh", "-c", "echo one; echo; echo two"))
    done = command("run", file, "--logs", "none")
    assert done.code == 0, done.err
    (folder,) = kept_runs.runs_folder().iterdir()
    assert f"logs: {folder}" in done.out.splitlines()
    assert (folder / "worker-0.log").read_text() == "one\n\ntwo\n"
    read = command("logs", "--run")
    assert (read.code, read.out) == (0, "one\n\ntwo\n")
    assert read.err == f"{folder.name}: succeeded; logs in {folder}\n"


def test_a_state_folder_that_cannot_be_written_does_not_end_the_run(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    done = command("run", written(tmp_path, job("echo", "it runs")))
    assert done.code == 0
    assert f"logs: not kept: {tmp_path}/file/tfjob/runs: Not a directory" in done.out
    assert "[worker-0] it runs" in done.out


def test_a_kept_cluster_can_be_used_after_the_job_has_ended(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    file = written(tmp_path, job("true", policy={"cleanPodPolicy": "None"}))
    words = [sys.executable, "-m", "tfjob.cli.main", "run", file, "--keep"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            line_of(process, "(the cluster keeps running)")
            listed, described = command("runs"), command("describe", "j")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert "  succeeded, cluster up  " in listed.out
    assert described.code == 0, described.err
    assert "State:       Succeeded\n" in described.out
    assert "cluster up" not in command("runs").out


def test_runs_are_listed(run: RunFolder, command: Command) -> None:
    done = command("runs")
    assert [line.split() for line in done.out.splitlines()] == [
        ["RUN", "JOB", "STARTED", "TOOK", "OUTCOME", "FILE"],
        [run.path.name, "mnist", "2026-11-17T02:50:51Z", "1m15s", "failed", "job.yaml"],
    ]


def test_an_empty_list_of_runs_is_reported(command: Command) -> None:
    done = command("runs")
    assert (done.code, done.out) == (0, "")
    assert done.err == f"No runs are kept in {kept_runs.runs_folder()}.\n"


@pytest.mark.parametrize("words", [["--run", "mnist"], ["mnist", "--run"]])
def test_lines_of_several_replicas_start_with_their_names(
    run: RunFolder, command: Command, words: list[str]
) -> None:
    done = command("logs", *words)
    assert done.out.splitlines() == [
        "[worker-0] first",
        "[worker-0] last of worker-0",
        "[worker-1] first",
        "[worker-1] last of worker-1",
    ]
    assert str(run.path) in done.err


def test_one_replica_and_the_last_lines_can_be_chosen(run: RunFolder, command: Command) -> None:
    words = ["logs", "--run", str(run.path), "--replica", "worker-1"]
    assert command(*words, "--tail", "1").out == "last of worker-1\n"
    assert command(*words, "--tail", "0").out == ""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--run", "other"], 1, "no run 'other' is kept"),
        (["--run", "--replica", "ps-0"], 1, "ps-0 has no log; these have: worker-0, worker-1"),
        (["--run", "--follow"], 2, "--follow: cannot be used with --run"),
        (["a", "--run", "b"], 2, "JOB: cannot be used with --run RUN"),
        ([], 2, "name a job, or use --run"),
    ],
)
def test_logs_that_cannot_be_shown_are_reported_with_the_reason(
    run: RunFolder, command: Command, words: list[str], code: int, message: str
) -> None:
    assert run.path.is_dir()
    done = command("logs", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
