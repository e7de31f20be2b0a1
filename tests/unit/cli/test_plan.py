"""`tfjob plan`: the children of a job, byte for byte, and nothing for an invalid job."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.builders import NOW, decoded
from tests.support.job_files import written
from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command, Done
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.observe import Children
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings


def children_of(done: Done) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(done.out) if each]


def made_by_the_core(job: dict[str, Any], settings: Settings | None = None) -> list[Any]:
    found = decoded(job, settings)
    plan = reconcile(job=found, children=Children(), now=NOW)
    return [ManifestBuilder(found).manifest(create) for create in plan.creates]


def without_namespace(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "namespace"}
    return {**manifest, "metadata": metadata}


def env_of(done: Done, pod: str) -> dict[str, str]:
    (found,) = [
        each
        for each in children_of(done)
        if each["kind"] == "Pod" and each["metadata"]["name"] == pod
    ]
    env = found["spec"]["containers"][0]["env"]
    return {each["name"]: each["value"] for each in env}


def test_the_plan_equals_what_the_core_creates(tmp_path: Path, command: Command) -> None:
    job = tfjob("C1 P1:OnFailure W2 E1", restart="ExitCode")
    done = command("plan", written(tmp_path, job))
    assert done.code == 0
    shown = children_of(done)
    assert [without_namespace(each) for each in shown] == made_by_the_core(job)
    assert {each["metadata"]["namespace"] for each in shown} == {"default"}
    assert len(shown) == 10


def test_job_that_has_run_already_is_planned_as_a_new_one(tmp_path: Path, command: Command) -> None:
    job = tfjob("W2")
    ended = {
        **job,
        "metadata": {**job["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "status": {
            "conditions": [{"type": "Succeeded", "status": "True"}],
            "replicaStatuses": {"Worker": {"completedIndexes": "0-1"}},
        },
    }
    new = command("plan", written(tmp_path, job))
    assert command("plan", written(tmp_path, ended)) == new
    assert len(children_of(new)) == 4


def test_exported_job_is_planned_under_the_names_of_a_new_one(
    tmp_path: Path, command: Command
) -> None:
    own = old_job("MASTER", name="j")
    exported = {**own, "metadata": {"name": "j", "uid": "1", "resourceVersion": "7"}}
    names = {
        each["metadata"]["name"] for each in children_of(command("plan", written(tmp_path, own)))
    }
    assert names == {"master-76no-0"}
    done = command("plan", written(tmp_path, exported))
    assert {each["metadata"]["name"] for each in children_of(done)} == {"master-xxxx-0"}
    assert "76no" not in done.out


def test_job_without_replicas_says_why_nothing_is_planned(tmp_path: Path, command: Command) -> None:
    done = command("plan", written(tmp_path, tfjob("W0")))
    assert (done.code, done.out) == (0, "")
    assert "TFJob j: every replica type has 0 replicas, so nothing will ever run" in done.err


@pytest.mark.parametrize("text", ["1e-3", "12e4", "0o7", "y", "N", "yes", "1:30", "2026-01-01"])
def test_strings_that_look_like_other_types_are_quoted(
    tmp_path: Path, command: Command, text: str
) -> None:
    job = tfjob("W1")
    container = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["args"] = [text]
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job))
    done = command("plan", str(path))
    assert f"- '{text}'\n" in done.out


def test_the_plan_has_no_yaml_aliases(tmp_path: Path, command: Command) -> None:
    done = command("plan", written(tmp_path, tfjob("W3")))
    assert not any(mark in done.out for mark in ("&id", "*id"))


def test_plan_is_deterministic(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, tfjob("C1 W2"))
    assert command("plan", file) == command("plan", file)


def test_flags_of_the_operator_apply_to_the_plan(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, tfjob("C1 W1 E1"))
    plain = env_of(command("plan", file), "j-chief-0")["TF_CONFIG"]
    flags = ("--cluster-domain", "example.test", "--evaluator-in-cluster")
    changed = env_of(command("plan", file, *flags), "j-chief-0")["TF_CONFIG"]
    assert '"j-chief-0.default.svc:2222"' in plain
    assert "evaluator" not in plain
    assert '"j-chief-0.default.svc.example.test:2222"' in changed
    assert "evaluator" in changed


@pytest.mark.parametrize("scheduler", ["volcano", "scheduler-plugins-scheduler"])
def test_a_gang_is_planned_with_its_pod_group(
    tmp_path: Path, command: Command, scheduler: str
) -> None:
    file = written(tmp_path, tfjob("P1:OnFailure W2"))
    shown = children_of(command("plan", file, "--gang-scheduler-name", scheduler))
    kinds = [each["kind"] for each in shown]
    assert [kinds.count(kind) for kind in ("PodGroup", "Pod", "Service")] == [1, 3, 3]
    pods = [each for each in shown if each["kind"] == "Pod"]
    assert {pod["spec"]["schedulerName"] for pod in pods} == {scheduler}
    names = [(each["kind"], each["metadata"]["name"]) for each in shown]
    assert len(names) == len(set(names))


def test_batch_jobs_server_program_and_tensorboard_of_a_v1alpha1_job_are_planned(
    tmp_path: Path, command: Command
) -> None:
    job = old_job("MASTER", "WORKER", tensorboard={"logDir": "/logs"})
    job["spec"]["replicaSpecs"].append({"tfReplicaType": "PS", "replicas": 2})
    done = command("plan", written(tmp_path, job))
    shown = [(each["kind"], each["metadata"]["name"]) for each in children_of(done)]
    assert done.code == 0
    assert set(shown) >= {
        ("ConfigMap", "cm-ps-76no"),
        ("Deployment", "tensorboard-76no"),
        ("Service", "tensorboard-76no"),
        ("Service", "ps-76no-1"),
        ("Job", "master-76no-0"),
        ("Job", "worker-76no-0"),
        ("Job", "ps-76no-1"),
    }
    assert len(shown) == len(set(shown)) == 3 + 2 * 4


def test_the_configuration_of_the_operator_applies_to_the_plan(
    tmp_path: Path, command: Command
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("tfImage: other/image\n")
    file = written(tmp_path, old_job(tensorboard={"logDir": "/logs"}))
    done = command("plan", file, "--controller-config-file", str(config))
    (board,) = [each for each in children_of(done) if each["kind"] == "Deployment"]
    assert board["spec"]["template"]["spec"]["containers"][0]["image"] == "other/image"
    config.write_text("tfImage: [")
    broken = command("plan", file, "--controller-config-file", str(config))
    assert (broken.code, broken.out) == (1, "")
    assert str(config) in broken.err


def test_the_pod_group_backend_applies_to_the_plan(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, training_job(scheduler={"t9kScheduler": {"queue": "q"}}))
    shown = children_of(command("plan", file, "--t9k-pod-group-backend", "none"))
    assert [each["kind"] for each in shown] == ["Service", "Pod"]


def test_pod_group_tensorboard_and_pods_of_a_t9k_job_are_planned_once(
    tmp_path: Path, command: Command
) -> None:
    board = {"image": "tb", "trainingLogFilesets": ["t9k://pvc/p/log"]}
    job = training_job(
        "chief",
        "worker",
        scheduler={"t9kScheduler": {"queue": "q"}},
        tensorboardSpec=board,
    )
    kinds = [each["kind"] for each in children_of(command("plan", written(tmp_path, job)))]
    assert sorted(kinds) == ["Deployment", "Pod", "Pod", "PodGroup", *["Service"] * 3]


def test_a_generated_name_is_planned_with_placeholders(tmp_path: Path, command: Command) -> None:
    job = {**tfjob(), "metadata": {"generateName": "g-"}}
    shown = children_of(command("plan", written(tmp_path, job)))
    assert {each["metadata"]["name"] for each in shown} == {"g-xxxxx-worker-0"}


def test_faulty_job_is_not_planned_and_the_others_are(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, tfjob("C2", name="bad"), tfjob(name="good"))
    done = command("plan", file)
    assert done.code == 1
    assert {each["metadata"]["name"] for each in children_of(done)} == {"good-worker-0"}
    head, fault, remedy = done.err.splitlines()
    assert head == f"{file}: document 1, TFJob bad: has faults and is not planned"
    assert "spec.tfReplicaSpecs[Chief].replicas: Invalid value: 2" in fault
    assert remedy == "      remedy: set replicas to 1 and add further replicas as Workers"


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({"suspend": True}, "suspended; no pods are planned until it is resumed"),
        (
            {"managedBy": "kueue.x-k8s.io/multikueue"},
            "managed by another controller; nothing is planned",
        ),
    ],
)
def test_a_job_without_pods_for_now_says_why(
    tmp_path: Path, command: Command, policy: dict[str, Any], sentence: str
) -> None:
    done = command("plan", written(tmp_path, tfjob(run_policy=policy)))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"TFJob j: {sentence}\n"


def test_warnings_are_printed_on_stderr_and_not_in_the_plan(
    tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, tfjob("M1 W1"))
    done = command("plan", file)
    assert done.code == 0
    assert done.err.startswith(f"{file}:7: warning: TFJob j: Master: ")
    assert "warning" not in done.out


def test_a_missing_or_invalid_file_and_one_without_a_job_are_rejected(
    tmp_path: Path, command: Command
) -> None:
    absent = str(tmp_path / "absent")
    assert command("plan", absent) == (
        1,
        "",
        f"{absent}: cannot be read: No such file or directory\n",
    )
    assert command("plan", "-", stdin=b"") == (1, "", "standard input: contains no job\n")
    assert command("plan", "-", stdin=b"a: [").code == 1
