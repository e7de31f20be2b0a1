"""Maps the statements of the published documents to the tests that show them.

docs/seeds/NNN.toml lists the statements of one document, by line. A statement works, and names the
tests that show it, or differs, says in one sentence what happens instead and why, and may name a
test that shows that. A named test must exist. A test named after a line, such as
`test_seed_001_line_145_…`, must be named by a statement about that line.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = "docs/seeds"
SHAPE = (
    'expected seed, lines such as "12-14", statement, and state = "works" with test, or '
    'state = "differs" with sentence and perhaps test'
)
LINES = re.compile(r"\d+(-\d+)?(, \d+(-\d+)?)*")
NAMED = re.compile(r"test_seed_(\d{3})_line_(\d+(?:_(?:and|to)_\d+)*)_\w+")
"""A test that is named after lines of a document."""


class Row(NamedTuple):
    """One statement. It has tests if it works, and a sentence only if it differs."""

    lines: str
    statement: str
    tests: Sequence[str]
    sentence: str

    def covers(self, line: int) -> bool:
        ranges = [each.partition("-") for each in self.lines.split(", ")]
        return any(int(first) <= line <= int(last or first) for first, _, last in ranges)


class Seed(NamedTuple):
    """One published document."""

    number: str
    title: str
    rows: tuple[Row, ...]


class SeedListError(ValueError):
    """A list of statements is invalid."""


def seed_of(number: str, text: str) -> Seed:
    """The statements of one document, in order. Raises SeedListError."""
    match tomllib.loads(text):
        case {"title": str(title), "row": [*rows], **rest} if not rest:
            return Seed(number, title, tuple(_row(number, row) for row in rows))
        case other:
            raise SeedListError(f"{SOURCE}/{number}.toml: expected title and rows; got {[*other]}")


def _row(number: str, row: Mapping[str, Any]) -> Row:
    match row:
        case {"seed": seed, "lines": str(lines), "statement": str(statement), **rest} if (
            seed == number and LINES.fullmatch(lines)
        ):
            match rest:
                case {"state": "works", "test": test, **more} if not more and (
                    tests := _tests(test)
                ):
                    return Row(lines, statement, tests, "")
                case {"state": "differs", "sentence": str(sentence), **more} if sentence and (
                    not more or (more.keys() == {"test"} and _tests(more["test"]))
                ):
                    return Row(lines, statement, _tests(more.get("test", [])), sentence)
    raise SeedListError(f"{SOURCE}/{number}.toml: {SHAPE}; got {dict(row)}")


def _tests(value: object) -> Sequence[str]:
    """The named tests; none if the value is not a test or a list of tests."""
    named = value if isinstance(value, list) else [value]
    tests = [each for each in named if isinstance(each, str) and "::" in each]
    return tests if len(tests) == len(named) else ()


def read(root: Path) -> tuple[Seed, ...]:
    """The documents of a checkout, in the order of their numbers."""
    files = sorted((root / SOURCE).glob("*.toml"))
    return tuple(seed_of(path.stem, path.read_text("utf-8")) for path in files)


def faults(seeds: Sequence[Seed], root: Path) -> list[str]:
    """The named tests that do not exist, and tests named after lines that nothing says."""
    return [*_unknown(seeds, root), *_unnamed(seeds, root)]


def _unknown(seeds: Iterable[Seed], root: Path) -> list[str]:
    known: dict[str, frozenset[str]] = {}
    found = []
    for seed in seeds:
        for row in seed.rows:
            for test in row.tests:
                path, _, name = test.partition("::")
                if path not in known:
                    known[path] = _names_in(root / path)
                if name.partition("[")[0] not in known[path]:
                    found.append(f"{SOURCE}/{seed.number}.toml: lines {row.lines}: no test {test}")
    return found


def _unnamed(seeds: Iterable[Seed], root: Path) -> Iterator[str]:
    """Tests that are named after lines, but not by a statement about one of them."""
    rows = [
        (test.partition("[")[0], seed.number, row)
        for seed in seeds
        for row in seed.rows
        for test in row.tests
    ]
    for path in sorted((root / "tests").rglob("test_*.py")):
        file = path.relative_to(root).as_posix()
        is_worth_parsing = "test_seed_" in path.read_text("utf-8")
        for name in sorted(_names_in(path) if is_worth_parsing else ()):
            named = NAMED.fullmatch(name)
            if named is None:
                continue
            lines = _numbers(named[2])
            own = [row for test, seed, row in rows if (test, seed) == (f"{file}::{name}", named[1])]
            if not any(row.covers(line) for row in own for line in lines):
                yield f"{SOURCE}/{named[1]}.toml: no statement about its lines names {file}::{name}"


def _numbers(lines: str) -> list[int]:
    """`12_to_14_and_20` means 12, 13, 14 and 20."""
    ranges = [each.partition("_to_") for each in lines.split("_and_")]
    return [
        number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)
    ]


def _names_in(path: Path) -> frozenset[str]:
    if not path.is_file():
        return frozenset()
    return frozenset(_tests_of(ast.parse(path.read_text("utf-8")).body, within=""))


def _tests_of(body: Iterable[ast.stmt], *, within: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests_of(node.body, within=f"{within}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + node.name


def page_of(seeds: Sequence[Seed]) -> str:
    """The statements of all documents as a page."""
    return "\n".join(_lines(seeds)) + "\n"


def _lines(seeds: Sequence[Seed]) -> Iterator[str]:
    rows = [row for seed in seeds for row in seed.rows]
    works = sum(not row.sentence for row in rows)
    yield "# Statements of the published documents"
    yield ""
    yield "The documents that tfjob follows, statement by statement: a statement works, and a test"
    yield "shows it, or it differs, and a sentence says what happens instead and why."
    yield f"Generated from `{SOURCE}/` by `make generate`; do not edit."
    yield f"Of {len(rows)} statements {works} work and {len(rows) - works} differ."
    for seed in seeds:
        yield from ("", f"## {seed.number}: {seed.title}", "")
        yield from ("| lines | statement | state | shown by |", "|---|---|---|---|")
        for row in seed.rows:
            state = "differs" if row.sentence else "works"
            told = [_cell(row.sentence)] if row.sentence else []
            shown = "<br>".join([*told, *(f"`{test}`" for test in row.tests)])
            yield f"| {row.lines} | {_cell(row.statement)} | {state} | {shown} |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def page(root: Path) -> str:
    """The statements of a checkout as a page."""
    return page_of(read(root))


def main(root: Path) -> int:
    """Print the faults; return 1 if there are any."""
    found = faults(read(root), root)
    print("\n".join(found) or "seeds: every test that a statement names exists, and the reverse")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
