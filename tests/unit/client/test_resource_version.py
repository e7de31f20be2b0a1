"""Comparison of resource versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.client.resource_version import Progress, is_older, number


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("a", "b", False),
        ("9", "b", False),
        ("", "1", False),
        ("²", "9", False),
    ],
)
def test_only_numbers_can_be_older(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older


def test_what_was_reached_is_reached_at_once() -> None:
    progress = Progress()
    assert not progress.reaches("1")
    progress.advance("10")
    assert progress.reaches("9")
    assert progress.reaches("10")
    assert not progress.reaches("11")


def test_versions_that_are_no_numbers_must_be_met_exactly() -> None:
    progress = Progress()
    progress.advance("v-c")
    assert not progress.reaches("v-b")
    progress.advance("v-b")
    assert progress.reaches("v-b")


@given(text=st.text(max_size=10))
def test_any_text_is_a_number_or_none(text: str) -> None:
    value = number(text)
    assert value is None or value >= 0
