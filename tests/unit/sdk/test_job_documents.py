"""Which documents are jobs, which are nearly jobs, and which are ignored."""

from typing import Any

import pytest
import yaml

from tests.support.tfjobs import tfjob
from tfjob.k8s.field import summary
from tfjob.sdk.documents import Document
from tfjob.sdk.job_documents import CheckedDocument, check


def checked(value: Any) -> CheckedDocument | None:
    node = yaml.compose(yaml.safe_dump(value), Loader=yaml.SafeLoader)
    return check(Document(file="f", number=1, value=value, node=node, repeated=[]))


def faults_of(value: Any) -> str:
    found = checked(value)
    assert found is not None
    assert all(fault.remedy for fault in found.faults)
    return summary(found.faults)


@pytest.mark.parametrize("version", ["kubeflow.org/v1", "kubeflow.org/v1beta1"])
def test_job_of_a_known_version_is_read_by_its_dialect(version: str) -> None:
    found = checked({**tfjob(), "apiVersion": version})
    assert found is not None
    assert found.dialect is not None
    assert f"{found.dialect.group}/{found.dialect.version}" == version
    assert (found.title, list(found.faults)) == ("TFJob j", [])


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        ({"namespace": 3}, "metadata.namespace in body must be of type string"),
        ({"namespace": "Bad_NS"}, 'metadata.namespace: Invalid value: "Bad_NS": a lowercase RFC'),
        ({"namespace": "a.b"}, 'metadata.namespace: Invalid value: "a.b": must not contain dots'),
        ({"labels": {"a": 3}}, "metadata.labels.a in body must be of type string"),
        ({"labels": {"a": None}}, "metadata.labels.a in body must be of type string"),
        ({"labels": ["a"]}, "metadata.labels in body must be of type object"),
        ({"labels": {"a b": "c"}}, 'metadata.labels: Invalid value: "a b=c": name part must'),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "a=b c": a valid label must'),
        ({"annotations": {"a": 3}}, "metadata.annotations.a in body must be of type string"),
    ],
)
def test_metadata_that_an_api_server_rejects_is_a_fault(
    metadata: dict[str, Any], fault: str
) -> None:
    assert fault in faults_of({**tfjob(), "metadata": {"name": "j", **metadata}})


def test_metadata_that_an_api_server_takes_is_no_fault() -> None:
    labels = {"app": "", "example.com/Team_1": "x.y", "a": "b" * 63}
    metadata = {"name": "j", "namespace": "1-ns", "labels": labels, "annotations": {"a": "b c"}}
    assert faults_of({**tfjob(), "metadata": metadata}) == faults_of(tfjob())
    empty: dict[str, Any] = {"name": "j", "namespace": None, "labels": None, "annotations": {}}
    assert faults_of({**tfjob(), "metadata": empty}) == faults_of(tfjob())


def test_title_stays_on_one_line_and_moves_no_cursor() -> None:
    found = checked({**tfjob(), "metadata": {"name": "a\x1b[31m\né"}})
    assert found is not None
    assert found.title == "TFJob a\\x1b[31m\\né"


@pytest.mark.parametrize(
    "value",
    [
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"},
        {"apiVersion": "kubeflow.org/v1", "kind": "MXJob"},
        {"apiVersion": "kubeflow.org/v1", "kind": ["TFJob"]},
        {"apiVersion": 5, "kind": {"a": "b"}},
    ],
)
def test_other_kinds_are_ignored(value: Any) -> None:
    assert checked(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {**tfjob(), "apiVersion": "kubeflow.org/v2"},
            (
                'apiVersion: Unsupported value: "kubeflow.org/v2": supported values:'
                ' "kubeflow.org/v1", "kubeflow.org/v1beta1"'
            ),
        ),
        (
            {**tfjob(), "kind": "tfjob"},
            'kind: Unsupported value: "tfjob": supported values: "TFJob"',
        ),
        (
            {**tfjob(), "apiVersion": "tensorflow.org/v1alpha1"},
            'kind: Unsupported value: "TFJob": supported values: "TfJob"',
        ),
        (
            {**tfjob(), "kind": "TfJob"},
            'kind: Unsupported value: "TfJob": supported values: "TFJob"',
        ),
        (
            {**tfjob(), "kind": "TFJobs"},
            'kind: Unsupported value: "TFJobs": supported values: "TFJob"',
        ),
        (
            {**tfjob(), "kind": "TensorFlowTrainingJob"},
            (
                'apiVersion: Unsupported value: "kubeflow.org/v1": supported values:'
                ' "batch.tensorstack.dev/v1beta1"'
            ),
        ),
        (
            {**tfjob(), "apiVersion": "v1", "kind": "TensorFlowTrainingJob"},
            (
                'apiVersion: Unsupported value: "v1": supported values:'
                ' "batch.tensorstack.dev/v1beta1"'
            ),
        ),
        ({"metadata": {"name": "j"}}, "kind: Required value: must be specified"),
        ({"apiVersion": "kubeflow.org/v1"}, "kind: Required value: must be specified"),
        (
            ["a"],
            (
                'document: Invalid value: ["a"]: must be a mapping with apiVersion, kind,'
                " metadata and spec"
            ),
        ),
        (
            5,
            (
                "document: Invalid value: 5: must be a mapping with apiVersion, kind,"
                " metadata and spec"
            ),
        ),
    ],
)
def test_document_that_is_nearly_a_job_is_reported_with_what_is_missing(
    value: Any, text: str
) -> None:
    assert faults_of(value) == text


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"apiVersion": "kubeflow.org/v1", "kind": "TFJobs"}, "did you mean TFJob?"),
        ({"apiVersion": "kubeflow.org/v1", "kind": "tfjob"}, "did you mean TFJob?"),
        ({"apiVersion": "kubeflow.org/v1", "kind": "TJFob"}, "did you mean TFJob?"),
        ({"apiVersion": "kubeflow/v1", "kind": "TFJob"}, "write kubeflow.org/v1"),
        (
            {"apiVersion": "kubeflow/v1", "kind": "tfjob"},
            "write kubeflow.org/v1, and TFJob as kind",
        ),
        ({"kind": "TFJob"}, "add apiVersion: kubeflow.org/v1"),
        ({"apiversion": "kubeflow.org/v1", "kind": "TFJob"}, "write apiVersion instead of"),
        ({"apiVersion": "kubeflow.org/v1", "Kind": "TFJob"}, "write kind instead of Kind"),
    ],
)
def test_a_misspelt_kind_or_version_gets_a_suggestion(given: dict[str, str], remedy: str) -> None:
    found = checked({**given, "metadata": {"name": "j"}})
    assert found is not None
    assert [each.remedy[: len(remedy)] for each in found.faults] == [remedy]


@pytest.mark.parametrize(
    ("metadata", "title"),
    [
        ({"generateName": "g-"}, "TFJob g-"),
        ({}, "TFJob without a name"),
        ([], "TFJob without a name"),
    ],
)
def test_title_says_what_there_is_of_a_name(metadata: Any, title: str) -> None:
    found = checked({**tfjob(), "metadata": metadata})
    assert found is not None
    assert found.title == title
