"""`tfjob convert`: jobs in another API, each loss with its line; all jobs or none."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.job_files import written
from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import container, tfjob
from tests.unit.cli.conftest import Command, Done

V1, V1BETA1 = "kubeflow.org/v1", "kubeflow.org/v1beta1"
V1ALPHA1, TENSORSTACK = "tensorflow.org/v1alpha1", "batch.tensorstack.dev/v1beta1"
KINDS = {V1: "TFJob", V1BETA1: "TFJob", V1ALPHA1: "TfJob", TENSORSTACK: "TensorFlowTrainingJob"}

OLD = """\
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata:
  name: old
spec:
  RuntimeId: 76no
  replica_specs:
  - template: &one
      spec:
        restartPolicy: Never
        containers:
        - {name: tensorflow, image: img}
  - tfReplicaType: WORKER
    tfPort: 2300
    replicas: 2
    template: *one
  tensorBoard:
    logDir: /logs
"""
LOSSES = [
    (6, "spec.RuntimeId"),
    (8, "spec.replica_specs[0]"),
    (10, "spec.replica_specs[0].template.spec.restartPolicy"),
    (14, "spec.replica_specs[1].tfPort"),
    (18, "spec.tensorBoard.logDir"),
]


def shown(done: Done) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(done.out) if each]


@pytest.mark.parametrize("target", [V1, V1BETA1, V1ALPHA1, TENSORSTACK])
def test_a_job_is_converted_to_every_api(tmp_path: Path, command: Command, target: str) -> None:
    done = command("convert", written(tmp_path, tfjob("W1:Never")), "--to", target)
    (job,) = shown(done)
    assert done.code == 0
    assert (job["apiVersion"], job["kind"]) == (target, KINDS[target])
    back = command("convert", "-", "--to", V1, stdin=done.out.encode())
    (again,) = shown(back)
    assert again["kind"] == "TFJob"
    assert command("validate", "-", stdin=back.out.encode()).code == 0


def test_every_loss_is_reported_with_file_line_and_path_of_the_source(
    tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, OLD)
    done = command("convert", file, "--to", TENSORSTACK)
    lines = done.err.splitlines()
    assert done.code == 0
    assert len(lines) == len(LOSSES)
    for line, (number, path) in zip(lines, LOSSES, strict=True):
        assert line.startswith(f"{file}:{number}: {path}: ")
    assert [each["type"] for each in shown(done)[0]["spec"]["replicaSpecs"]] == ["chief", "worker"]


@pytest.mark.parametrize("target", [V1, V1BETA1, TENSORSTACK])
def test_losses_name_the_target_api(tmp_path: Path, command: Command, target: str) -> None:
    err = command("convert", written(tmp_path, OLD), "--to", target).err
    assert target in err
    assert [each for each in KINDS if each != target and f"{each} " in err] == []


def there_and_back(folder: Path, command: Command, board: dict[str, Any]) -> tuple[Done, Done]:
    """A job with a TensorBoard in the oldest API, and from there in its own again."""
    file = written(folder, training_job(tensorboardSpec=board))
    there = command("convert", file, "--to", V1ALPHA1)
    back = command("convert", "-", "--to", TENSORSTACK, stdin=there.out.encode())
    assert shown(back)[0]["spec"]["tensorboardSpec"] == board
    return there, back


def test_a_tensorboard_is_converted_to_another_api_and_back(
    tmp_path: Path, command: Command
) -> None:
    """004 L134-142: the example of T9k's page."""
    board = {
        "image": "t9kpublic/tensorboard:2.11.0",
        "trainingLogFilesets": ["t9k://pvc/tensorflow-tensorboard-pvc/log"],
    }
    there, _ = there_and_back(tmp_path, command, board)
    (old,) = shown(there)
    assert old["spec"]["tfImage"] == board["image"]
    assert old["spec"]["tensorboard"] == {
        "logDir": "/logs",
        "volumeMounts": [{"name": "logs-0", "mountPath": "/logs", "subPath": "log"}],
        "volumes": [
            {
                "name": "logs-0",
                "persistentVolumeClaim": {"claimName": "tensorflow-tensorboard-pvc"},
            }
        ],
    }
    assert "spec.tensorboard" not in there.err


def test_a_tensorboard_of_several_claims_is_the_same_after_a_round_trip(
    tmp_path: Path, command: Command
) -> None:
    filesets = ["t9k://pvc/b/log", "t9k://pvc/a", "t9k://pvc/b/more/logs"]
    there, back = there_and_back(
        tmp_path, command, {"image": "tb", "trainingLogFilesets": filesets}
    )
    assert "spec.tensorboard" not in there.err + back.err


def test_strict_treats_a_loss_as_a_fault(tmp_path: Path, command: Command) -> None:
    done = command("convert", written(tmp_path, OLD), "--to", TENSORSTACK, "--strict")
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == len(LOSSES)


def test_strict_accepts_a_conversion_without_losses(tmp_path: Path, command: Command) -> None:
    job = tfjob("M1:ExitCode W2:OnFailure")
    done = command("convert", written(tmp_path, job), "--to", V1ALPHA1, "--strict")
    assert (done.code, done.err) == (0, "")
    assert shown(command("convert", "-", "--to", V1, stdin=done.out.encode())) == [job]


def test_loss_of_a_field_in_its_older_place_is_reported_there(
    tmp_path: Path, command: Command
) -> None:
    old = "apiVersion: kubeflow.org/v1beta1\n" + yaml.safe_dump(
        {**tfjob("M1:ExitCode"), "spec": {"backoffLimit": 3, **tfjob("M1:ExitCode")["spec"]}}
    ).replace("apiVersion: kubeflow.org/v1\n", "")
    file = written(tmp_path, old)
    number = old.splitlines().index("  backoffLimit: 3") + 1
    err = command("convert", file, "--to", V1ALPHA1).err
    assert f"{file}:{number}: spec.backoffLimit: {V1ALPHA1} has no such field" in err
    above = old.splitlines().index("spec:") + 1
    assert f"{file}:{above}: spec.cleanPodPolicy (default): {V1ALPHA1} has no such field" in err


