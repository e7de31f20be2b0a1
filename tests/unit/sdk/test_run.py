"""Programs that run jobs on this machine, as users write them: each is a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.run import run

SCRIPT = """
import sys
from tfjob import run
from tfjob.train import context

def train(text):
    me = context()
    print(text, me.role, me.index, me.workers)

if __name__ == "__main__":
    job = run(train, workers=2, args=["hello"])
    print(*sorted(str(line) for line in job.logs()), sep="\\n")
    print(job.wait())
"""
SESSION = """
from tfjob import run
factor = 6
def train(number):
    print("product", number * factor)
with run(train, args={"number": 7}) as job:
    for line in job.logs():
        print(line)
    print(job.wait())
"""
MISTAKES = """
from tfjob import run
def train():
    import nothing_like_this
def too_large():
    pass
for function, options in ((train, {}), (too_large, {"gpus": 64}), (train, {"fit": True})):
    try:
        run(function, **options).wait()
    except Exception as error:
        print(type(error).__name__, error)
"""
FITS = """
from tfjob import connect, run
def train():
    print("it runs")
first = run(train, gpus=64, resources={"cpu": "4000"}, fit=True)
print(*first.logs(), first.wait())
print(run(train, gpus=64, where=connect("local"), share_gpus=True).wait())
"""
OUTLIVED = """
from tfjob import connect, run
from tfjob.sdk import local_process
def train():
    print("it runs")
client = connect("local")
process = local_process.local_process()
process._process.kill()
process._process.wait()
attempts = [
    lambda: run(train, where=client),
    lambda: run(train, where=client, fit=True),
    lambda: client.get("a"),
    lambda: client.jobs(),
]
for attempt in attempts:
    try:
        attempt()
    except Exception as error:
        print(error)
if list(local_process._RUNNING.values()) == [process]:
    print("no other one")
print(run(train).wait())
"""
ENDLESS = """
import time, os
from tfjob import run
def train():
    print("pid", os.getpid())
    time.sleep(600)
job = run(train)
for line in job.logs():
    print(line.text, flush=True)
    if {is_early}:
        break
"""
PACKAGED = """
from tfjob import run
from .text import TEXT

def train():
    print(TEXT)

if __name__ == "__main__":
    print(*run(train).logs())
"""
ITSELF = """
from tfjob import run
print(*run(__file__).logs(), flush=True)
"""
FORKS = """
import os, sys, time
from tfjob import run
def train():
    time.sleep(600)
job = run(train)
job.wait(state="running")
reading, writing = os.pipe()
if os.fork() == 0:
    sys.exit()
os.wait()
survivor = os.fork()
if survivor == 0:
    os.close(writing)
    os.read(reading, 1)  # until the program is gone
    os._exit(0)
print("state", job.status.state, flush=True)
"""


def completed(folder: Path, *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """A Python program that was run in the folder until it ended."""
    return subprocess.run(
        [sys.executable, *words],
        input=stdin,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def script(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


def test_a_function_of_a_script_is_run_by_every_replica(tmp_path: Path) -> None:
    done = completed(tmp_path, script(tmp_path, SCRIPT))
    assert done.stdout.splitlines() == [
        "[worker-0] hello worker 0 2",
        "[worker-1] hello worker 1 2",
        "Succeeded",
    ], done.stderr
    assert done.stderr == ""


def test_a_function_of_an_interactive_session_is_sent_with_what_it_uses(tmp_path: Path) -> None:
    done = completed(tmp_path, "-", stdin=SESSION)
    assert done.stdout.splitlines() == ["[worker-0] product 42", "Succeeded"], done.stderr


def test_jobs_that_fail_or_can_never_run_raise_the_reason(tmp_path: Path) -> None:
    done = completed(tmp_path, "-", stdin=MISTAKES)
    failed, blocked, late = done.stdout.splitlines()
    assert failed.startswith("JobFailedError")
    assert "nothing_like_this" in failed
    assert blocked.startswith("TFJobError")
    assert "requests 64 nvidia.com/gpu, but this machine has" in blocked
    assert "run a changed one" in blocked
    assert "fit=True" in blocked
    assert "is up already, so fit=True would have no effect; pass it to the first" in late


def test_a_job_larger_than_this_machine_runs_if_it_shall_fit(tmp_path: Path) -> None:
    done = completed(tmp_path, "-", stdin=FITS)
    assert done.stdout.splitlines() == ["[worker-0] it runs Succeeded", "Succeeded"], done.stderr


def test_a_client_whose_cluster_has_ended_says_so_and_starts_no_other(tmp_path: Path) -> None:
    done = completed(tmp_path, "-", stdin=OUTLIVED)
    ended = "the local cluster of this client has ended, and its jobs with it;"
    assert done.stdout.splitlines() == [
        *[f"{ended} connect('local') starts another one"] * 4,
        "no other one",
        "Succeeded",
    ], done.stderr
    assert done.stderr == (
        "tfjob: warning: the local cluster of this program has ended, and its jobs with it;"
        " another one is started\n"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"workers": 0}, "workers=0: a job without a chief needs at least one worker; pass"),
        ({"workers": 0, "ps": 1}, "workers=0: a job without a chief needs at least one worker"),
        ({"workers": -1, "restarts": 1.5}, "workers=-1: .*; restarts=1.5: must be an int of 0 or"),
        ({"chief": True, "workers": 0, "gpus": True}, "gpus=True: must be an int of 0 or more"),
        ({"env": {"": "x"}}, r"^TFJob \S+\n  spec.tfReplicaSpecs.Worker.*env"),
    ],
)
def test_arguments_of_which_no_job_can_be_made_are_named(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(TFJobError, match=told):
        run("json.tool", **options)


def test_a_program_that_ends_before_its_job_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    done = completed(tmp_path, "-", stdin=ENDLESS.format(is_early=True))
    assert done.returncode == 0
    assert "has not finished, and ends with this program" in done.stderr
    pid = int(done.stdout.split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_killed_program_leaves_no_process(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; exec(sys.stdin.read())"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ENDLESS.format(is_early=False))
        process.stdin.close()
        pid = int(process.stdout.readline().split()[1])
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end, "the replica outlives the program"
        time.sleep(0.05)


def test_a_function_of_a_module_that_runs_may_import_its_neighbours(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "text.py").write_text("TEXT = 'from a neighbour'\n")
    (package / "train.py").write_text(PACKAGED)
    done = completed(tmp_path, "-m", "mine.train")
    assert done.stdout == "[worker-0] from a neighbour\n", done.stderr


def test_a_script_that_runs_itself_does_so_once(tmp_path: Path) -> None:
    done = completed(tmp_path, script(tmp_path, ITSELF))
    assert "was called in a replica of program-" in done.stdout


def test_forked_children_neither_end_nor_keep_a_job(tmp_path: Path) -> None:
    (tmp_path / "sqlite3.py").write_text("raise SystemExit('code of this folder was run')\n")
    words = ("-P", "-c", "import sys; exec(sys.stdin.read())")
    done = completed(tmp_path, *words, stdin=FORKS)
    assert done.stdout.splitlines() == ["state Running"], done.stderr
    assert done.stderr.count("has not finished") == 1
