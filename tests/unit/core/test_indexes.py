"""Rendering and parsing sets of indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.core import indexes


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (set(), ""),
        ({0}, "0"),
        ({0, 1}, "0-1"),
        ({4, 2, 3, 0}, "0,2-4"),
        ({1, 3, 5}, "1,3,5"),
        ({0, 1, 2, 7, 8, 11}, "0-2,7-8,11"),
    ],
)
def test_indexes_are_written_short(found: set[int], text: str) -> None:
    assert indexes.render(found) == text
    assert indexes.parse(text, below=100) == found


def test_an_index_given_twice_is_written_once() -> None:
    assert indexes.render([2, 2, 1]) == "1-2"


@given(st.sets(st.integers(min_value=0, max_value=200)))
def test_what_is_written_is_read_back(found: set[int]) -> None:
    assert indexes.parse(indexes.render(found), below=201) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" 1 , 3-4 ", {1, 3, 4}),
        ("x,2", {2}),
        ("5-3", set()),
        ("-1", set()),
        ("1-", set()),
        ("1-x,4", {4}),
        ("²", set()),
        ("1.5", set()),
        ("1234567890", set()),
        ("0-999999999", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
        ("9,10,11", {9}),
        ("", set()),
    ],
)
def test_what_is_no_index_or_too_large_is_dropped(text: str, found: set[int]) -> None:
    assert indexes.parse(text, below=10) == found


def test_an_index_has_nine_digits_at_most() -> None:
    assert indexes.parse("000000007", below=10) == {7}
    assert indexes.parse("0000000007", below=10) == frozenset()


@pytest.mark.parametrize("value", [None, 3, ["1"], {"0": 1}, b"1"])
def test_what_is_no_text_has_no_indexes(value: object) -> None:
    assert indexes.parse(value, below=10) == frozenset()


@given(st.text(alphabet="0123456789,- x", max_size=30), st.integers(0, 50))
def test_any_text_gives_indexes_below_the_bound(text: str, below: int) -> None:
    assert all(0 <= index < below for index in indexes.parse(text, below=below))


def test_text_longer_than_any_rendered_one_is_not_parsed() -> None:
    assert indexes.parse("1," * 40_000, below=10) == frozenset()


def test_ranges_that_overlap_are_read_once() -> None:
    assert indexes.parse(",".join(["0-4999"] * 9_000), below=5_000) == frozenset(range(5_000))
