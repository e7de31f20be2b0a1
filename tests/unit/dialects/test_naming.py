"""Names and label values of children."""

import pytest

from tfjob.dialects.naming import MAX_NAME_LENGTH, child_prefix, label_value


@pytest.mark.scenario(20)
def test_a_childs_name_joins_its_parts_and_slashes_become_dashes() -> None:
    assert f"{child_prefix('1/2/3/4/5', 'worker')}1" == "1-2-3-4-5-worker-1"


@pytest.mark.scenario(21)
def test_slashes_in_a_label_become_dashes() -> None:
    assert label_value("test/key") == "test-key"


def test_a_prefix_of_nothing_is_empty() -> None:
    assert child_prefix() == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a" * 63, "a" * 63),
        ("a" * 70, "a" * 63),
        ("a" * 62 + "-b", "a" * 62),
        ("a" * 60 + "-._b", "a" * 60),
        ("job-", "job"),
        ("job/", "job"),
        ("-", ""),
        ("", ""),
        ("jobé", "job"),
    ],
)
def test_a_label_value_fits_and_ends_in_a_letter_or_digit(text: str, value: str) -> None:
    assert label_value(text) == value
    assert len(value) <= MAX_NAME_LENGTH
