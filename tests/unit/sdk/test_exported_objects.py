"""Exported objects, as they are created again."""

from typing import Any

import pytest

from tfjob.sdk.exported_objects import as_written, for_new_cluster, left_out

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    "field",
    [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
        "clusterName",
    ],
)
def test_a_field_of_the_server_is_left_out(field: str) -> None:
    given = {"metadata": {"name": "j", field: "x"}, "spec": {}, "status": {}}
    assert as_written(given) == {"metadata": {"name": "j"}, "spec": {}}


def test_labels_and_annotations_of_the_user_stay() -> None:
    metadata = {"labels": {"a": "b"}, "annotations": {"note": "n", LAST_APPLIED: "{}"}}
    kept = {"labels": {"a": "b"}, "annotations": {"note": "n"}}
    assert as_written({"metadata": metadata}) == {"metadata": kept}


def test_annotations_that_only_kubectl_made_are_left_out() -> None:
    assert as_written({"metadata": {"annotations": {LAST_APPLIED: "{}"}}}) == {"metadata": {}}


def test_owners_and_finalizers_stay_unless_the_cluster_is_another_one() -> None:
    ties = {"ownerReferences": [{"uid": "o"}], "finalizers": ["f"]}
    assert as_written({"metadata": ties}) == {"metadata": ties}
    assert for_new_cluster({"metadata": ties}) == {"metadata": {}}


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({}, ""),
        ({"finalizers": [], "ownerReferences": None}, ""),
        (
            {"finalizers": ["f"]},
            (
                "TFJob j: metadata.finalizers is left out, because it belongs to the cluster that"
                " the object comes from"
            ),
        ),
        (
            {"finalizers": ["f"], "ownerReferences": [{"uid": "o"}]},
            (
                "TFJob j: metadata.ownerReferences and metadata.finalizers are left out, because"
                " they belong to the cluster that the object comes from"
            ),
        ),
    ],
)
def test_ties_that_are_left_out_are_named(metadata: dict[str, Any], told: str) -> None:
    assert left_out({"kind": "TFJob", "metadata": {"name": "j", **metadata}}) == told


def old_job(**metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": "j", **metadata},
        "spec": {"RuntimeId": "76no", "replicaSpecs": []},
    }


def test_an_exported_job_leaves_its_runtime_id_to_the_original() -> None:
    assert for_new_cluster(old_job(uid="u"))["spec"] == {"replicaSpecs": []}


def test_a_runtime_id_that_a_user_wrote_is_kept() -> None:
    assert for_new_cluster(old_job())["spec"]["RuntimeId"] == "76no"


def test_a_bound_claim_is_unbound() -> None:
    annotations = {"pv.kubernetes.io/bind-completed": "yes", "note": "n"}
    given = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "annotations": annotations},
        "spec": {"volumeName": "pv-1", "accessModes": ["ReadWriteOnce"]},
    }
    assert for_new_cluster(given) == {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "annotations": {"note": "n"}},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"metadata": None},
        {"metadata": "x"},
        {"metadata": {"annotations": "x"}},
        {**old_job(uid="u"), "spec": None},
        {"kind": "PersistentVolumeClaim", "spec": None, "metadata": {"annotations": []}},
    ],
)
def test_malformed_object_raises_no_error(odd: dict[str, Any]) -> None:
    assert for_new_cluster(odd).get("kind") == odd.get("kind")
