import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command
from tfjob.cli.background import in_folder

_JOB = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: hello}
spec:
  tfReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
            - {name: tensorflow, image: none, command: [sh, -c, "cat here.txt"]}
"""


@pytest.fixture
def data(tmp_path: Path, command: Command) -> Iterator[str]:
    """The data folder of a cluster, which is shut down after the test; shells need it quoted."""
    folder = str(tmp_path / "my data")
    yield folder
    assert command("local", "down", "--data", folder).code == 0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "here.txt").write_text("found beside the file\n")
    (folder / "job.yaml").write_text(_JOB)
    return folder / "job.yaml"


def test_a_job_runs_in_the_background_and_can_be_followed(
    data: str, file: Path, command: Command
) -> None:
    started = command("run", str(file), "--detach", "--data", data)
    assert started.code == 0, started.err
    assert f"  stop it with `tfjob local down --data '{data}'`" in started.out
    assert "(--python)" not in started.out
    kubeconfig = f"{data}/kubeconfig"
    follow = f"  follow it with `tfjob attach hello --kubeconfig '{kubeconfig}'`"
    assert started.out.splitlines()[-1] == follow
    followed = command("attach", "hello", "--kubeconfig", kubeconfig)
    assert followed.code == 0
    assert "[worker-0] found beside the file" in followed.out


def test_an_unfinished_job_of_the_same_name_is_not_replaced(
    data: str, file: Path, command: Command
) -> None:
    text = _JOB.replace("{name: hello}", "{name: hello, namespace: team}")
    file.write_text(text.replace("cat here.txt", "until [ -e stop ]; do sleep 0.1; done"))
    assert command("run", str(file), "--detach", "--data", data).code == 0
    again = command("run", str(file), "--detach", "--data", data)
    (file.parent / "stop").touch()
    assert (again.code, again.out) == (2, "")
    assert "hello is on the local cluster already, and has not finished" in again.err
    kubeconfig = f"{data}/kubeconfig"
    assert f"follow it with `tfjob attach hello --kubeconfig '{kubeconfig}' -n team`" in again.err
    assert command("attach", "hello", "--kubeconfig", kubeconfig, "-n", "team").code == 0
    assert command("run", str(file), "--detach", "--data", data).code == 0


def test_a_cluster_of_another_folder_runs_the_job_in_the_folder_of_its_file(
    data: str, file: Path, command: Command
) -> None:
    up = command("local", "up", "--detach", "--data", data)
    assert (up.code, up.err) == (0, "")
    assert f"export KUBECONFIG='{data}/kubeconfig'" in up.out
    assert "(--python)" not in up.out
    assert command("run", str(file), "--detach", "--data", data).code == 0
    followed = command("attach", "hello", "--kubeconfig", f"{data}/kubeconfig")
    assert "[worker-0] found beside the file" in followed.out


def test_a_second_cluster_is_rejected_and_keeps_the_output_of_the_first(
    data: str, command: Command
) -> None:
    assert command("local", "up", "--detach", "--data", data).code == 0
    output = (Path(data) / "up.log").read_text()
    again = command("local", "up", "--detach", "--data", data)
    assert (again.code, again.out) == (1, "")
    assert "a cluster already runs on this folder" in again.err
    assert f"end it with `tfjob local down --data '{data}'`" in again.err
    assert (Path(data) / "up.log").read_text() == output
    assert [each.name for each in Path(data).glob("up.log*")] == ["up.log"]


def test_a_cluster_that_cannot_start_says_why(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "objects.sqlite"
    path.write_bytes(b"nothing that SQLite knows" * 400)
    done = command("local", "up", "--detach", "--data", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {path}: is not a data file of tfjob")


@pytest.mark.parametrize(
    "flags", [("--python", sys.executable), ("--fit",), ("--share-gpus",), ("--no-real-mounts",)]
)
def test_options_that_a_running_cluster_cannot_change_are_rejected(
    data: str, file: Path, command: Command, flags: tuple[str, ...]
) -> None:
    assert command("local", "up", "--detach", "--data", data).code == 0
    done = command("run", str(file), "--detach", "--data", data, *flags)
    assert done.code == 2
    assert f"is up already, so {flags[0]} would have no effect" in done.err
    assert f"or run `tfjob local down --data '{data}'` first" in done.err


def make_large(file: Path) -> None:
    large = "resources: {requests: {cpu: 4000}}, command:"
    file.write_text(file.read_text().replace("command:", large))


def test_a_detached_job_that_is_too_large_shows_what_it_waits_for(
    data: str, file: Path, command: Command
) -> None:
    make_large(file)
    started = command("run", str(file), "--detach", "--data", data)
    assert "a worker requests 4k cpu (this machine has " in started.out


def test_a_detached_job_that_is_too_large_runs_with_fit(
    data: str, file: Path, command: Command
) -> None:
    make_large(file)
    started = command("run", str(file), "--detach", "--data", data, "--fit")
    assert "--fit: the requests for 4k cpu (this machine has " in started.out
    followed = command("attach", "hello", "--kubeconfig", f"{data}/kubeconfig")
    assert (followed.code, followed.err) == (0, "")


@pytest.mark.parametrize("flags", [("--timeout", "1m"), ("--logs", "none"), ("--plain",)])
def test_flags_that_detach_cannot_use_are_rejected(
    file: Path, command: Command, flags: tuple[str, ...]
) -> None:
    done = command("run", str(file), "--detach", "--keep", "--wait", *flags)
    assert (done.code, done.out) == (2, "")
    assert flags[0] in done.err
    assert "--wait, --keep" in done.err
    assert "cannot be used with --detach" in done.err


def test_only_containers_without_a_working_directory_get_one() -> None:
    job = {
        "spec": {
            "Worker": {
                "template": {
                    "spec": {
                        "initContainers": [{"name": "first"}],
                        "containers": [{"name": "a"}, {"name": "b", "workingDir": "/b"}],
                    }
                }
            }
        }
    }
    placed = in_folder(job, Path("/mine"))
    spec = placed["spec"]["Worker"]["template"]["spec"]
    assert [each["workingDir"] for each in spec["containers"]] == ["/mine", "/b"]
    assert [each["workingDir"] for each in spec["initContainers"]] == ["/mine"]
    assert in_folder({"a": [1, None, "x"]}, Path("/mine")) == {"a": [1, None, "x"]}
