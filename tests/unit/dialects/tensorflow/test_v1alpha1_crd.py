"""The published CRD of TfJobs, and how the local API server applies it."""

import copy

import pytest

from tests.unit.dialects.schemas import pieces
from tests.unit.dialects.tensorflow.jobs import DIALECT, Json, example, stored
from tests.unit.dialects.tensorflow.verdicts import ACCEPTED, REFUSED
from tfjob.local.apiserver import crd

CRD = DIALECT.crd()
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SERVER = crd.Structural(SCHEMA, "schema")
FROZEN = (
    "the spec cannot be changed once the job has its RuntimeId: "
    "delete the job and create it again with the new spec"
)


def judged(given: Json, old: Json | None = None) -> list[str]:
    """What the API server of tfjob says against a job."""
    before = None if old is None else read(old)
    return [finding.message for finding in SERVER.faults(read(given), before)]


def read(given: Json) -> Json:
    """A document as the API server reads it: pruned, and with defaults."""
    document = copy.deepcopy(given)
    SERVER.prune(document)
    SERVER.default(document)
    return document


def test_names() -> None:
    assert CRD["metadata"]["name"] == "tfjobs.tensorflow.org"
    assert CRD["spec"]["scope"] == "Namespaced"
    assert CRD["spec"]["names"] == {
        "kind": "TfJob",
        "listKind": "TfJobList",
        "plural": "tfjobs",
        "singular": "tfjob",
        "shortNames": ["tfjalpha"],
    }


def test_one_version_with_a_status_and_columns() -> None:
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v1alpha1", True, True)
    assert VERSION["subresources"] == {"status": {}}
    assert {each["name"]: each["jsonPath"] for each in VERSION["additionalPrinterColumns"]} == {
        "State": ".status.state",
        "Phase": ".status.phase",
        "RuntimeId": ".spec.RuntimeId",
        "Age": ".metadata.creationTimestamp",
        "Why": ".status.diagnosis.cause",
    }


@pytest.mark.parametrize("why", ACCEPTED)
def test_good_job_is_taken(why: str) -> None:
    assert judged(ACCEPTED[why]) == []


@pytest.mark.parametrize("why", REFUSED)
def test_bad_job_is_rejected_in_the_contract_s_words(why: str) -> None:
    given, text = REFUSED[why]
    assert any(text in message for message in judged(given))


@pytest.mark.parametrize(
    "change",
    [
        {"tfImage": "other"},
        {"RuntimeId": "other"},
        {"RuntimeId": ""},
        {"replicaSpecs": []},
        {"unknown": 1},
    ],
    ids=str,
)
def test_spec_with_a_runtime_id_is_frozen(change: Json) -> None:
    before = stored(example())
    after = {**before, "spec": {**before["spec"], **change}}
    assert any(FROZEN in message for message in judged(after, before))


def test_spec_without_a_runtime_id_can_be_changed_and_gets_one() -> None:
    before = example()
    assert judged(example(tfImage="other"), before) == []
    assert judged(stored(before), before) == []


def test_seed_001_line_386_to_427_port_of_each_replica_type_is_shown_in_the_spec() -> None:
    entries = read(example())["spec"]["replicaSpecs"]
    assert [each["tfPort"] for each in entries] == [2222, 2222, 2222]


def test_list_of_replicas_applied_again_is_no_change() -> None:
    before = stored(example())
    after = {
        **before,
        "spec": {**before["spec"], "replicaSpecs": example()["spec"]["replicaSpecs"]},
    }
    assert judged(after, read(before)) == []


def test_frozen_job_can_get_labels_and_a_status() -> None:
    before = stored(example())
    labelled = {**before, "metadata": {**before["metadata"], "labels": {"a": "b"}}}
    assert judged(labelled, before) == []
    assert judged({**before, "status": {"phase": "Running", "conditions": None}}, before) == []


def test_objects_with_keys_in_any_letters_keep_what_is_not_declared() -> None:
    keeps = {
        path
        for path, piece in pieces(SCHEMA)
        if piece.get("x-kubernetes-preserve-unknown-fields") is True
    }
    assert keeps >= {
        ".spec",
        ".spec.replicaSpecs[]",
        ".spec.replicaSpecs[].template",
        ".spec.replicaSpecs[].template.spec",
        ".spec.tensorboard",
        ".spec.terminationPolicy",
        ".spec.terminationPolicy.chief",
        ".status",
    }
