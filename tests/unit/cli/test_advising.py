"""Where a warning stands: beside the entry, or the field of a template, that it is about."""

from pathlib import Path

import pytest

from tfjob.cli import documents
from tfjob.cli.advising import advice_on
from tfjob.cli.checking import check

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
      template: {spec: {containers: [{name: tensorflow, image: img, args: [1]}]}}
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


def lines_of(folder: Path, text: str) -> list[tuple[int | None, str]]:
    path = folder / "job.yaml"
    path.write_text(text, "utf-8")
    (document,) = documents.read(str(path))
    checked = check(document)
    assert checked is not None
    assert checked.faults == []
    return [(each.line, each.text.partition(": ")[2][:27]) for each in advice_on(checked)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            MAP,
            [
                (12, "ParameterServerStrategy nee"),
                (12, "with restartPolicy Never on"),
                (9, "template.spec.restartPolicy"),
                (13, "template.spec.containers[0]"),
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
