"""Every statement of the guide to TFJobs names a test that exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "guide" / "kubeflow-v1.md"
NOTE = re.compile(r"(?<!^)\[\^([a-z0-9-]+)\]", re.MULTILINE)
DEFINITION = re.compile(
    r"^\[\^([a-z0-9-]+)\]: \[(\w+)\]\(\.\./\.\./(tests/[\w/]+\.py)\)$", re.MULTILINE
)
ADVICE = "How a collector spells labels"
"""A paragraph that states nothing about tfjob."""


def statements(text: str) -> Iterator[str]:
    """The paragraphs, rows and items behind the introduction, without code and notes."""
    body = "## " + text.partition("\n## ")[2].partition("\n[^")[0]
    body = re.sub(r"```.*?```", "", body, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n", body):
        lines = block.strip().splitlines()
        if not lines or lines[0].startswith("#") or lines[-1].endswith(":"):
            continue
        if lines[0].startswith("|"):
            yield from lines[2:]
        elif lines[0].startswith("- "):
            yield from lines
        else:
            yield " ".join(lines)


def unproven(text: str) -> list[str]:
    return [
        each for each in statements(text) if not NOTE.search(each) and not each.startswith(ADVICE)
    ]


def test_every_statement_has_a_note() -> None:
    assert unproven(PAGE.read_text("utf-8")) == []


def test_every_note_is_defined_and_used() -> None:
    text = PAGE.read_text("utf-8")
    assert {name for name, _, _ in DEFINITION.findall(text)} == set(NOTE.findall(text))


@pytest.mark.parametrize("note", DEFINITION.findall(PAGE.read_text("utf-8")))
def test_test_of_a_note_exists(note: tuple[str, str, str]) -> None:
    _, name, path = note
    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)


def test_statement_without_a_note_is_found() -> None:
    text = (
        "# T\n\nIntroduction.\n\n## Part\n\nTrue.[^a]\n\nFalse.\n\n| a |\n|---|\n| b |\n\n[^a]: x"
    )
    assert unproven(text) == ["False.", "| b |"]
