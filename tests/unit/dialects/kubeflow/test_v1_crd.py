"""The published CRD of TFJobs."""

import copy

import pytest

from tests.unit.dialects.schemas import pieces
from tfjob.dialects.kubeflow.v1 import KubeflowV1

CRD = KubeflowV1().crd()
VERSIONS = {version["name"]: version for version in CRD["spec"]["versions"]}
SCHEMAS = {name: version["schema"]["openAPIV3Schema"] for name, version in VERSIONS.items()}


def test_names() -> None:
    assert CRD["metadata"]["name"] == "tfjobs.kubeflow.org"
    assert CRD["spec"]["group"] == "kubeflow.org"
    assert CRD["spec"]["scope"] == "Namespaced"
    assert CRD["spec"]["names"] == {
        "kind": "TFJob",
        "listKind": "TFJobList",
        "plural": "tfjobs",
        "singular": "tfjob",
        "shortNames": ["tfj"],
    }


def test_two_versions_are_served_and_one_is_stored() -> None:
    assert [(name, each["served"], each["storage"]) for name, each in VERSIONS.items()] == [
        ("v1", True, True),
        ("v1beta1", True, False),
    ]
    assert CRD["spec"]["conversion"] == {"strategy": "None"}


def test_old_version_is_deprecated_and_the_new_one_is_not() -> None:
    assert VERSIONS["v1beta1"]["deprecated"] is True
    assert VERSIONS["v1beta1"]["deprecationWarning"] == (
        "kubeflow.org/v1beta1 TFJob is deprecated; use kubeflow.org/v1 TFJob"
    )
    assert "deprecated" not in VERSIONS["v1"]


@pytest.mark.parametrize("name", ["v1", "v1beta1"])
def test_columns_and_subresources(name: str) -> None:
    assert VERSIONS[name]["additionalPrinterColumns"] == [
        {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Why", "type": "string", "jsonPath": ".status.diagnosis.cause", "priority": 1},
    ]
    assert VERSIONS[name]["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.tfReplicaSpecs.Worker.replicas",
            "statusReplicasPath": ".status.replicaStatuses.Worker.active",
            "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
        },
    }


def test_versions_differ_in_one_default_alone() -> None:
    old = copy.deepcopy(SCHEMAS["v1beta1"])
    assert old["properties"]["spec"]["properties"]["cleanPodPolicy"].pop("default") == "Running"
    assert old == SCHEMAS["v1"]


def test_suspend_is_the_only_default_of_v1() -> None:
    defaults = {
        path: piece["default"] for path, piece in pieces(SCHEMAS["v1"]) if "default" in piece
    }
    assert defaults == {".spec.runPolicy.suspend": False}


def test_only_what_must_be_there_is_required() -> None:
    required = {
        path: piece["required"] for path, piece in pieces(SCHEMAS["v1"]) if "required" in piece
    }
    containers = ".spec.tfReplicaSpecs[].template.spec.containers"
    assert required == {
        ".spec": ["tfReplicaSpecs"],
        f"{containers}[].ports[]": ["containerPort"],
        ".status.conditions[]": ["type", "status"],
    }


def test_fields_of_a_newer_kubernetes_pass_through_the_template_and_the_status() -> None:
    keeps = {
        path
        for path, piece in pieces(SCHEMAS["v1"])
        if piece.get("x-kubernetes-preserve-unknown-fields")
    }
    template = ".spec.tfReplicaSpecs[].template"
    assert {f"{template}.spec", f"{template}.spec.containers[]", ".status"} <= keeps
    assert not {"", ".spec", ".spec.runPolicy", f"{template}.metadata", template} & keeps


def test_metadata_of_the_template_is_declared() -> None:
    metadata = dict(pieces(SCHEMAS["v1"]))[".spec.tfReplicaSpecs[].template.metadata"]
    assert set(metadata["properties"]) == {
        "annotations",
        "creationTimestamp",
        "finalizers",
        "labels",
        "name",
        "namespace",
    }


def test_status_shows_what_the_operator_writes() -> None:
    counts = dict(pieces(SCHEMAS["v1"]))[".status.replicaStatuses[]"]["properties"]
    assert set(counts) == {
        "active",
        "succeeded",
        "failed",
        "restarts",
        "completedIndexes",
        "recentRestarts",
        "selector",
        "labelSelector",
    }
