"""The lines of warnings: that of the replica type, or of the field of its template."""

import json
import re
from pathlib import Path

import pytest

from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import Json, tfjob
from tfjob.cli.placed_advice import advice_on
from tfjob.sdk import documents
from tfjob.sdk.job_documents import CheckedDocument, check

MAP = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: j}
spec:
  tfReplicaSpecs:
    worker:
      template:
        spec:
          restartPolicy: Always
          containers:
          - {name: tensorflow, image: img}
    PS:
      template: {spec: {containers: [{name: tensorflow, image: img, tomorrow: 1}]}}
"""
LIST = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: TensorFlowTrainingJob
metadata: {name: j}
spec:
  replicaSpecs:
  - type: worker
    template:
      spec:
        restartPolicy: Always
        containers:
        - {name: tensorflow, image: img}
"""
OLD = """\
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata: {name: j}
spec:
  replicaSpecs:
  - tfReplicaType: MASTER
    tfPorts: 5000
    template: {spec: {containers: [{name: tensorflow, image: img}]}}
  schedulerName: other
"""


def checked(folder: Path, text: str) -> CheckedDocument:
    path = folder / "job.yaml"
    path.write_text(text, "utf-8")
    (document,) = documents.read(str(path))
    found = check(document)
    assert found is not None
    assert found.faults == []
    return found


def lines_of(folder: Path, text: str) -> list[tuple[int | None, str]]:
    found = advice_on(checked(folder, text))
    return [(each.line, each.text.partition(": ")[2][:27]) for each in found]


@pytest.mark.parametrize(
    ("job", "advice"),
    [
        (tfjob("M1 W1"), "Master: .* `master` .*; name the replica type Chief$"),
        (
            old_job("MASTER", "WORKER"),
            "MASTER: .*; pass the cluster .* with the task type chief, or",
        ),
        (old_job("MASTER", "PS"), "MASTER: "),
        (training_job("worker", "ps"), "ps: .* this job has none; add an entry of type chief, or"),
        (training_job("chief", "ps"), "ps: with restartPolicy Never .* hangs the job; OnF"),
        (tfjob("C1 P1"), "PS: with restartPolicy Never .* fails the whole job; OnFailure"),
    ],
)
def test_advice_can_be_followed_in_the_api_of_the_job(
    tmp_path: Path, job: Json, advice: str
) -> None:
    first = advice_on(checked(tmp_path, json.dumps(job)))[0]
    assert re.match(advice, first.text), first.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            MAP,
            [
                (12, "ParameterServerStrategy nee"),
                (12, "with restartPolicy Never on"),
                (9, "template.spec.restartPolicy"),
                (13, "unknown pod field; a cluste"),
            ],
        ),
        (LIST, [(9, "template.spec.restartPolicy")]),
        (OLD, [(7, "unknown field, which is ign"), (9, "unknown field, which is ign")]),
    ],
)
def test_warning_has_the_line_of_its_entry_or_field(
    tmp_path: Path, text: str, expected: list[tuple[int, str]]
) -> None:
    assert sorted(lines_of(tmp_path, text), key=str) == sorted(expected, key=str)
