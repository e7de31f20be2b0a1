"""The definition of TfJobs as an API server gets it, and what the server of tfjob makes of it."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.dialects.tensorflow.jobs import DIALECT, Json, example, stored
from tests.unit.dialects.tensorflow.verdicts import ACCEPTED, REFUSED
from tfjob.local.apiserver import crd
from tools.generate import crd_file

CRD = DIALECT.crd()
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SERVER = crd.Structural(SCHEMA, "schema")
FILE = crd_file(DIALECT)
FROZEN = (
    "the spec cannot be changed once the job has its RuntimeId: "
    "delete the job and create it again with the new spec"
)


def pieces(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema within a schema, by its path."""
    yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from pieces(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from pieces(schema[key], f"{path}[]")


def judged(given: Json, old: Json | None = None) -> list[str]:
    """What the API server of tfjob says against a job."""
    document = copy.deepcopy(given)
    SERVER.prune(document)
    SERVER.default(document)
    return [finding.message for finding in SERVER.faults(document, old)]


def test_names() -> None:
    assert CRD["metadata"]["name"] == "tfjobs.tensorflow.org"
    assert CRD["spec"]["scope"] == "Namespaced"
    assert CRD["spec"]["names"] == {
        "kind": "TfJob",
        "listKind": "TfJobList",
        "plural": "tfjobs",
        "singular": "tfjob",
    }


def test_one_version_with_a_status_and_columns() -> None:
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v1alpha1", True, True)
    assert VERSION["subresources"] == {"status": {}}
    assert {each["name"]: each["jsonPath"] for each in VERSION["additionalPrinterColumns"]} == {
        "State": ".status.state",
        "Phase": ".status.phase",
        "RuntimeId": ".spec.RuntimeId",
        "Age": ".metadata.creationTimestamp",
    }


def test_server_of_tfjob_takes_the_definition() -> None:
    definition = copy.deepcopy(CRD)
    crd.prepare(definition)
    assert crd.faults(definition) == []


@pytest.mark.parametrize("why", ACCEPTED)
def test_good_job_is_taken(why: str) -> None:
    assert judged(ACCEPTED[why]) == []


@pytest.mark.parametrize("why", REFUSED)
def test_bad_job_is_refused_in_the_contract_s_words(why: str) -> None:
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


def test_every_field_is_described() -> None:
    bare = [
        path
        for path, piece in pieces(SCHEMA)
        if not piece.get("description") and not path.endswith("[]")
    ]
    assert bare == [".metadata"]


def test_every_rule_has_a_sentence_on_one_line() -> None:
    rules = [
        rule for _, piece in pieces(SCHEMA) for rule in piece.get("x-kubernetes-validations", ())
    ]
    assert len(rules) >= 12
    assert all(rule["message"] and "\n" not in rule["message"] for rule in rules)


def test_file_is_small_and_current() -> None:
    text = FILE.render(Path())
    assert FILE.path == "charts/tfjob/crds/tensorflow.org_tfjobs.yaml"
    assert len(text.encode()) < 64 * 1024
    assert (Path(__file__).parents[4] / FILE.path).read_text() == text
