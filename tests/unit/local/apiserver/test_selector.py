"""Selectors: matching, parsing, rendering and errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.local.apiserver.selector import (
    FieldSelector,
    FieldTerm,
    LabelSelector,
    Operator,
    Requirement,
    SelectorError,
    labels_from_object,
    parse_fields,
    parse_labels,
)

LABELS = {"app": "tf", "tier": "", "index": "7", "kubeflow.org/job-name": "mnist"}
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
WORDS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,5}[A-Za-z0-9])?", fullmatch=True)
SETS = st.lists(WORDS | st.just(""), min_size=1, max_size=3).map(lambda each: sorted(set(each)))
REQUIREMENTS = st.one_of(
    st.builds(Requirement, WORDS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        Requirement,
        WORDS,
        st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]),
        st.tuples(WORDS | st.just("")),
    ),
    st.builds(Requirement, WORDS, st.sampled_from([Operator.IN, Operator.NOT_IN]), SETS.map(tuple)),
    st.builds(
        Requirement,
        WORDS,
        st.sampled_from([Operator.GREATER, Operator.LESS]),
        st.tuples(st.integers(min_value=0, max_value=2**63 - 1).map(str)),
    ),
)
LABEL_SELECTORS = st.lists(REQUIREMENTS, max_size=4).map(
    lambda each: LabelSelector(tuple(sorted(each, key=lambda one: one.key)))
)
FIELD_TERMS = st.builds(
    FieldTerm, st.sampled_from(["metadata.name", "a"]), st.text(), st.booleans()
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "app",
        "app=tf",
        "app==tf",
        " app = tf , tier ",
        "tier=",
        "tier=,app",
        "app!=x",
        "nope!=x",
        "!nope",
        "! nope",
        "app in (tf, x)",
        "app in(x,tf)",
        "tier in ()",
        "tier in (,x)",
        "tier in (x,)",
        "app notin (x)",
        "nope notin (x)",
        "kubeflow.org/job-name=mnist",
        "index>6",
        "index<8",
        "index>6,index<8,app=tf,!nope",
    ],
)
def test_selector_text_that_selects_the_labels(text: str) -> None:
    assert parse_labels(text).matches(LABELS)


@pytest.mark.parametrize(
    "text",
    [
        "nope",
        "nope=tf",
        "nope=",
        "app=x",
        "app!=tf",
        "!app",
        "app in (x,y)",
        "app in ()",
        "nope in ()",
        "app notin (tf)",
        "index>7",
        "index<7",
        "app>1",
        "nope<1",
        "tier>1",
        "app=tf,nope",
    ],
)
def test_selector_text_that_does_not_select_the_labels(text: str) -> None:
    assert not parse_labels(text).matches(LABELS)


def test_in_and_notin_can_be_keys_and_values() -> None:
    assert parse_labels("in in (in,notin)").matches({"in": "notin"})
    assert parse_labels("in").matches({"in": ""})


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("", ""),
        ("b = 1, a==2", "a=2,b=1"),
        ("a in (z, y, z)", "a in (y,z)"),
        ("a notin ()", "a notin ()"),
        (" ! a , b", "!a,b"),
        ("a!=", "a!="),
        ("a > 1", "a>1"),
    ],
)
def test_selector_prints_sorted_and_without_blanks(text: str, rendered: str) -> None:
    assert parse_labels(text).render() == rendered


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a==(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b', expected: '('"),
        ("a in", "unable to parse requirement: found '', expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
    ],
)
def test_bad_syntax_is_rejected_with_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_labels(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("-a=b", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must'),
        ("a=-", 'unable to parse requirement: values[0][a]: Invalid value: "-": a valid label'),
        ("a>x", f'unable to parse requirement: values[0]: Invalid value: "x": {NO_INTEGER}'),
        ("a<99999999999999999999", "unable to parse requirement: values[0]: Invalid value"),
    ],
)
def test_a_bad_key_or_value_is_rejected_as_a_field_error(text: str, start: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_labels(text)
    assert str(refused.value).startswith(start)


@given(st.text(alphabet="ab in=!(),<>-\t") | st.text())
def test_any_text_is_read_or_rejected_by_a_selector_error(text: str) -> None:
    try:
        selector = parse_labels(text)
    except SelectorError:
        return
    assert parse_labels(selector.render()) == selector


@given(LABEL_SELECTORS)
def test_label_selectors_are_the_same_after_a_round_trip(selector: LabelSelector) -> None:
    assert parse_labels(selector.render()) == selector


@given(REQUIREMENTS, st.dictionaries(WORDS, WORDS, max_size=2))
def test_opposite_operators_select_opposite_objects(
    requirement: Requirement, labels: dict[str, str]
) -> None:
    opposites = {
        Operator.EQUALS: Operator.NOT_EQUALS,
        Operator.IN: Operator.NOT_IN,
        Operator.EXISTS: Operator.DOES_NOT_EXIST,
    }
    if requirement.operator in opposites:
        opposite = Requirement(requirement.key, opposites[requirement.operator], requirement.values)
        assert requirement.matches(labels) is not opposite.matches(labels)


def test_object_form_means_the_same_as_the_text() -> None:
    body = {
        "matchLabels": {"app": "tf"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "b", "operator": "NotIn", "values": ["z"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist", "values": None},
        ],
    }
    assert labels_from_object(body) == parse_labels("app=tf,a in (x,y),b notin (z),c,!d")


@pytest.mark.parametrize("body", [{}, {"matchLabels": None, "matchExpressions": None}])
def test_an_empty_object_selects_everything(body: object) -> None:
    assert labels_from_object(body).matches({})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "invalid label selector: Expected `object`, got `null`"),
        (
            {"matchLabels": {"a": 1}},
            "invalid label selector: Expected `str`, got `int` - at `$.matchLabels[...]`",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_a_bad_object_is_rejected(body: object, message: str) -> None:
    with pytest.raises(SelectorError) as refused:
        labels_from_object(body)
    assert str(refused.value) == message


def test_every_fault_of_a_requirement_is_named() -> None:
    body = {"matchExpressions": [{"key": "-", "operator": "In", "values": ["-", "_"]}]}
    with pytest.raises(SelectorError, match=r"^\[key: .*, values\[0\]\[-\]: .*values\[1\]\[-\]: "):
        labels_from_object(body)


@given(
    JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "matchLabels": JSON,
            "matchExpressions": st.lists(
                st.fixed_dictionaries({"key": JSON, "operator": JSON, "values": JSON})
            ),
        },
    )
)
def test_arbitrary_json_is_read_or_rejected_by_a_selector_error(body: object) -> None:
    try:
        selector = labels_from_object(body)
    except SelectorError:
        return
    assert parse_labels(selector.render()) == selector


FIELDS = {"metadata.name": "x", "status.phase": "Running", "odd": r"a,b=\c"}


def lookup(path: str) -> str:
    return FIELDS.get(path, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "metadata.name=x",
        "metadata.name==x,status.phase!=Failed",
        "spec.nodeName=",
        r"odd=a\,b\=\\c",
    ],
)
def test_field_selector_that_selects(text: str) -> None:
    assert parse_fields(text).matches(lookup)


@pytest.mark.parametrize(
    "text", ["metadata.name=y", "metadata.name!=x", "spec.nodeName!=", "metadata.name=x,odd=a"]
)
def test_field_selector_that_does_not_select(text: str) -> None:
    assert not parse_fields(text).matches(lookup)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=1,b", "invalid selector: 'a=1,b'; can't understand 'b'"),
        ("a=b=c", "invalid field selector: unescaped character in value: ="),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_bad_field_selector_is_rejected(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_fields(text)
    assert str(refused.value) == message


def test_field_selector_names_its_fields() -> None:
    terms = parse_fields("status.phase!=Running,metadata.name=x").terms
    assert terms == (
        FieldTerm("metadata.name", "x"),
        FieldTerm("status.phase", "Running", negated=True),
    )


@given(st.lists(FIELD_TERMS, max_size=3))
def test_field_selectors_are_the_same_after_a_round_trip(terms: list[FieldTerm]) -> None:
    selector = FieldSelector(tuple(sorted(terms, key=FieldTerm.render)))
    assert parse_fields(selector.render()) == selector


@given(st.text(alphabet="ab,=!\\ ") | st.text())
def test_any_field_text_is_read_or_rejected_by_a_selector_error(text: str) -> None:
    try:
        selector = parse_fields(text)
    except SelectorError:
        return
    assert parse_fields(selector.render()) == selector
