"""The page of closed defects: each row names a test, and each named test exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/closed-defects.md").read_text("utf-8")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = {*map(str, range(1, 13)), "other", "D1", "D2"}


def rows() -> dict[str, str]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    found = {line.split("|")[1].strip(): line for line in lines}
    return {number: line for number, line in found.items() if number != "#"}


def test_every_defect_of_the_reviews_has_a_row() -> None:
    assert set(rows()) == ROWS


def test_every_row_names_a_test_or_says_what_else_holds() -> None:
    without = [number for number, line in rows().items() if not _TEST.search(line)]
    assert all("*not a test*" in rows()[number] for number in without)


def test_every_named_test_exists() -> None:
    found = _TEST.findall(PAGE)
    missing = [
        f"{path}::{name}"
        for path, name in found
        if f"def {name}(" not in (ROOT / path).read_text("utf-8")
    ]
    assert found
    assert missing == []
