"""CRDs: schemas prune, default and validate; unsupported features are rejected by name."""

from typing import Any

import pytest

from tfjob.local.apiserver import schema_validation
from tfjob.local.apiserver.crd import Structural, faults

Json = dict[str, Any]


def structural(**spec: Any) -> Structural:
    return Structural(
        {"type": "object", "properties": {"spec": {"type": "object", **spec}}}, "schema"
    )


def texts(schema: Structural, spec: Any, old: Any = None) -> list[str]:
    before = {"metadata": {}, "spec": old} if old is not None else None
    return [finding.text for finding in schema.faults({"metadata": {}, "spec": spec}, before)]


def definition(schema: Json, **spec: Any) -> Json:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Widget", "plural": "widgets"}
    body = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": {**body, **spec}}


def test_unknown_fields_are_removed_and_reported() -> None:
    schema = structural(properties={"a": {"type": "string"}})
    obj = {"metadata": {}, "spec": {"a": "x", "b": 1}, "c": 2}
    assert schema.prune(obj) == ["spec.b", "c"]
    assert obj == {"metadata": {}, "spec": {"a": "x"}}


def test_preserved_fields_stay_but_declared_fields_below_them_are_pruned() -> None:
    keep = {"x-kubernetes-preserve-unknown-fields": True}
    schema = structural(properties={"known": {"type": "object", "properties": {}}}, **keep)
    obj = {"metadata": {}, "spec": {"known": {"x": 1}, "free": {"y": 1}}}
    schema.prune(obj)
    assert obj["spec"] == {"known": {}, "free": {"y": 1}}


def test_defaults_fill_absent_and_null_fields_and_reach_into_their_own_values() -> None:
    deep = {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 3}}}
    schema = structural(properties={"a": {"type": "string", "default": "x"}, "deep": deep})
    obj: Json = {"metadata": {}, "spec": {"a": None}}
    schema.default(obj)
    assert obj["spec"] == {"a": "x", "deep": {"n": 3}}


def test_defaults_are_not_shared_between_objects() -> None:
    schema = structural(
        properties={"l": {"type": "array", "default": [], "items": {"type": "string"}}}
    )
    one: Json = {"metadata": {}, "spec": {}}
    other: Json = {"metadata": {}, "spec": {}}
    schema.default(one)
    one["spec"]["l"].append("x")
    schema.default(other)
    assert other["spec"]["l"] == []


def test_all_faults_are_reported_together() -> None:
    schema = structural(
        required=["must"],
        properties={
            "n": {"type": "integer", "minimum": 0},
            "s": {"type": "string", "pattern": "^a$"},
        },
    )
    assert texts(schema, {"n": -1, "s": "b"}) == [
        "spec.must: Required value",
        "spec.n: Invalid value: -1: spec.n in body should be greater than or equal to 0",
        "spec.s: Invalid value: \"b\": spec.s in body should match '^a$'",
    ]


def test_a_pattern_does_not_match_a_trailing_line_break() -> None:
    schema = structural(properties={"s": {"type": "string", "pattern": "^a$"}})
    assert texts(schema, {"s": "a\n"})


@pytest.mark.parametrize(
    ("combination", "good", "bad"),
    [
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 5),
        ({"anyOf": [{"maximum": 1}, {"minimum": 5}]}, 6, 3),
        ({"oneOf": [{"maximum": 5}, {"minimum": 3}]}, 1, 4),
        ({"not": {"enum": [7]}}, 1, 7),
    ],
)
def test_combined_schemas_accept_and_reject_values(combination: Json, good: int, bad: int) -> None:
    schema = structural(properties={"n": {"type": "integer", **combination}})
    assert texts(schema, {"n": good}) == []
    assert len(texts(schema, {"n": bad})) == 1


def test_transition_rules_apply_to_updates_only() -> None:
    rules = [{"rule": "self.a == oldSelf.a", "message": "a is fixed"}]
    schema = structural(properties={"a": {"type": "string"}}, **{"x-kubernetes-validations": rules})
    assert texts(schema, {"a": "x"}) == []
    assert texts(schema, {"a": "x"}, old={"a": "x"}) == []
    assert texts(schema, {"a": "y"}, old={"a": "x"}) == ["spec: Invalid value: a is fixed"]


def test_a_rule_that_fails_to_evaluate_is_a_fault() -> None:
    schema = structural(**{"x-kubernetes-validations": [{"rule": "self.none == 1"}]})
    assert texts(schema, {}) == ["spec: Invalid value: rule evaluation error: no such key: none"]


def test_rules_are_evaluated_only_if_the_schema_is_valid() -> None:
    rules = [{"rule": "self.n > 5"}]
    schema = structural(
        properties={"n": {"type": "integer"}}, **{"x-kubernetes-validations": rules}
    )
    assert any(
        "some validation rules were not checked" in text for text in texts(schema, {"n": "x"})
    )


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "object", "patternProperties": {}}, "patternProperties"),
        ({"type": "object", "properties": {"a": {"type": "wrong"}}}, "properties[a].type"),
        ({"type": "object", "properties": {"a": {}}}, "properties[a].type"),
        ({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}, "pattern"),
        (
            {"type": "object", "x-kubernetes-validations": [{"rule": "self.isURL()"}]},
            "validations[0].rule",
        ),
    ],
)
def test_a_schema_that_cannot_be_served_is_rejected_by_name(schema: Json, path: str) -> None:
    assert any(path in fault.text for fault in faults(definition(schema)))


def test_conversion_by_webhook_is_rejected_by_name() -> None:
    found = faults(definition({"type": "object"}, conversion={"strategy": "Webhook"}))
    assert any("conversion by webhook is not supported" in fault.text for fault in found)


def test_a_good_definition_has_no_faults() -> None:
    assert faults(definition({"type": "object"})) == []


def test_rules_that_cost_too_much_are_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [{"rule": "self.all(a, self.exists_one(b, a == b))", "message": "twice"}]
    items = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules}
    schema = structural(properties={"l": items})
    assert texts(schema, {"l": [1, 2, 1]}) == ["spec.l: Invalid value: twice"]
    monkeypatch.setattr(schema_validation, "_MAX_STEPS", 1_000)
    assert texts(schema, {"l": list(range(20))}) == []
    (text,) = texts(schema, {"l": list(range(100))})
    assert "running out of cost budget" in text
