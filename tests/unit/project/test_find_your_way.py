"""Every file and symbol that the page "Find your way" names exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src" / "tfjob"
PAGE = (ROOT / "docs" / "find-your-way.md").read_text("utf-8")
REFERENCE = re.compile(r"`((?:\w+/)*\w+\.py)(?:: ([\w.]+))?`")
QUESTIONS = 12


def symbols_in(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Functions, classes, methods and constants of a module, with dots between their parts."""
    for each in body:
        if isinstance(each, ast.ClassDef):
            yield f"{prefix}{each.name}"
            yield from symbols_in(each.body, f"{prefix}{each.name}.")
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{each.name}"
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield f"{prefix}{each.target.id}"
        elif isinstance(each, ast.Assign):
            yield from (f"{prefix}{name.id}" for name in each.targets if isinstance(name, ast.Name))


def missing(text: str) -> list[str]:
    """References that lead nowhere; a bare file name must exist in some folder."""
    found = []
    for name, symbol in REFERENCE.findall(text):
        if "/" not in name and any(SOURCE.rglob(name)):
            continue
        path = SOURCE / name
        if not path.is_file():
            found.append(name)
        elif symbol and symbol not in symbols_in(ast.parse(path.read_text("utf-8")).body):
            found.append(f"{name}: {symbol}")
    return found


def test_every_file_and_symbol_on_the_page_exists() -> None:
    assert len(REFERENCE.findall(PAGE)) > 2 * QUESTIONS
    assert missing(PAGE) == []


def test_a_missing_file_or_symbol_is_reported() -> None:
    text = "`core/nothing.py`, `core/claim.py: nothing`, `core/claim.py: Claim.ADOPT`, `never.py`"
    assert missing(text) == ["core/nothing.py", "core/claim.py: nothing", "never.py"]


def test_every_question_is_answered_with_a_file() -> None:
    answers = PAGE.split("\n## ")[1:]
    assert len(answers) == QUESTIONS
    assert [each.splitlines()[0] for each in answers if not REFERENCE.search(each)] == []
