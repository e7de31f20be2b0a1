"""The list of promises is complete: each has a test, or a reason why it has none."""

from pathlib import Path

import pytest

from tools import promises, scenarios
from tools.scenario_marks import Shown, marks_under

ROOT = Path(__file__).parents[3]
HELD = '[R1]\ntitle = "It holds"\nthreads = ["a/b#1"]\n'
MISSING = '[R2]\ntitle = "It is not built"\nthreads = []\nmissing = "not built"\n'
SHOWN = Shown("R1", "tests/test_a.py", "test_b")


def test_a_promise_with_a_test_or_a_reason_is_no_fault() -> None:
    assert promises.faults(promises.promises_of(HELD + MISSING), [SHOWN]) == []


def test_a_promise_without_either_is_a_fault() -> None:
    found = promises.faults(promises.promises_of(HELD), [])
    assert found == ["promise R1 has neither a test nor a reason: It holds"]


def test_a_reason_that_a_test_has_made_untrue_is_a_fault() -> None:
    shown = Shown("R2", "tests/test_a.py", "test_b")
    (found,) = promises.faults(promises.promises_of(MISSING), [shown])
    assert found == "promise R2 has a test: remove `missing` from docs/promises.toml"


@pytest.mark.parametrize(
    "row",
    [
        'title = "It holds"',
        'title = "It holds"\nthreads = ["b#1"]',
        'title = "It holds"\nthreads = []\nbecause = "so"',
        'title = "It holds"\nthreads = []\nlimit = 1',
    ],
)
def test_a_promise_of_another_shape_is_rejected(row: str) -> None:
    with pytest.raises(promises.PromiseListError, match="R3: expected title"):
        promises.promises_of(f"[R3]\n{row}\n")


def test_the_page_names_tests_limits_reasons_and_threads() -> None:
    page = promises.page_of(promises.promises_of(HELD + 'limit = "here"\n' + MISSING), [SHOWN])
    link = "[a/b#1](https://github.com/a/b/issues/1)"
    assert f"| R1 | It holds | `tests/test_a.py::test_b`<br>here | {link} |" in page
    assert "| R2 | It is not built | none: not built |  |" in page
    assert "Of 2 promises 1 have a test." in page


def test_marks_of_promises_are_no_unknown_scenarios(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / promises.SOURCE).write_text(HELD)
    (tmp_path / scenarios.SOURCE).write_text('[[group]]\ntitle = "Life"\n[group.scenarios]\n')
    (tmp_path / "tests").mkdir()
    test = '@pytest.mark.scenario("R1")\ndef test_b() -> None: ...\n'
    (tmp_path / "tests" / "test_a.py").write_text(test)
    assert scenarios.main(tmp_path) == 0
    assert [each.number for each in marks_under(tmp_path).shown] == ["R1"]


def test_the_project_lists_all_promises_in_order() -> None:
    numbers = [each.number for each in promises.read(ROOT)]
    assert numbers == [f"R{number}" for number in range(1, 49)]
