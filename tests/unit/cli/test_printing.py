from datetime import UTC, datetime, timedelta

import pytest

from tfjob.cli import printing

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-5, "0s"),
        (59, "59s"),
        (60, "1m"),
        (190, "3m10s"),
        (3600, "1h"),
        (7500, "2h5m"),
        (40_000, "11h"),
        (86_400 * 4, "4d"),
        (86_400 * 4 + 7200, "4d2h"),
    ],
)
def test_an_age_has_two_units_at_most(seconds: int, text: str) -> None:
    assert printing.age(NOW - timedelta(seconds=seconds), NOW) == text


def test_an_age_that_nobody_knows_is_said_so() -> None:
    assert printing.age(None, NOW) == "<unknown>"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    shown = printing.table(["NAME", "AGE"], [["a-long-name", "1s"], ["b", ""]])
    assert shown.splitlines() == ["NAME          AGE", "a-long-name   1s", "b"]
