"""Files and functions that are too long are found, and so are unused exceptions."""

from pathlib import Path

import pytest

from tools import sizes


def tree(folder: Path, source: str) -> Path:
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text(source)
    return folder


def function_of(lines: int, *, head: str = "") -> str:
    return "\n".join([f"{head}def f() -> None:", *["    pass"] * (lines - 1)]) + "\n"


def test_a_file_and_a_function_at_their_limits_pass(tmp_path: Path) -> None:
    filler = "\n" * (sizes.FILE_LINES - sizes.FUNCTION_LINES)
    root = tree(tmp_path, function_of(sizes.FUNCTION_LINES) + filler)
    assert sizes.main(["src"], root=root) == 0


def test_a_file_over_its_limit_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, "\n" * (sizes.FILE_LINES + 1))
    assert sizes.main(["src"], root=root) == 1
    assert "src/a.py: 401 lines, at most 400" in capsys.readouterr().out


def test_a_function_over_its_limit_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, function_of(sizes.FUNCTION_LINES + 1, head="async "))
    assert sizes.main(["src"], root=root) == 1
    assert "src/a.py::f: 61 lines, at most 60" in capsys.readouterr().out


def test_a_docstring_and_decorators_do_not_count(tmp_path: Path) -> None:
    head, body = function_of(sizes.FUNCTION_LINES).split("\n", 1)
    docstring = '    """One.\n\n    Two.\n    """\n'
    root = tree(tmp_path, f"@g(\n    1,\n)\n{head}\n{docstring}{body}")
    assert sizes.main(["src"], root=root) == 0


def test_listed_exception_may_be_long(tmp_path: Path) -> None:
    root = tree(tmp_path, function_of(sizes.FUNCTION_LINES + 1))
    assert sizes.main(["src"], root=root, allowed={"src/a.py::f": "one table"}) == 0


def test_unused_exception_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(tmp_path, "")
    assert sizes.main(["src"], root=root, allowed={"src/b.py": "gone"}) == 1
    assert "src/b.py is allowed to be long but is not" in capsys.readouterr().out
