"""What all CRDs share."""

import copy

import pytest
import yaml

from tests.unit.dialects.schemas import Schema, pieces
from tfjob.dialects.base import Dialect
from tfjob.dialects.definition import AGE, Names, column, definition, version
from tfjob.dialects.registry import DESCRIPTORS, DIALECTS
from tfjob.local.apiserver import crd
from tools import chart

OF_EACH = pytest.mark.parametrize(
    "dialect", DIALECTS, ids=lambda each: f"{each.group}/{each.version}"
)
LARGEST = 64 * 1024
"""Bytes; `kubectl apply` keeps a copy in an annotation, which may have four times as many."""

NAMES = Names(group="g.dev", kind="Thing", list_kind="ThingList", plural="things", singular="thing")


def test_definition_is_named_after_plural_and_group() -> None:
    found = definition(NAMES, [version("v1", {"type": "object"}, columns=[AGE])])
    assert found["metadata"]["name"] == "things.g.dev"
    assert "shortNames" not in found["spec"]["names"]
    (only,) = found["spec"]["versions"]
    assert only["subresources"] == {"status": {}}
    assert only["schema"] == {"openAPIV3Schema": {"type": "object"}}


def test_wide_column_is_shown_on_demand() -> None:
    assert "priority" not in column("A", ".a")
    assert column("A", ".a", is_wide=True)["priority"] == 1


def schema_of(dialect: Dialect) -> Schema:
    versions = {each["name"]: each for each in dialect.crd()["spec"]["versions"]}
    schema: Schema = versions[dialect.version]["schema"]["openAPIV3Schema"]
    return schema


@OF_EACH
def test_every_api_is_namespaced_with_a_status_of_its_own_and_no_webhook(dialect: Dialect) -> None:
    spec = dialect.crd()["spec"]
    assert (spec["group"], spec["scope"]) == (dialect.group, "Namespaced")
    assert (spec["names"]["kind"], spec["names"]["plural"]) == (dialect.kind, dialect.plural)
    assert spec["conversion"] == {"strategy": "None"}
    assert all("status" in each["subresources"] for each in spec["versions"])
    assert [each["storage"] for each in spec["versions"]].count(True) == 1
    assert dialect.version in {each["name"] for each in spec["versions"]}


@OF_EACH
def test_every_field_is_described(dialect: Dialect) -> None:
    bare = {
        path
        for path, piece in pieces(schema_of(dialect))
        if not piece.get("description") and not path.endswith("[]")
    }
    assert bare <= {".metadata", ".metadata.name"}


@OF_EACH
def test_every_rule_says_something_in_one_line(dialect: Dialect) -> None:
    found = pieces(schema_of(dialect))
    semantics = [rule for _, piece in found for rule in piece.get("x-kubernetes-validations", ())]
    assert semantics
    for rule in semantics:
        assert rule.get("message") or rule["messageExpression"]
        assert not any("\n" in value for value in rule.values() if isinstance(value, str))


@OF_EACH
def test_server_of_tfjob_takes_it(dialect: Dialect) -> None:
    taken = copy.deepcopy(dialect.crd())
    crd.prepare(taken)
    assert crd.faults(taken) == []


@OF_EACH
def test_file_says_the_same_without_anchors_and_is_small_enough_to_be_applied(
    dialect: Dialect,
) -> None:
    [descriptor] = [each for each in DESCRIPTORS if dialect in each.dialects]
    text = chart.definition(descriptor)
    path = f"files/crds/{dialect.group}_{dialect.plural}.yaml"
    assert chart.definition_path(descriptor) == path
    assert yaml.safe_load(text) == dialect.crd()
    assert "&id" not in text
    assert len(text.encode()) < LARGEST
