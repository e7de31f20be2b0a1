"""Generates the page that maps the promises about reliability to the tests that show them.

docs/promises.toml lists problems that users of other operators reported, with the threads. Tests
name a promise like a scenario: `@pytest.mark.scenario("R1")`. A promise without a test says why it
has none; one with a test may say what its tests do not show.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.scenario_marks import Marks, Number, Shown, marks_under

SOURCE = "docs/promises.toml"
SHAPE = 'expected title, threads of the form "owner/name#number", and missing or limit if needed'


class Promise(NamedTuple):
    """One promise. `missing` says why no test shows it, `limit` what its tests do not show."""

    number: str
    title: str
    threads: Sequence[str]
    missing: str
    limit: str


class PromiseListError(ValueError):
    """The list of promises is invalid."""


def promises_of(text: str) -> tuple[Promise, ...]:
    """The promises of the list, in order. Raises PromiseListError."""
    return tuple(_promise(number, row) for number, row in tomllib.loads(text).items())


def _promise(number: str, row: Mapping[str, Any]) -> Promise:
    match row:
        case {"title": str(title), "threads": [*threads], **rest} if (
            rest.keys() <= {"missing", "limit"}
            and all(isinstance(each, str) for each in (*threads, *rest.values()))
            and all(each.count("/") == each.count("#") == 1 for each in threads)
        ):
            missing, limit = rest.get("missing", ""), rest.get("limit", "")
            return Promise(number, title, threads, missing, limit)
        case _:
            raise PromiseListError(f"{SOURCE}: {number}: {SHAPE}; got {row}")


def faults(promises: Iterable[Promise], shown: Iterable[Shown]) -> list[str]:
    """Promises with neither a test nor a reason, and reasons of promises that have a test."""
    numbers = {each.number for each in shown}
    found = []
    for each in promises:
        if each.number not in numbers and not each.missing:
            found.append(f"promise {each.number} has neither a test nor a reason: {each.title}")
        if each.number in numbers and each.missing:
            found.append(f"promise {each.number} has a test: remove `missing` from {SOURCE}")
    return found


def page_of(promises: Sequence[Promise], shown: Iterable[Shown]) -> str:
    tests: dict[Number, list[str]] = {}
    for each in shown:
        tests.setdefault(each.number, []).append(f"`{each.path}::{each.test}`")
    return "\n".join(_lines(promises, tests)) + "\n"


def _lines(promises: Sequence[Promise], tests: Mapping[Number, list[str]]) -> Iterator[str]:
    count = sum(each.number in tests for each in promises)
    yield "# Promises and the tests that show them"
    yield ""
    yield "Problems that users of other training operators reported, as promises of tfjob."
    yield f"Generated from `{SOURCE}` and the marks of the tests by `make generate`; do not edit."
    yield f"Of {len(promises)} promises {count} have a test."
    yield ""
    yield "| # | promise | tests | reported in |"
    yield "|---|---|---|---|"
    for each in promises:
        held = tests.get(each.number, [])
        cell = "<br>".join([*held, *([each.limit] if each.limit else [])])
        threads = "<br>".join(map(_link, each.threads))
        yield f"| {each.number} | {each.title} | {cell or f'none: {each.missing}'} | {threads} |"


def _link(thread: str) -> str:
    repository, number = thread.split("#")
    return f"[{thread}](https://github.com/{repository}/issues/{number})"


def read(root: Path) -> tuple[Promise, ...]:
    """The promises of a checkout; none if it lists none."""
    path = root / SOURCE
    return promises_of(path.read_text("utf-8")) if path.exists() else ()


def page(root: Path) -> str:
    """The map of a checkout as a page."""
    return page_of(read(root), marks_under(root).shown)


def without(promises: Iterable[Promise], marks: Marks) -> Marks:
    """The marks that name no promise."""
    numbers = {each.number for each in promises}
    return marks._replace(shown=tuple(each for each in marks.shown if each.number not in numbers))
