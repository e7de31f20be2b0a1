"""Test files without a module, and long modules without a test file, are found."""

from pathlib import Path

import pytest

from tools import mirror

ROOT = Path(__file__).parents[3]
LONG_MODULE = "\n" * (mirror.LONG + 1)


def tree(folder: Path, **files: str) -> Path:
    """A project with these files; `__` stands for `/`."""
    for name, source in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def faults(root: Path, capsys: pytest.CaptureFixture[str], **entries: dict[str, str]) -> str:
    """What the check prints; it must fail exactly when that is a fault."""
    code = mirror.main(
        root, suites=entries.get("suites", {}), elsewhere=entries.get("elsewhere", {})
    )
    out = capsys.readouterr().out
    assert code == int(not out.startswith("mirror:"))
    return out


def test_project_itself_passes() -> None:
    assert mirror.main(ROOT) == 0


def test_file_is_named_after_a_module_or_a_part_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(
        tmp_path,
        src__tfjob__core__gang=LONG_MODULE,
        tests__unit__core__test_gang="",
        tests__unit__core__test_gang_queues="",
        tests__unit__core__test_scenarios_gang="",
        tests__unit__core__test_properties="",
        tests__unit__project__test_anything="",
    )
    assert faults(root, capsys).startswith("mirror:")


@pytest.mark.parametrize("name", ["test_gone", "test_gangs", "test_client"])
def test_file_that_is_named_after_no_module_of_its_package_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root = tree(tmp_path, src__tfjob__core__gang="", src__tfjob__client__client="")
    tree(root, **{f"tests__unit__core__{name}": ""})
    assert f"tests/unit/core/{name}.py: core has no module of this name" in faults(root, capsys)


def test_tests_of_the_support_are_named_after_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(
        tmp_path,
        tests__support__fake_kubelet__lifecycle="",
        tests__unit__support__test_lifecycle="",
        tests__unit__support__test_puppets="",
    )
    assert faults(root, capsys).count("support has no module of this name") == 1


def test_suite_needs_no_module_and_its_entry_no_excuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, src__tfjob__core__gang="", tests__unit__core__test_objects="")
    assert faults(root, capsys, suites={"core/test_objects": "x"}).startswith("mirror:")
    tree(root, src__tfjob__core__objects="")
    named = faults(root, capsys, suites={"core/test_objects": "x"})
    assert "core/test_objects is named after a module; remove it" in named
    gone = faults(root, capsys, suites={"core/test_gone": "x"})
    assert "core/test_gone of SUITES does not exist" in gone


def test_long_module_without_a_test_file_is_rejected_unless_it_is_tested_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, src__tfjob__core__gang=LONG_MODULE, src__tfjob__core__short="\n")
    assert "src/tfjob/core/gang.py: 201 lines and no tests/unit/core/test_gang.py" in faults(
        root, capsys
    )
    missing = faults(root, capsys, elsewhere={"core/gang": "tests/e2e/test_gang.py"})
    assert "tests/e2e/test_gang.py, which does not exist" in missing
    tree(root, tests__e2e__test_gang="")
    elsewhere = {"core/gang": "tests/e2e/test_gang.py"}
    assert faults(root, capsys, elsewhere=elsewhere).startswith("mirror:")
    idle = faults(root, capsys, elsewhere={**elsewhere, "core/short": "tests/e2e/test_gang.py"})
    assert "core/short of ELSEWHERE is not needed" in idle
