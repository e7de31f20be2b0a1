"""The schema builders."""

import re

import pytest

from tfjob.dialects import schema
from tfjob.k8s.field import FaultKind


def test_description_stands_in_every_piece() -> None:
    pieces = [
        schema.text("about"),
        schema.moment("about"),
        schema.boolean("about"),
        schema.integer("about"),
        schema.quantities("about"),
        schema.mapping("about", {}),
        schema.array("about", {}),
        schema.record("about", {}),
    ]
    assert [piece["description"] for piece in pieces] == ["about"] * len(pieces)


def test_default_and_bounds_are_there_only_where_they_are_meant() -> None:
    assert "default" not in schema.boolean("x")
    assert schema.boolean("x", default=False)["default"] is False
    assert "enum" not in schema.text("x")
    assert schema.text("x", among=("a", "b"), default="a") == {
        "description": "x",
        "type": "string",
        "enum": ["a", "b"],
        "default": "a",
    }
    assert "maxItems" not in schema.array("x", {})
    assert schema.array("x", {}, at_most=3)["maxItems"] == 3
    assert schema.mapping("x", {}, at_most=3)["maxProperties"] == 3


def test_width_of_a_number_follows_from_its_bound() -> None:
    narrow, wide = schema.integer("x"), schema.integer("x", at_most=2**63 - 1)
    assert (narrow["format"], wide["format"]) == ("int32", "int64")
    assert "maximum" not in narrow
    assert "maximum" not in wide
    assert schema.integer("x", at_least=1, at_most=5)["maximum"] == 5


def test_record_drops_unknown_fields_unless_it_keeps_them() -> None:
    keeps = "x-kubernetes-preserve-unknown-fields"
    assert keeps not in schema.record("x", {})
    assert schema.record("x", {}, keeps_unknown=True)[keeps] is True
    assert schema.record("x", {"a": {}}, required=["a"])["required"] == ["a"]


def test_rule_sees_the_old_object_on_creation_only_if_it_asks_whether_there_is_one() -> None:
    assert schema.rule("oldSelf.hasValue() || self.x")["optionalOldSelf"] is True
    assert "optionalOldSelf" not in schema.rule("self == oldSelf")


def test_rule_names_field_reason_and_message() -> None:
    found = schema.rule(
        "self", "text", message_expression="'text'", at=".x", kind=FaultKind.REQUIRED
    )
    assert found == {
        "rule": "self",
        "message": "text",
        "messageExpression": "'text'",
        "fieldPath": ".x",
        "reason": "FieldValueRequired",
    }
    assert schema.rule("self", kind=FaultKind.FORBIDDEN)["reason"] == "FieldValueForbidden"


def test_report_of_a_rule_is_not_published() -> None:
    found = schema.rule("self", "text", report=schema.Report(remedy="write it"))
    assert schema.published([found]) == [{"rule": "self", "message": "text"}]


@pytest.mark.parametrize("text", ["1", "1.", ".5", "1Ki", "1k", "100m", "1e10", "1E-3", "-1", "+2"])
def test_pattern_of_quantities_takes_what_kubernetes_takes(text: str) -> None:
    assert re.search(schema.QUANTITY, text)


@pytest.mark.parametrize("text", ["", ".", "1K", "1 k", "one", "1e", "1ee3", "0x1", "1Kii"])
def test_pattern_of_quantities_rejects_what_kubernetes_rejects(text: str) -> None:
    assert not re.search(schema.QUANTITY, text)


def test_path_is_there_when_each_of_its_steps_is() -> None:
    assert schema.has_path("self", "a.b") == "has(self.a) && has(self.a.b)"
