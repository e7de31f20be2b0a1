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


def test_an_unknown_age_is_shown_as_unknown() -> None:
    assert printing.age(None, NOW) == "<unknown>"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    shown = printing.table(["NAME", "AGE"], [["a-long-name", "1s"], ["b", ""]])
    assert shown.splitlines() == ["NAME          AGE", "a-long-name   1s", "b"]


def test_control_characters_are_replaced() -> None:
    assert printing.plain("a\x1b[2Jb\x07\r\x00\x7f") == "a␛[2Jb␇␍␀␡"
    assert printing.plain("8-bit \x9b2J, reversed \u202etxt\u2066") == "8-bit �2J, reversed �txt�"
    assert printing.plain("two\n\tlines, ümläut, 数") == "two\n\tlines, ümläut, 数"


def test_a_cell_is_one_line_for_any_text() -> None:
    shown = printing.table(["A", "B"], [["x\nFORGED   row\tend", "\x1b[31m"]])
    assert shown.splitlines() == ["A                    B", "x FORGED   row end   ␛[31m"]
