"""The definition of TensorFlowTrainingJobs as an API server gets it."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.unit.dialects.tensorstack.jobs import DIALECT
from tfjob.local.apiserver.crd import faults

CRD = DIALECT.crd()
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def pieces(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema within a schema, by its path."""
    yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from pieces(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from pieces(schema[key], f"{path}[]")


def test_names() -> None:
    assert CRD["metadata"]["name"] == "tensorflowtrainingjobs.batch.tensorstack.dev"
    assert CRD["spec"]["group"] == "batch.tensorstack.dev"
    assert CRD["spec"]["scope"] == "Namespaced"
    assert CRD["spec"]["names"] == {
        "kind": "TensorFlowTrainingJob",
        "listKind": "TensorFlowTrainingJobList",
        "plural": "tensorflowtrainingjobs",
        "singular": "tensorflowtrainingjob",
        "shortNames": ["tj"],
    }


def test_one_version_with_a_status() -> None:
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v1beta1", True, True)
    assert VERSION["subresources"] == {"status": {}}


def test_columns() -> None:
    columns = [
        (each["name"], each["jsonPath"], each.get("priority", 0))
        for each in VERSION["additionalPrinterColumns"]
    ]
    assert columns == [
        ("Phase", ".status.phase", 0),
        ("Running", ".status.aggregate.running", 0),
        ("Failed", ".status.aggregate.failed", 0),
        ("Restarts", ".status.backoffCount", 0),
        ("Age", ".metadata.creationTimestamp", 0),
        ("Queue", ".spec.scheduler.t9kScheduler.queue", 1),
    ]


def test_definition_is_small_enough_for_a_plain_apply() -> None:
    assert len(yaml.safe_dump(CRD)) < 64 * 1024


def test_our_own_api_server_takes_it() -> None:
    assert faults(CRD) == []


def test_older_spellings_are_declared() -> None:
    spec = SCHEMA["properties"]["spec"]["properties"]
    modes = spec["runMode"]["properties"]
    assert "cleanPodPolicy" in spec["runPolicy"]["properties"]
    assert "enable" in modes["debug"]["properties"]
    assert "enable" in modes["pause"]["properties"]


def test_nothing_is_filled_in_by_the_api_server() -> None:
    assert [path for path, piece in pieces(SCHEMA) if "default" in piece] == []


def test_every_field_of_the_spec_is_explained() -> None:
    bare = [
        path
        for path, piece in pieces(SCHEMA["properties"]["spec"])
        if not path.endswith("[]") and not piece.get("description")
    ]
    assert bare == []


def test_every_rule_says_something_in_one_line() -> None:
    rules = [
        rule for _, piece in pieces(SCHEMA) for rule in piece.get("x-kubernetes-validations", ())
    ]
    assert rules
    for rule in rules:
        assert rule["message"]
        assert not any("\n" in value for value in rule.values() if isinstance(value, str))
