"""The list of scenarios is complete: every offline one has a test, and every mark a scenario."""

from pathlib import Path

import pytest

from tools import scenarios
from tools.scenario_marks import Marks, Shown

LIST = """
[[group]]
title = "Life"
[group.scenarios]
1 = { claim = "It lives", offline = true }
A-01 = { claim = "It scales", needs = "a cluster" }
"""


def marks(*numbers: int | str) -> Marks:
    return Marks(tuple(Shown(each, "tests/test_a.py", "test_b") for each in numbers), ())


def test_an_offline_scenario_that_a_test_shows_is_no_fault() -> None:
    assert scenarios.faults(scenarios.groups_of(LIST), marks(1)) == []


def test_an_offline_scenario_without_a_test_is_a_fault() -> None:
    faults = scenarios.faults(scenarios.groups_of(LIST), marks())
    assert faults == ["scenario 1 is offline but no test shows it: It lives"]


def test_a_test_that_names_an_unknown_scenario_is_a_fault() -> None:
    faults = scenarios.faults(scenarios.groups_of(LIST), marks(1, 2, "1"))
    assert faults == [
        "tests/test_a.py::test_b: no scenario 2 in docs/scenarios.toml",
        "tests/test_a.py::test_b: no scenario '1' in docs/scenarios.toml",
    ]


def test_a_mark_that_cannot_be_read_is_a_fault() -> None:
    unreadable = Marks(marks(1).shown, ("tests/test_a.py:1: unreadable",))
    assert scenarios.faults(scenarios.groups_of(LIST), unreadable) == [
        "tests/test_a.py:1: unreadable"
    ]


@pytest.mark.parametrize(
    "row",
    [
        "{ offline = true }",
        '{ claim = "It lives" }',
        '{ claim = "It lives", offline = false }',
        '{ claim = "It lives", needs = "" }',
        '{ claim = "It lives", offline = true, needs = "a cluster" }',
    ],
)
def test_a_scenario_says_its_claim_and_either_offline_or_its_need(row: str) -> None:
    with pytest.raises(scenarios.ScenarioListError, match="scenario 3: expected"):
        scenarios.groups_of(f'[[group]]\ntitle = "Life"\n[group.scenarios]\n3 = {row}\n')


def test_a_scenario_listed_twice_is_rejected() -> None:
    with pytest.raises(scenarios.ScenarioListError, match="listed more than once: 1, A-01"):
        scenarios.groups_of(LIST + LIST)


def test_the_page_says_who_shows_a_scenario_or_what_it_needs() -> None:
    page = scenarios.page_of(scenarios.groups_of(LIST), marks(1).shown)
    assert "Of 2 scenarios 1 are shown by a test." in page
    assert "| 1 | It lives | `tests/test_a.py::test_b` |" in page
    assert "| A-01 | It scales | not yet: needs a cluster |" in page


def test_the_page_shows_what_is_missing() -> None:
    page = scenarios.page_of(scenarios.groups_of(LIST), ())
    assert "| 1 | It lives | **missing** |" in page


def test_a_scenario_that_is_shown_beyond_its_need_lists_its_tests() -> None:
    page = scenarios.page_of(scenarios.groups_of(LIST), marks("A-01").shown)
    assert "| A-01 | It scales | `tests/test_a.py::test_b` |" in page


def checkout(folder: Path, test: str) -> Path:
    (folder / "docs").mkdir()
    (folder / "docs" / "scenarios.toml").write_text(LIST)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_a.py").write_text(test)
    return folder


def test_a_checkout_that_shows_its_scenarios_passes(tmp_path: Path) -> None:
    root = checkout(tmp_path, "@pytest.mark.scenario(1)\ndef test_b() -> None: ...\n")
    assert scenarios.main(root) == 0


def test_a_checkout_that_does_not_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scenarios.main(checkout(tmp_path, "def test_b() -> None: ...\n")) == 1
    assert "scenario 1 is offline but no test shows it" in capsys.readouterr().out


def test_the_project_lists_the_contract_without_a_gap() -> None:
    source = Path(__file__).parents[3] / scenarios.SOURCE
    groups = scenarios.groups_of(source.read_text("utf-8"))
    numbers = {each.number for group in groups for each in group.scenarios}
    assert {each for each in numbers if isinstance(each, int)} == set(range(1, 150))