def test_documents_of_other_kinds_are_copied_in_order(tmp_path: Path, command: Command) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    one = written(tmp_path, claim, tfjob(name="a"), name="one.yaml")
    two = written(tmp_path, tfjob(name="b"), name="two.yaml")
    done = command("convert", one, two, "--to", V1BETA1)
    names = [(each["kind"], each["metadata"]["name"]) for each in shown(done)]
    assert names == [("PersistentVolumeClaim", "c"), ("TFJob", "a"), ("TFJob", "b")]
    assert shown(done)[0] == claim
    assert done.out.count("---\n") == 3


def test_fields_that_an_api_server_sets_are_left_out(tmp_path: Path, command: Command) -> None:
    job = tfjob()
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    job["metadata"] |= {
        "uid": "u",
        "resourceVersion": "5",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [],
        "labels": {"team": "a"},
        "annotations": applied | {"note": "n"},
        "namespace": "lab",
    }
    job["status"] = {"conditions": []}
    (found,) = shown(command("convert", written(tmp_path, job), "--to", V1BETA1))
    kept = {"name": "j", "labels": {"team": "a"}, "annotations": {"note": "n"}, "namespace": "lab"}
    assert found["metadata"] == kept
    assert "status" not in found
    (same,) = shown(command("convert", written(tmp_path, job), "--to", V1))
    assert same == {**tfjob(), "metadata": kept}


def test_a_job_of_the_target_api_is_unchanged(tmp_path: Path, command: Command) -> None:
    done = command("convert", written(tmp_path, OLD), "--to", V1ALPHA1)
    assert (done.code, done.err) == (0, "")
    assert shown(done) == [yaml.safe_load(OLD)]


def test_a_fault_of_one_job_stops_the_whole_conversion(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, tfjob("C2", name="bad"), tfjob(name="good"))
    done = command("convert", file, "--to", V1BETA1)
    head, fault, remedy = done.err.splitlines()
    assert (done.code, done.out) == (1, "")
    assert head == f"{file}: document 1, TFJob bad: has faults and is not converted"
    assert "spec.tfReplicaSpecs[Chief].replicas: Invalid value: 2" in fault
    assert remedy.startswith("      remedy: ")


def test_jobs_of_the_same_name_are_not_converted_to_one_api(
    tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, tfjob("W1"), old_job())
    done = command("convert", file, "--to", V1)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == (
        f"{file}: document 2, TfJob j: would replace {file}: document 1, TFJob j;"
        " rename one of them first"
    )
    apart = tfjob("W1")
    apart["metadata"]["namespace"] = "other"
    file = written(tmp_path, apart, old_job())
    assert command("convert", file, "--to", V1).code == 0


def test_job_that_the_target_would_reject_is_not_converted(
    tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, tfjob("P1:ExitCode"))
    done = command("convert", file, "--to", TENSORSTACK)
    assert (done.code, done.out) == (1, "")
    assert f"would be invalid as {TENSORSTACK} and is not converted" in done.err


def test_an_unreadable_file_stops_the_whole_conversion(tmp_path: Path, command: Command) -> None:
    done = command("convert", written(tmp_path, tfjob()), str(tmp_path / "no"), "--to", V1BETA1)
    assert (done.code, done.out) == (1, "")
    assert "cannot be read" in done.err


@pytest.mark.parametrize(
    ("text", "said", "shown_documents"),
    [
        ("", "contains no job: it is empty", 0),
        ("{apiVersion: v1, kind: Secret}", "contains no job: it is printed unchanged", 1),
    ],
)
def test_file_without_a_job_is_reported(
    command: Command, text: str, said: str, shown_documents: int
) -> None:
    done = command("convert", "-", "--to", V1, stdin=text.encode())
    assert (done.code, done.err) == (0, f"standard input: {said}\n")
    assert len(shown(done)) == shown_documents


def test_an_unknown_target_is_a_usage_error_that_lists_the_known_ones(command: Command) -> None:
    done = command("convert", "-", "--to", "example.org/v7")
    assert done.code == 2
    for api in KINDS:
        assert api in done.err


def test_text_that_looks_like_a_number_stays_text(tmp_path: Path, command: Command) -> None:
    job = tfjob()
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    worker["template"]["spec"]["containers"] = [container(args=["1e3", "y", "0o7"])]
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job))
    done = command("convert", str(path), "--to", V1BETA1)
    for text in ("1e3", "y", "0o7"):
        assert f"- '{text}'\n" in done.out


def test_guide_shows_what_is_printed(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs/guide/convert.md").read_text("utf-8")
    job = page.split("<<'END'\n")[1].split("END\n")[0]
    (loss,) = [line for line in page.splitlines() if line.startswith("old.yaml:")]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yaml").write_text(job)
    assert command("convert", "old.yaml", "--to", V1).err == f"{loss}\n"


def test_loss_of_an_absent_field_is_reported_at_its_entry(tmp_path: Path, command: Command) -> None:
    job = old_job("MASTER")
    job["spec"]["replicaSpecs"].append({"tfReplicaType": "PS"})
    file = written(tmp_path, yaml.safe_dump(job))
    number = yaml.safe_dump(job).splitlines().index("  - tfReplicaType: PS") + 1
    err = command("convert", file, "--to", V1).err
    place = f"{file}:{number}: spec.replicaSpecs[1].template (default)"
    assert f"{place}: {V1} has no default parameter server" in err
