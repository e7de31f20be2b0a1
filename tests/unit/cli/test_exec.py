"""`tfjob exec` and `tfjob shell` with real replicas of a local cluster."""

import os
import pty
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.local_apiserver.serving import api_server_in_thread
from tests.support.local_cluster import WHOLE, LocalCluster
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command
from tfjob.cli.exec import rewrite
from tfjob.cli.main import main

_JOB = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: {name}}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: {replicas}
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: tensorflow
              image: none
              command: [sh, -c, "echo kept > $FILE; touch ready-$HOSTNAME; sleep 600"]
              env: [{{name: COLOUR, value: blue}}, {{name: FILE, value: /data/file}}]
              volumeMounts: [{{name: data, mountPath: /data}}]
          volumes: [{{name: data, emptyDir: {{}}}}]
"""

_RAW_SHELL = """
import os, signal, tty
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as interactive shells do
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
if {has_own_group}:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
tty.setraw(0)
os.kill(os.getppid(), signal.{signal_name})
while True:
    signal.pause()
"""

_SIGNAL_AT_START = """
import os, signal, subprocess, sys
from tfjob.cli.main import main

class Popen(subprocess.Popen):
    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        os.kill(os.getpid(), signal.{signal_name})

subprocess.Popen = Popen
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster on which two jobs run."""
    folder = tmp_path_factory.mktemp("exec")
    with LocalCluster(folder, workdir=folder, parts=WHOLE) as cluster:
        submit(cluster, "one", replicas=2)
        submit(cluster, "two", replicas=1)
        yield cluster
        cluster.end()


def submit(cluster: LocalCluster, name: str, *, replicas: int) -> None:
    """Returns when all replicas run and have written their files."""
    job = yaml.safe_load(_JOB.format(name=name, replicas=replicas))
    cluster.call("POST", "/apis/kubeflow.org/v1/namespaces/default/tfjobs", job)

    def all_run() -> bool:
        pods = cluster.call("GET", "/api/v1/namespaces/default/pods")["items"]
        phases = [
            pod["status"].get("phase")
            for pod in pods
            if pod["metadata"]["name"].startswith(f"{name}-worker-")
        ]
        files = list(cluster.data.parent.glob(f"ready-{name}-*"))
        return phases == ["Running"] * replicas and len(files) == replicas

    cluster.until(f"{name} runs", all_run)


def words(cluster: LocalCluster, verb: str, *given: str) -> list[str]:
    flags = ["--kubeconfig", str(cluster.data / "kubeconfig")]
    return [sys.executable, "-m", "tfjob.cli.main", verb, *flags, *given]


def tfjob_command(
    cluster: LocalCluster, verb: str, *given: str, stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "SHELL": "/bin/sh"}
    return subprocess.run(
        words(cluster, verb, *given),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=env,
    )


def test_a_command_runs_in_the_environment_of_a_replica_and_returns_its_exit_code(
    cluster: LocalCluster,
) -> None:
    script = 'pwd; echo $COLOUR; cat /data/file; echo "$TF_CONFIG"; cat; exit 7'
    done = tfjob_command(cluster, "exec", "one/worker-1", "--", "sh", "-c", script, stdin="typed")
    place, colour, kept, task = done.stdout.splitlines()[:4]
    assert (Path(place), colour, kept) == (cluster.data.parent.resolve(), "blue", "kept")
    assert '"index":1' in task
    assert done.stdout.endswith("typed")
    assert done.returncode == 7


@pytest.mark.parametrize("name", ["TERM", "INT", "QUIT", "HUP"])
def test_a_command_ended_by_a_signal_exits_with_128_plus_its_number(
    cluster: LocalCluster, name: str
) -> None:
    script = f"ulimit -c 0; kill -{name} $$; exit 5"
    done = tfjob_command(cluster, "exec", "two-worker-0", "--", "sh", "-c", script)
    assert done.returncode == 128 + signal.Signals[f"SIG{name}"]


@pytest.mark.parametrize(
    ("signal_name", "script", "code"),
    [
        ("SIGTERM", "exec sleep 600", 128 + signal.SIGTERM),
        ("SIGHUP", "exec sleep 600", 128 + signal.SIGHUP),
        ("SIGINT", "exit 5", 5),
    ],
)
def test_a_signal_while_the_command_starts_leaves_no_orphan(
    cluster: LocalCluster, signal_name: str, script: str, code: int
) -> None:
    given = words(cluster, "exec", "two/worker-0", "--", "sh", "-c", script)
    program = _SIGNAL_AT_START.format(signal_name=signal_name)
    done = subprocess.run(
        [sys.executable, "-c", program, *given[given.index("exec") :]],
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == code


def test_a_shell_opens_in_the_environment_of_a_replica(cluster: LocalCluster) -> None:
    done = tfjob_command(cluster, "shell", "worker-1", stdin="echo in $COLOUR\nexit 3\n")
    assert (done.returncode, done.stdout) == (3, "in blue\n")
    assert done.stderr == "/bin/sh in the environment of one/worker-1; `exit` ends the shell\n"


def test_the_command_uses_the_terminal(cluster: LocalCluster) -> None:
    controller, terminal = pty.openpty()
    script = "test -t 0 && test -t 1 && exit 4"
    done = subprocess.run(
        words(cluster, "exec", "two/worker-0", "--", "sh", "-c", script),
        stdin=terminal,
        stdout=terminal,
        check=False,
        timeout=PATIENCE,
    )
    os.close(terminal)
    os.close(controller)
    assert done.returncode == 4


@pytest.mark.parametrize(
    ("signal_name", "has_own_group"), [("SIGTERM", True), ("SIGHUP", True), ("SIGTERM", False)]
)
def test_a_shell_that_is_killed_leaves_the_terminal_as_it_was(
    cluster: LocalCluster, tmp_path: Path, signal_name: str, has_own_group: bool
) -> None:
    shell = tmp_path / "shell"
    program = _RAW_SHELL.format(signal_name=signal_name, has_own_group=has_own_group)
    shell.write_text(f"#!{sys.executable}\n{program}")
    shell.chmod(0o700)
    command = shlex.join(words(cluster, "shell", "two/worker-0"))
    script = f'before=$(stty -g); {command}; code=$?; test "$before" = "$(stty -g)" && exit $code'
    environ = {**os.environ, "SHELL": str(shell)}
    with Terminal(["sh", "-c", script], columns=80, rows=24, environ=environ) as terminal:
        assert terminal.until_exit() == 128 + signal.SIGHUP


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["worker-0", "--", "ls"], "ambiguous; name one of one/worker-0, two/worker-0"),
        (["worker-9", "--", "ls"], "there is no replica worker-9; these run: one/worker-0, "),
        (["worker-0"], "put it after --: `tfjob exec worker-0 -- python -V`"),
        (["worker-1", "-c", "other", "--", "ls"], "'other' of one/worker-1 does not run"),
    ],
)
def test_a_command_that_cannot_run_in_a_replica_is_reported_with_the_reason(
    cluster: LocalCluster, given: list[str], message: str
) -> None:
    done = tfjob_command(cluster, "exec", *given)
    assert done.returncode == 1
    assert message in done.stderr


def test_a_replica_that_has_ended_is_reported_and_leaves_no_files(cluster: LocalCluster) -> None:
    job = yaml.safe_load(_JOB.format(name="over", replicas=1))
    (container,) = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["command"] = ["sh", "-c", "exit 3"]
    cluster.call("POST", "/apis/kubeflow.org/v1/namespaces/default/tfjobs", job)
    path = "/api/v1/namespaces/default/pods"

    def uid_when_over() -> str:
        pods = cluster.call("GET", path)["items"]
        return "".join(
            pod["metadata"]["uid"] for pod in pods if pod["status"].get("phase") == "Failed"
        )

    cluster.until("the replica has ended", uid_when_over)
    done = tfjob_command(cluster, "exec", "over/worker-0", "--", "ls")
    assert done.returncode == 1
    message = "container 'tensorflow' of over/worker-0 has ended with exit code 3"
    assert done.stderr == f"error: {message}; `tfjob explain over` says why\n"
    folder = cluster.data / "node" / "pods" / uid_when_over()
    assert list(folder.glob("**/surroundings.json")) == []


def test_a_missing_command_exits_with_127(cluster: LocalCluster) -> None:
    done = tfjob_command(cluster, "exec", "worker-1", "--", "no-such-command")
    assert done.returncode == 127
    assert "no-such-command: No such file or directory in one/worker-1" in done.stderr


def test_the_command_ends_with_the_replica(cluster: LocalCluster) -> None:
    flags = ["--kubeconfig", str(cluster.data / "kubeconfig")]
    submit(cluster, "short", replicas=1)
    script = "echo here; sleep 600"
    with subprocess.Popen(
        words(cluster, "exec", "short/worker-0", "--", "sh", "-c", script),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "here\n"
        assert main(["delete", "short", *flags]) == 0
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out) == (137, "")
    assert err == "short/worker-0 has ended, and the command with it\n"


def test_a_cluster_without_local_processes_points_to_kubectl(
    tmp_path: Path, command: Command
) -> None:
    with api_server_in_thread(tmp_path / "data") as server:
        job = server.put_job(tfjob("W2", name="j"))
        server.put_pod(job, "worker", index=0)
        done = command("exec", "worker-0", *server.flags, "--", "ls")
    assert done.code == 1
    assert "does not run on a local cluster of this machine and user" in done.err
    assert "`kubectl exec -it j-worker-0 -n default -c tensorflow -- COMMAND`" in done.err


def test_words_after_two_dashes_belong_to_the_command() -> None:
    assert rewrite(["exec", "-n", "x", "w", "--", "ls", "-l", "--", "a"]) == [
        *("exec", "-n", "x", "w"),
        *("--word=ls", "--word=-l", "--word=--", "--word=a"),
    ]
