"""The marks of tests are read off their source, wherever pytest would find them."""

from pathlib import Path

import pytest

from tools.scenario_marks import Shown, marks_in, marks_under

MARK = "@pytest.mark.scenario"


def shown(source: str) -> list[tuple[int | str, str]]:
    marks = marks_in("tests/test_a.py", source)
    assert marks.faults == ()
    return [(each.number, each.test) for each in marks.shown]


def test_a_marked_test_shows_each_of_its_numbers() -> None:
    source = f'{MARK}(41, "A-01")\ndef test_b() -> None: ...\n'
    assert shown(source) == [(41, "test_b"), ("A-01", "test_b")]


def test_an_asynchronous_test_counts() -> None:
    assert shown(f"{MARK}(41)\nasync def test_b() -> None: ...\n") == [(41, "test_b")]


def test_a_test_without_marks_shows_nothing() -> None:
    assert shown("def test_b() -> None: ...\n") == []


def test_the_mark_of_a_class_counts_for_each_of_its_tests() -> None:
    source = f"""
{MARK}(1)
class TestB:
    {MARK}(2)
    def test_c(self) -> None: ...
    def test_d(self) -> None: ...
"""
    assert shown(source) == [(1, "TestB::test_c"), (2, "TestB::test_c"), (1, "TestB::test_d")]


@pytest.mark.parametrize("form", ["{mark}(7)", "[{mark}(7)]"])
def test_the_mark_of_a_module_counts_for_each_of_its_tests(form: str) -> None:
    source = f"pytestmark = {form.format(mark=MARK[1:])}\ndef test_b() -> None: ...\n"
    assert shown(source) == [(7, "test_b")]


def test_the_mark_of_one_case_counts_for_its_test() -> None:
    source = f"""
@pytest.mark.parametrize("a", [pytest.param(1, marks={MARK[1:]}(55)), 2])
def test_b(a: int) -> None: ...
"""
    assert shown(source) == [(55, "test_b")]


def test_the_marks_of_a_table_count_for_each_test_that_uses_it() -> None:
    source = f"""
CASES: list[object] = [pytest.param(1, marks={MARK[1:]}(55))]
@pytest.mark.parametrize("a", CASES)
def test_b(a: int) -> None: ...
@pytest.mark.parametrize("a", CASES)
def test_c(a: int) -> None: ...
"""
    assert shown(source) == [(55, "test_b"), (55, "test_c")]


def test_a_number_named_twice_is_shown_once() -> None:
    assert shown(f"{MARK}(41, 41)\ndef test_b() -> None: ...\n") == [(41, "test_b")]


@pytest.mark.parametrize("argument", ["NUMBER", "True", "1.5", "*NUMBERS"])
def test_a_number_that_is_not_written_out_is_a_fault(argument: str) -> None:
    marks = marks_in("tests/test_a.py", f"{MARK}({argument})\ndef test_b() -> None: ...\n")
    assert marks.shown == ()
    (fault,) = marks.faults
    assert fault.startswith("tests/test_a.py:1: a scenario is a whole number or a text")


@pytest.mark.parametrize(
    "source",
    [
        f"{MARK}(41)\ndef make_job() -> None: ...\n",
        f"def case(number: int) -> object:\n    return pytest.param(marks={MARK[1:]}(number))\n",
        f"UNUSED = [{MARK[1:]}(41)]\n",
    ],
)
def test_a_mark_that_belongs_to_no_test_is_a_fault(source: str) -> None:
    marks = marks_in("tests/test_a.py", source)
    assert marks.shown == ()
    (fault,) = marks.faults
    assert fault.endswith("this scenario mark belongs to no test")


def test_all_test_files_of_a_checkout_are_read_in_order(tmp_path: Path) -> None:
    for name, number in (("b", 2), ("a", 1)):
        path = tmp_path / "tests" / "unit" / f"test_{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{MARK}({number})\ndef test_c() -> None: ...\n")
    assert marks_under(tmp_path).shown == (
        Shown(1, "tests/unit/test_a.py", "test_c"),
        Shown(2, "tests/unit/test_b.py", "test_c"),
    )
