"""Faults have the exact text of Kubernetes field errors."""

import datetime

import pytest
from hypothesis import given

from tests.unit.k8s.json_values import JSON
from tfjob.k8s import field


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("00test", '"00test"'),
        ("", '""'),
        ('say "hi"\n', r'"say \"hi\"\n"'),
        ("grüße", '"grüße"'),
        (None, '"null"'),
        (0, "0"),
        (-3, "-3"),
        (1.5, "1.5"),
        (True, "true"),
        ({"a": [1, "b", None]}, '{"a":[1,"b",null]}'),
        ([], "[]"),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
    ],
)
def test_a_value_is_shown_as_kubernetes_shows_it(value: object, shown: str) -> None:
    assert (
        field.invalid("spec.x", value, "is bad").text == f"spec.x: Invalid value: {shown}: is bad"
    )


def test_required_prints_no_value() -> None:
    fault = field.required("spec.tfReplicaSpecs", "must be required")
    assert fault.text == "spec.tfReplicaSpecs: Required value: must be required"


def test_forbidden_prints_no_value() -> None:
    fault = field.Fault("spec", field.FaultKind.FORBIDDEN, value=7, detail="not here")
    assert fault.text == "spec: Forbidden: not here"
    assert field.forbidden("spec", "not here").text == fault.text


def test_unsupported_lists_the_allowed_values_sorted_and_quoted() -> None:
    fault = field.unsupported("spec.p", "All", ["Running", "None"])
    assert fault.text == 'spec.p: Unsupported value: "All": supported values: "None", "Running"'


def test_unsupported_without_choices_has_no_detail() -> None:
    assert field.unsupported("spec.p", "x", []).text == 'spec.p: Unsupported value: "x"'


def test_duplicate_prints_the_value_alone() -> None:
    fault = field.duplicate("spec.tfReplicaSpecs", "worker")
    assert fault.text == 'spec.tfReplicaSpecs: Duplicate value: "worker"'


def test_a_fault_without_a_value_prints_none() -> None:
    fault = field.Fault("spec.x", field.FaultKind.INVALID, detail="is bad")
    assert fault.text == "spec.x: Invalid value: is bad"


def test_the_remedy_is_no_part_of_the_text() -> None:
    fault = field.required("spec.x", "must be set", remedy="write x: 1")
    assert fault.remedy == "write x: 1"
    assert fault.text == "spec.x: Required value: must be set"


@pytest.mark.parametrize("value", ["x" * 500, ["x" * 500], {"k": "é" * 300}, 10**250])
def test_a_long_value_is_cut_to_200_characters(value: object) -> None:
    shown = field.duplicate("p", value).text.removeprefix("p: Duplicate value: ")
    assert len(shown) == 200
    assert "…" in shown[-2:]


def test_a_cut_string_keeps_its_closing_quote() -> None:
    assert field.duplicate("p", "x" * 500).text.endswith('x…"')


def test_a_value_of_200_characters_is_not_cut() -> None:
    assert field.duplicate("p", "x" * 198).text == f'p: Duplicate value: "{"x" * 198}"'


def test_what_json_cannot_spell_is_named_by_its_type() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    assert field.duplicate("p", cycle).text == "p: Duplicate value: <list>"
    assert field.duplicate("p", {(1, 2): 3}).text == "p: Duplicate value: <dict>"


def test_a_lone_surrogate_is_printed_escaped() -> None:
    assert field.duplicate("p", "\ud800").text == 'p: Duplicate value: "\\ud800"'


@given(JSON)
def test_text_never_raises_and_is_printable_for_arbitrary_json(value: object) -> None:
    text = field.invalid("p", value, "d").text
    assert text.startswith("p: Invalid value: ")
    assert text.encode()


def test_summary_of_nothing_is_empty() -> None:
    assert field.summary([]) == ""


def test_summary_of_one_is_its_text() -> None:
    assert field.summary([field.required("a", "b")]) == "a: Required value: b"


def test_summary_keeps_the_order_and_says_identical_texts_once() -> None:
    faults = [field.required("z", "b"), field.required("a", "b"), field.required("z", "b")]
    assert field.summary(iter(faults)) == "[z: Required value: b, a: Required value: b]"


def test_summary_of_twins_has_no_brackets() -> None:
    faults = [field.required("a", "b", remedy="x"), field.required("a", "b")]
    assert field.summary(faults) == "a: Required value: b"
