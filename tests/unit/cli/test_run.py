"""`tfjob run` as a whole: real processes and the real operator, without another cluster."""

import os
import pty
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.job_files import written
from tests.support.other_jobs import old_job, training_job
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command
from tfjob.cli import run
from tfjob.local.cluster import LocalCluster
from tfjob.sdk.kept_runs import kept_runs
from tfjob.sdk.run_folder import SUCCEEDED

Json = dict[str, Any]
IN_A_DATA_FOLDER = {"objects.sqlite", "kubeconfig", "tfjob.log", "node"}


def job(*command: str, name: str = "j", policy: Json | None = None, **replica: Any) -> Json:
    container = {"name": "tensorflow", "image": "x", "command": list(command)}
    worker = {"restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": policy or {}, "tfReplicaSpecs": {"Worker": {**worker, **replica}}},
    }


def test_a_successful_run_exits_with_0_and_leaves_nothing(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", "of somebody else")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = written(tmp_path, job("sh", "-c", "pwd; echo [$TF_CONFIG]"))
    done = command("run", file)
    assert done.code == 0, done.err
    assert f"[worker-0] {tmp_path.resolve()}" in done.out
    assert "[worker-0] []" in done.out
    assert done.out.splitlines()[-1] == "succeeded: TFJob default/j successfully completed."
    assert list(tmp_path.glob("tfjob-????????")) == []


def test_the_record_of_a_run_says_where_its_job_is(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    elsewhere = job("true")
    elsewhere["metadata"]["namespace"] = "team"
    assert command("run", written(tmp_path, elsewhere)).code == 0
    [kept] = kept_runs()
    assert (kept.record.namespace, kept.record.outcome) == ("team", SUCCEEDED)


def test_a_failed_run_exits_with_1_and_shows_the_last_lines_of_the_replica(
    tmp_path: Path, command: Command
) -> None:
    broken = job("sh", "-c", "echo so it ends; exit 3", policy={"cleanPodPolicy": "All"})
    done = command("run", written(tmp_path, broken), "--logs", "none")
    assert done.code == 1
    assert done.out.splitlines()[-3:] == [
        "worker-0 failed first (exit code 3); its last lines:",
        "    so it ends",
        "failed: TFJob default/j has failed because 1 Worker replica(s) failed.",
    ]


def test_a_missing_command_exits_with_127(tmp_path: Path, command: Command) -> None:
    done = command("run", written(tmp_path, job("no-such-command")))
    assert done.code == 1
    assert "worker-0 failed first (exit code 127)" in done.out
    assert 'command "no-such-command" was not found on this machine' in done.out


def test_other_objects_of_the_file_are_created_before_the_job(
    tmp_path: Path, command: Command
) -> None:
    words = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "words", "finalizers": ["example.com/keep"]},
        "data": {"greeting": "good morning"},
    }
    asks = job("sh", "-c", "echo $WORD")
    source = {"configMapKeyRef": {"name": "words", "key": "greeting"}}
    (container,) = asks["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "WORD", "valueFrom": source}]
    done = command("run", "-", stdin=yaml.safe_dump_all([words, asks]).encode())
    assert done.code == 0, done.err
    assert "[worker-0] good morning" in done.out
    assert "ConfigMap words: metadata.finalizers is left out" in done.err


def test_data_in_the_given_folder_is_kept_and_used_again(tmp_path: Path, command: Command) -> None:
    file, data = written(tmp_path, job("sh", "-c", "echo again")), tmp_path / "data"
    for _ in range(2):
        assert command("run", file, "--data", str(data)).code == 0
    assert {each.name for each in data.iterdir()} >= IN_A_DATA_FOLDER


def test_a_timeout_exits_with_3(tmp_path: Path, command: Command) -> None:
    done = command("run", written(tmp_path, job("sleep", "600")), "--timeout", "100ms")
    assert done.code == 3
    assert done.out.splitlines()[-1] == "failed: j: not finished within 0.1 s"


def test_a_job_that_can_never_run_exits_with_5_and_names_the_reason(
    tmp_path: Path, command: Command
) -> None:
    suspended = job("true", policy={"suspend": True})
    done = command("run", written(tmp_path, suspended))
    assert done.code == 5
    assert done.out.splitlines()[-1].startswith("failed: j: cannot run here: the job is suspended")


def test_a_job_larger_than_this_machine_runs_with_fit_only(
    tmp_path: Path, command: Command
) -> None:
    large = job("echo", "it runs")
    template = large["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"][0]["resources"] = {"limits": {"example.com/tpu": 8}}
    file = written(tmp_path, large)
    refused = command("run", file)
    assert refused.code == 5
    assert "run the job with --fit" in refused.out.splitlines()[-1]
    done = command("run", file, "--fit")
    assert done.code == 0, done.err
    ignored = "--fit: the requests for 8 example.com/tpu (this machine has 0) are ignored"
    assert ignored in done.out.splitlines()
    assert "[worker-0] it runs" in done.out


@pytest.mark.parametrize(("flags", "is_real"), [((), True), (("--no-real-mounts",), False)])
def test_volumes_are_mounted_at_their_paths_unless_it_is_turned_off(
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    is_real: bool,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tfjob.local.node.launch_builder.can_be_mounted", asked.append)
    one = job("true")
    spec = one["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["volumes"] = [{"name": "d", "emptyDir": {}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "d", "mountPath": "/data"}]
    assert command("run", written(tmp_path, one), *flags).code == 0
    assert ("/data" in asked) == is_real


def test_containers_run_the_given_python(tmp_path: Path, command: Command) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho this Python\n")
    python.chmod(0o755)
    file = written(tmp_path, job("python", "train.py"))
    done = command("run", file, "--python", str(tmp_path / "venv"))
    assert done.code == 0, done.err
    assert f"python: {python} (--python)" in done.out
    assert "[worker-0] this Python" in done.out


def test_every_fault_is_shown_and_nothing_starts(tmp_path: Path, command: Command) -> None:
    bad = job("x", name="Bad_Name", policy={"backoffLimit": -1}, replicas=-2, restartPolicy="Maybe")
    file, data = written(tmp_path, bad), tmp_path / "data"
    done = command("run", file, "--data", str(data))
    assert done.code == 2
    places = ("metadata.name", "backoffLimit", "replicas", "restartPolicy")
    assert [place for place in places if f"{place}: " not in done.err] == []
    assert not data.exists()


def test_a_container_that_is_only_an_image_is_rejected(tmp_path: Path, command: Command) -> None:
    image = job()
    del image["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
    done = command("run", written(tmp_path, image))
    assert done.code == 2
    assert "images do not run on this machine, so every container needs a command" in done.err


@pytest.mark.parametrize(
    ("image", "path"),
    [
        (tfjob("W1"), "spec.tfReplicaSpecs[Worker]"),
        (old_job("WORKER", "MASTER"), "spec.replicaSpecs[1]"),
        (training_job("ps", "worker"), "spec.replicaSpecs[1]"),
    ],
)
def test_missing_command_is_reported_at_its_path_in_every_api(
    tmp_path: Path, command: Command, image: Json, path: str
) -> None:
    done = command("run", written(tmp_path, image))
    assert done.code == 2
    assert f": {path}.template.spec.containers[0].command: Required value" in done.err


@pytest.mark.parametrize("make", [old_job, training_job])
def test_jobs_of_other_apis_run_here_as_well(
    tmp_path: Path, command: Command, make: Callable[..., Json]
) -> None:
    given = make()
    (entry,) = given["spec"]["replicaSpecs"]
    entry["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "echo here"]
    done = command("run", written(tmp_path, given), "--timeout", "60s")
    assert done.code == 0, done.err
    assert "-0] here" in done.out
    assert done.out.splitlines()[-1].startswith("succeeded: ")


@pytest.mark.parametrize("name", ["chief", "worker-1", "worker-x", ""])
def test_logs_of_a_missing_replica_are_rejected(
    tmp_path: Path, command: Command, name: str
) -> None:
    done = command("run", written(tmp_path, job("true")), "--logs", name)
    assert done.code == 2
    assert done.err == (
        f"--logs {name}: TFJob j has no such replica;"
        " choose one of all, none, worker, worker-0, …\n"
    )


@pytest.mark.parametrize("count", [0, 2])
def test_a_file_must_contain_exactly_one_job(tmp_path: Path, command: Command, count: int) -> None:
    file = written(tmp_path, *[job("true", name=f"j{place}") for place in range(count)])
    done = command("run", file)
    assert done.code == 2
    assert f"contains {count} jobs; `tfjob run` needs exactly one" in done.err


def test_a_folder_of_a_newer_version_is_not_touched(tmp_path: Path, command: Command) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "format").write_text("99\n")
    done = command("run", written(tmp_path, job("true")), "--data", str(data))
    assert done.code == 2
    assert "was written by a newer tfjob (format 99" in done.err
    assert [each.name for each in data.iterdir()] == ["format"]


def test_a_folder_with_damaged_data_is_reported_and_nothing_starts(
    tmp_path: Path, command: Command
) -> None:
    path = tmp_path / "objects.sqlite"
    path.write_bytes(b"nothing that SQLite knows" * 400)
    done = command("run", written(tmp_path, job("true")), "--data", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"{path}: is not a data file of tfjob")
    assert "choose another folder with --data" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_exits_with_130_and_leaves_no_process(tmp_path: Path, times: int) -> None:
    # In a container's command $$ means one dollar sign.
    script = "trap '' TERM; echo pid $$$$; while :; do sleep 1; done"
    if times == 1:
        script = "echo pid $$$$; exec sleep 600"
    file = written(tmp_path, job("sh", "-c", script))
    words = [sys.executable, "-m", "tfjob.cli.main", "run", file]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            pid = int(line_of(process, r"\] pid (\d+)"))
            process.send_signal(signal.SIGINT)
            line_of(process, "(Ctrl-C kills them now)")
            if times == 2:
                process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "failed: j: interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_closed_terminal_ends_the_job_cleanly(tmp_path: Path) -> None:
    script = (
        f"trap 'echo ended > {tmp_path}/end; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    )
    file = written(tmp_path, job("sh", "-c", script))
    words = [sys.executable, "-m", "tfjob.cli.main", "run", "--plain", file]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        text = b""
        while not all(line in text for line in (b"] up", b"is running", b"worker-0: Running")):
            text += os.read(ours, 4096)
        os.close(ours)
        process.send_signal(signal.SIGHUP)  # as the kernel does for the session of a terminal
        assert process.wait(25) == 130
    assert (tmp_path / "end").read_text() == "ended\n"


def test_a_full_disk_is_reported_immediately_and_the_job_continues_when_there_is_space(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    script = f"echo up; until [ -e {gate} ]; do sleep 0.05; done"
    file = written(tmp_path, job("sh", "-c", script))
    words = [sys.executable, "-m", "tfjob.cli.main", "run", file, "--data", str(tmp_path / "data")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            line_of(process, "(worker-0: Running)")
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            gate.touch()
            line_of(process, "(ended after 30 s, unless there is space on that disk before)")
            free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, free)
            line_of(process, "(can be written again)")
            line_of(process, "(succeeded: )")
            assert process.wait(25) == 0
        finally:
            process.kill()


def test_a_disk_that_stays_full_ends_the_run_except_with_wait(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = LocalCluster.start

    async def start_on_a_full_disk(cluster: LocalCluster) -> None:
        await start(cluster)
        cluster._server.on_write_health("database or disk is full")

    monkeypatch.setattr(LocalCluster, "start", start_on_a_full_disk)
    monkeypatch.setattr(run, "_DISK_LIMIT", 0.01)
    gate = tmp_path / "gate"
    script = f"echo up; until [ -e {gate} ]; do sleep 0.05; done"
    file, data = written(tmp_path, job("sh", "-c", script)), tmp_path / "data"
    done = command("run", file, "--data", str(data))
    reported = f"{data}: cannot be written: database or disk is full; "
    assert (done.code, reported in done.out) == (4, True)
    why = f"{data}: could not be written for 0.01 s: database or disk is full"
    assert done.err == (
        f"TFJob j: {why}; free space on that disk, or choose another folder with --data\n"
    )
    gate.touch()
    done = command("run", file, "--data", str(data), "--wait")
    assert (done.code, f"{reported}jobs wait until there is space" in done.out) == (0, True)


def test_a_closed_pipe_ends_the_job(tmp_path: Path) -> None:
    file = written(tmp_path, job("sh", "-c", "while echo more; do sleep 0.05; done"))
    words = [sys.executable, "-m", "tfjob.cli.main", "run", file]
    with subprocess.Popen(words, stdout=-1, stderr=-1, text=True) as process:
        line_of(process, "(more)")
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(25) == 130
        assert process.stderr is not None
        assert process.stderr.read() == "TFJob j: the output was closed, so the job was ended\n"


def line_of(process: "subprocess.Popen[str]", pattern: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(pattern, line)
        if found:
            return found.group(1)
    raise AssertionError(f"the output ended without {pattern}")


def test_a_timeout_of_zero_is_rejected(command: Command) -> None:
    done = command("run", "job.yaml", "--timeout", "0")
    assert done.code == 2
    assert "must be longer than 0 s; omit it for no limit" in done.err
