"""The rows of a run enter their own table of the page, and nothing else changes."""

import pytest

from tools.simulation_results import Table, placed

PAGE = """# Results

<!-- begin one -->
| run | commit |
|---|---|
| old | `1` |
<!-- end one -->

<!-- begin two -->
| run | commit |
|---|---|
| stays | `1` |
<!-- end two -->
"""


def test_rows_replace_those_of_their_table_alone() -> None:
    text = placed(PAGE, Table("one", [("new",), ("a|b",)]), commit="abc")
    assert text == PAGE.replace("| old | `1` |", "| new | `abc` |\n| a\\|b | `abc` |")


def test_table_without_a_place_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="no place for three"):
        placed(PAGE, Table("three", []), commit="abc")
