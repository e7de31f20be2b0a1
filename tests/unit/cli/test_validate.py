"""`tfjob validate`: all faults of all files, each with its line and a remedy."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.job_files import written
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command

FAULTY = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: My-Job
spec:
  cleanPodPolicyy: All
  tfReplicaSpecs:
    Wroker: {}
    PS:
      replicas: 1
      replicas: -2
      template:
        spec:
          containers:
          - name: main
"""
FAULTS = [
    (11, "spec.tfReplicaSpecs.PS.replicas", "keep one of them"),
    (4, "metadata.name", "use a name such as my-job"),
    (11, "spec.tfReplicaSpecs[PS].replicas", "write 0 or more"),
    (
        15,
        "spec.tfReplicaSpecs[PS].template.spec.containers[0].image",
        "add the image that the container runs, for example tensorflow/tensorflow:2.19.0",
    ),
    (
        14,
        "spec.tfReplicaSpecs[PS].template.spec.containers",
        "name the training container tensorflow",
    ),
    (8, "spec.tfReplicaSpecs", "did you mean Worker?"),
    (6, "spec.cleanPodPolicyy", "did you mean spec.cleanPodPolicy?"),
]


def test_a_valid_job_is_reported_as_valid(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, tfjob("C1 W2"))
    assert command("validate", file) == (0, f"{file}: document 1, TFJob j: valid\n", "")


def test_every_fault_is_shown_with_file_line_path_and_remedy(
    tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, FAULTY)
    done = command("validate", file)
    lines = done.out.splitlines()
    assert (done.code, done.err) == (1, "")
    assert lines[0] == f"{file}: document 1, TFJob My-Job: 7 faults"
    for place, (line, path, remedy) in enumerate(FAULTS):
        assert lines[1 + 2 * place].startswith(f"  {file}:{line}: {path}: ")
        assert lines[2 + 2 * place] == f"      remedy: {remedy}"
    assert len(lines) == 1 + 2 * len(FAULTS)


@pytest.mark.parametrize(
    ("job", "limit"),
    [
        (tfjob("W5001", enableDynamicWorker=True), "less than or equal to 5000"),
        (tfjob("W4900"), "Linux allows at most 131061 in an environment variable"),
        (tfjob("W1", name="n" * 60), "more than 54 characters"),
    ],
    ids=["replicas", "TF_CONFIG", "name"],
)
def test_job_that_is_too_large_is_reported_with_its_limit(
    tmp_path: Path, command: Command, job: dict[str, Any], limit: str
) -> None:
    done = command("validate", written(tmp_path, job))
    assert done.code == 1
    assert limit in done.out


def test_json_has_the_same_content_as_the_text(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, FAULTY)
    done = command("validate", "-o", "json", file, str(tmp_path / "absent"))
    shown = json.loads(done.out)
    assert done.code == 1
    (job,) = shown["jobs"]
    assert (job["file"], job["document"], job["object"]) == (file, 1, "TFJob My-Job")
    found = [(each["line"], each["path"], each["remedy"]) for each in job["faults"]]
    assert found == FAULTS
    assert all(each["text"].startswith(each["path"]) for each in job["faults"])
    assert shown["problems"] == [f"{tmp_path}/absent: cannot be read: No such file or directory"]


def test_every_file_and_every_document_is_checked(tmp_path: Path, command: Command) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap"}
    one = written(tmp_path, config_map, FAULTY, tfjob(name="good"), name="one.yaml")
    absent = str(tmp_path / "absent.yaml")
    two = written(tmp_path, tfjob(name="last"), name="two.yaml")
    done = command("validate", one, absent, two)
    heads = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert done.code == 1
    assert heads == [
        f"{one}: document 2, TFJob My-Job: 7 faults",
        f"{one}: document 3, TFJob good: valid",
        f"{two}: document 1, TFJob last: valid",
        f"{absent}: cannot be read: No such file or directory",
    ]


def test_standard_input_is_read_as_utf8(command: Command) -> None:
    job = {**tfjob(), "metadata": {"name": "j", "annotations": {"a": "ü"}}}
    text = yaml.safe_dump(job, allow_unicode=True).encode()
    assert command("validate", "-", stdin=text).out == (
        "standard input: document 1, TFJob j: valid\n"
    )
    assert command("validate", "-", stdin=b"\xff").out == (
        "standard input:1: is not UTF-8 text (byte 0); remedy: save the file as UTF-8\n"
    )
    assert command("validate", "-", stdin=b"a: [").out.startswith("standard input:")


def test_items_of_a_list_are_jobs(tmp_path: Path, command: Command) -> None:
    bad = {**tfjob(), "metadata": {"name": "0"}}
    items = {"apiVersion": "v1", "kind": "List", "items": [tfjob(), bad]}
    path = tmp_path / "list.json"
    path.write_text(json.dumps(items, indent=1))
    done = command("validate", str(path))
    assert done.code == 1
    assert f"{path}: document 1, TFJob j: valid\n" in done.out
    assert f"{path}: document 1, TFJob 0: 1 fault\n" in done.out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("# nothing\n---\n", "it is empty"),
        ("apiVersion: v1\nkind: Secret\n", "1 document of other kinds (Secret); a job is of kind"),
        ("{kind: A, apiVersion: v1}\n---\n{kind: B, apiVersion: v1}\n", "2 documents of other"),
        ("apiVersion: v1\nkind: List\nitems: null\n", "1 document of other kinds"),
    ],
)
def test_file_without_a_job_is_a_fault(
    tmp_path: Path, command: Command, text: str, reason: str
) -> None:
    file = written(tmp_path, text)
    done = command("validate", file)
    assert done.code == 1
    assert done.out.startswith(f"{file}: contains no job: {reason}")


def test_a_warning_is_not_a_fault_and_has_its_line(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, tfjob("M1 W2"))
    done = command("validate", file)
    assert done.code == 0
    assert f"  {file}:7: warning: Master: TensorFlow 2 strategies reject the task" in done.out
    shown = json.loads(command("validate", file, "--output=json").out)
    assert shown["jobs"][0]["faults"] == []
    (warning,) = shown["jobs"][0]["warnings"]
    assert warning["line"] == 7
    assert warning["text"].startswith("Master: ")


def test_strict_exits_with_1_if_there_are_warnings(tmp_path: Path, command: Command) -> None:
    warned, clean = written(tmp_path, tfjob("M1 W2")), written(tmp_path, tfjob(), name="b.yaml")
    assert command("validate", "--strict", warned).code == 1
    assert command("validate", "--strict", "-o", "json", warned).code == 1
    assert command("validate", "--strict", clean).code == 0


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: kubeflow.org/v1\nkind: TFJob\n",
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: []\nspec: 5\n",
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: [a]}\nspec: {1: 2, null: 3}\n",
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: {tfReplicaSpecs: [1]}\n",
        "apiVersion: [a]\nkind: TFJob\n",
        "apiVersion: kubeflow.org/v1\nkind: {a: b}\n---\n5\n",
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: !!binary AAAA\n",
        "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: {runPolicy: !!set {a, b}, x: .nan}\n",
    ],
)
def test_malformed_document_gives_faults_and_no_traceback(
    tmp_path: Path, command: Command, text: str
) -> None:
    done = command("validate", written(tmp_path, text))
    assert (done.code, done.err) == (1, "")
    assert "fault" in done.out
    assert command("validate", "-o", "json", written(tmp_path, text)).code == 1


def test_validate_without_a_file_is_a_usage_error(command: Command) -> None:
    done = command("validate")
    assert done.code == 2
    assert "FILE" in done.err
