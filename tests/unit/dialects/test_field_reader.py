"""Reading never raises and reports faults with the messages of an API server."""

import datetime
import math
from typing import Any

import pytest
import yaml

from tfjob.dialects.field_reader import Reader
from tfjob.k8s.nesting import MAX_DEPTH, MAX_VALUES

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
)


def texts(reader: Reader) -> list[str]:
    return [fault.text for fault in reader.faults]


def faults_of(document: object) -> list[str]:
    reader = Reader()
    reader.json(document)
    return texts(reader)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("mapping", {}),
        ("sequence", ()),
        ("text", ""),
        ("boolean", False),
        ("integer", None),
        ("labels", {}),
    ],
)
def test_null_is_the_same_as_absent(question: str, absent: object) -> None:
    reader = Reader()
    assert getattr(reader, question)(None, "spec.x") == absent
    assert reader.faults == []


@pytest.mark.parametrize(
    ("question", "value", "wanted", "found"),
    [
        ("mapping", [], "object", "array"),
        ("mapping", "a", "object", "string"),
        ("sequence", {}, "array", "object"),
        ("sequence", "abc", "array", "string"),
        ("text", 1, "string", "integer"),
        ("text", False, "string", "boolean"),
        ("boolean", 1, "boolean", "integer"),
        ("boolean", "true", "boolean", "string"),
        ("integer", "1", "integer", "string"),
        ("integer", True, "integer", "boolean"),
        ("integer", 1.5, "integer", "number"),
        ("integer", math.nan, "integer", "number"),
        ("integer", math.inf, "integer", "number"),
        ("labels", [1], "object", "array"),
        ("text", datetime.date(2020, 1, 1), "string", "date"),
    ],
)
def test_wrong_type_is_reported_with_both_types(
    question: str, value: object, wanted: str, found: str
) -> None:
    reader = Reader()
    assert not getattr(reader, question)(value, "spec.x")
    (fault,) = reader.faults
    assert fault.path == "spec.x"
    assert fault.detail == f'spec.x in body must be of type {wanted}: "{found}"'


def test_usable_values_come_back_as_they_are() -> None:
    reader = Reader()
    assert reader.mapping({"a": 1}, "x") == {"a": 1}
    assert reader.sequence([1, None], "x") == [1, None]
    assert reader.text("a", "x") == "a"
    assert reader.boolean(True, "x") is True
    assert reader.integer(7, "x") == 7
    assert reader.labels({"a": "b"}, "x") == {"a": "b"}
    assert reader.faults == []


def test_whole_number_may_be_written_with_a_point() -> None:
    reader = Reader()
    found = reader.integer(3.0, "x")
    assert (found, type(found)) == (3, int)
    assert reader.integer(1e300, "x") is None
    assert len(reader.faults) == 1


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (-1, "greater than or equal to 0"),
        (2**31, "less than or equal to 2147483647"),
        (10**400, "less than or equal to 2147483647"),
    ],
)
def test_number_out_of_bounds_is_reported_with_the_bound(value: int, rule: str) -> None:
    reader = Reader()
    assert reader.integer(value, "spec.x") is None
    assert [fault.detail for fault in reader.faults] == [f"spec.x in body should be {rule}"]


def test_value_outside_an_enum_is_reported_with_the_enum() -> None:
    reader = Reader()
    assert reader.choice("c", "x", ("b", "a")) is None
    assert reader.choice("b", "x", ("b", "a")) == "b"
    assert reader.choice(None, "x", ("b", "a")) is None
    assert reader.choice(["b"], "x", ("b", "a")) is None
    assert texts(reader) == [
        'x: Unsupported value: "c": supported values: "a", "b"',
        'x: Invalid value: ["b"]: x in body must be of type string: "array"',
    ]


@pytest.mark.parametrize("value", [1, None, ["a"], {}, True])
def test_label_that_is_no_text_is_reported_by_its_key(value: object) -> None:
    reader = Reader()
    assert reader.labels({"good": "x", "bad": value}, "labels") == {}
    assert [fault.path for fault in reader.faults] == ["labels.bad"]


def test_null_in_a_list_is_a_fault() -> None:
    reader = Reader()
    assert list(reader.objects([{"a": 1}, None], "env")) == [("env[0]", {"a": 1}), ("env[1]", {})]
    reader.texts(["a", None, 1], "finalizers")
    assert [fault.path for fault in reader.faults] == ["env[1]", "finalizers[1]", "finalizers[2]"]


@pytest.mark.parametrize(
    "amount", [1, 0, "1", "1Gi", "500m", ".5", "1e3", "-1", "+1.5", "2E-3", 1.0]
)
def test_amounts_are_whole_numbers_or_quantities(amount: object) -> None:
    reader = Reader()
    assert reader.is_quantity(amount, "x.cpu")
    assert reader.faults == []


@pytest.mark.parametrize("amount", ["", "1 Gi", "Gi", "1gi", "1\n", "e3", "1e", 1.5, True, [], {}])
def test_what_is_no_amount_is_rejected(amount: object) -> None:
    reader = Reader()
    assert not reader.is_quantity(amount, "x.cpu")
    assert [fault.path for fault in reader.faults] == ["x.cpu"]


@pytest.mark.parametrize(
    "document",
    [None, 1, "a", [], {}, {"a": [1, 2.5, None, True, {"b": "ä😀"}]}, 2**64 - 1, -(2**63)],
)
def test_json_is_json(document: object) -> None:
    assert faults_of(document) == []


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"spec": {"a": [0, math.nan]}}, "spec.a[1]: Invalid value: NaN: "),
        ({"spec": {"a": -math.inf}}, "spec.a: Invalid value: -Infinity: "),
        ({"spec": {"a": 2**64}}, f"spec.a: Invalid value: {2**64}: "),
        ({"a": datetime.date(2020, 1, 1)}, 'a: Invalid value: "2020-01-01": '),
        ({"a": b"raw"}, "a: Invalid value: \"b'raw'\": "),
        ({"a": "\ud800"}, 'a: Invalid value: "\\ud800": '),
        (math.nan, "manifest: Invalid value: NaN: "),
    ],
)
def test_what_json_cannot_represent_is_reported_with_its_path(document: object, text: str) -> None:
    assert faults_of(document) == [f"{text}must be a value that JSON can carry"]


@pytest.mark.parametrize("key", [1, True, None, 1.5, datetime.date(2020, 1, 1), (1, 2), "\ud800"])
def test_key_that_is_no_text_is_reported(key: object) -> None:
    (text,) = faults_of({"spec": {key: "x"}})
    assert text.startswith("spec: Invalid value: ")
    assert text.endswith(": keys must be strings")


def nested(levels: int) -> Any:
    document: Any = 0
    for _ in range(levels):
        document = [document]
    return document


def test_nesting_is_bounded() -> None:
    assert faults_of(nested(MAX_DEPTH)) == []
    rule = f"must have no more than {MAX_DEPTH} levels and {MAX_VALUES} values"
    assert faults_of(nested(MAX_DEPTH + 1)) == [f"manifest: Invalid value: {rule}"]
    assert faults_of(nested(100_000)) == [f"manifest: Invalid value: {rule}"]


def test_document_that_contains_itself_is_rejected() -> None:
    document: dict[str, Any] = {}
    document["spec"] = document
    assert len(faults_of(document)) == 1


def test_few_lines_that_mean_a_trillion_values_are_rejected() -> None:
    (text,) = faults_of(yaml.safe_load(BOMB))
    assert text.endswith(f"{MAX_VALUES} values")


def test_faults_of_one_document_are_bounded() -> None:
    assert len(faults_of([math.nan] * 5000)) == 100
