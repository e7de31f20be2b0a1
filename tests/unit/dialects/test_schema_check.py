"""Invalid parts and nulls are removed; a valid value is returned as the same object."""

from typing import Any

import pytest
from hypothesis import given

from tests.unit.k8s.json_values import JSON
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.schema import (
    array,
    boolean,
    integer,
    mapping,
    published,
    quantities,
    record,
    text,
    with_remedies,
)
from tfjob.dialects.schema_check import valid_part

PORT = record(
    "A port.",
    {
        "number": with_remedies(
            integer("N.", at_least=1, at_most=9), absent=("must be there", "add it")
        )
    },
    required=["number"],
    keeps_unknown=True,
)
SCHEMA = record(
    "All kinds.",
    {
        "word": text("W.", among=("a", "b")),
        "name": {**text("N."), "minLength": 1, "maxLength": 3},
        "flag": boolean("F."),
        "ports": with_remedies(array("P.", PORT, at_most=2), remedy="close some"),
        "words": array("W.", {"type": "string"}),
        "labels": mapping("L.", {"type": "string"}),
        "entries": mapping("E.", {**record("One.", {"flag": boolean("F.")}), "nullable": True}),
        "amounts": quantities("A."),
        "wide": integer("W.", at_most=2**63 - 1),
        "unhinted": text("U."),
    },
    required=["unhinted"],
)
RIGHT: dict[str, Any] = {
    "word": "a",
    "name": "abc",
    "flag": True,
    "ports": [{"number": 1, "other": {"x": None}}],
    "words": ["x"],
    "labels": {"a": "b"},
    "entries": {"x": {"flag": True}, "y": None},
    "amounts": {"cpu": 1, "memory": "1Gi"},
    "wide": 2**40,
    "stranger": [1],
    "unhinted": "u",
}


def read(value: Any) -> tuple[Any, list[tuple[str, str]]]:
    reader = Reader()
    found = valid_part(reader, value, SCHEMA, "x")
    return found, [(fault.path, fault.remedy) for fault in reader.faults]


def test_right_value_is_the_same_object() -> None:
    found, faults = read(RIGHT)
    assert found is RIGHT
    assert faults == []


@pytest.mark.parametrize(
    ("change", "path", "rest"),
    [
        ({"word": "c"}, "x.word", None),
        ({"word": 1}, "x.word", None),
        ({"name": 1}, "x.name", None),
        ({"flag": "yes"}, "x.flag", None),
        ({"ports": {}}, "x.ports", None),
        ({"ports": [{"number": 1}, 5]}, "x.ports[1]", [{"number": 1}, {}]),
        ({"ports": [None]}, "x.ports[0]", [{}]),
        ({"ports": [{"number": 10}]}, "x.ports[0].number", [{}]),
        ({"ports": [{"number": 0}]}, "x.ports[0].number", [{}]),
        ({"words": ["a", None]}, "x.words[1]", ["a", ""]),
        ({"labels": {"a": 1, "b": "c"}}, "x.labels.a", {"b": "c"}),
        ({"entries": {"z": []}}, "x.entries[z]", {"z": None}),
        ({"entries": {"z": {"flag": 1}}}, "x.entries[z].flag", {"z": {}}),
        ({"amounts": {"cpu": "much"}}, "x.amounts.cpu", {}),
        ({"wide": 2**63}, "x.wide", None),
        ({"wide": -1}, "x.wide", None),
    ],
)
def test_what_is_rejected_is_noted_and_left_out(change: Any, path: str, rest: Any) -> None:
    found, faults = read(RIGHT | change)
    (key,) = change
    assert [each for each, _ in faults] == [path]
    assert all(remedy for _, remedy in faults)
    left = {each: value for each, value in RIGHT.items() if each != key}
    assert found == (left if rest is None else left | {key: rest})


@pytest.mark.parametrize("name", ["", "abcd"])
def test_length_of_a_text_is_bounded(name: str) -> None:
    assert [path for path, _ in read(RIGHT | {"name": name})[1]] == ["x.name"]


def test_hints_say_what_to_do() -> None:
    assert read(RIGHT | {"ports": [{"number": 1}] * 3})[1] == [("x.ports", "close some")]
    assert read(RIGHT | {"ports": [{}]})[1] == [("x.ports[0].number", "add it")]


def test_null_entry_of_a_map_is_left_out_as_an_api_server_does() -> None:
    found, faults = read(RIGHT | {"labels": {"a": None, "b": "c"}})
    assert (found["labels"], faults) == ({"b": "c"}, [])


def test_null_is_absent() -> None:
    assert read(None) == (None, [])
    found, faults = read(dict.fromkeys(RIGHT))
    assert found == {"stranger": None}
    assert faults == [("x.unhinted", "add what is missing")]


def test_object_with_too_many_entries_is_read_as_far_as_it_may_be_long() -> None:
    schema = mapping("M.", {"type": "string"}, at_most=2)
    reader = Reader()
    found = valid_part(reader, {"a": "1", "b": "2", "c": 3}, schema, "x")
    assert found == {"a": "1", "b": "2"}
    assert [fault.text for fault in reader.faults] == [
        "x: Invalid value: 3: x in body should have at most 2 properties"
    ]


def test_list_with_too_few_entries_is_as_good_as_absent() -> None:
    schema = with_remedies(
        {**array("A.", {"type": "string"}), "minItems": 1}, absent=("must be there", "add it")
    )
    reader = Reader()
    valid_part(reader, [], schema, "x")
    assert [fault.text for fault in reader.faults] == ["x: Required value: must be there"]


def test_whole_number_with_a_point_is_one() -> None:
    found, faults = read(RIGHT | {"wide": 3.0})
    assert (str(found["wide"]), faults) == ("3", [])


def test_hints_are_not_published() -> None:
    shown = str(published(SCHEMA))
    assert "x-tfjob" not in shown
    assert "x-tfjob" in str(SCHEMA)


@given(JSON)
def test_anything_is_read_without_an_exception(odd: Any) -> None:
    read(odd)
    for key in RIGHT:
        found, _ = read(RIGHT | {key: odd})
        assert read(found)[1] == [] or key in {"name", "ports", "words", "unhinted"}
