"""Every sentence of the guide to TFJobs that says something about tfjob names a test."""

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
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
ADVICE = (
    "Use `Always` or `OnFailure` for parameter servers",
    "A cluster keeps events for an hour",
    "On GKE they are in Cloud Logging",
    "This has not been tried with a real GPU",
    "How a collector spells labels",
)
"""Sentences that state nothing about tfjob, or what is not tested."""


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


def sentences(text: str) -> Iterator[str]:
    """The sentences of all statements, each with its own notes."""
    for each in statements(text):
        noted = re.sub(r"([.!?])((?:\[\^[a-z0-9-]+\])+)", r"\2\1", each)
        yield from SENTENCE_END.split(noted)


def unproven(text: str) -> list[str]:
    return [
        each for each in sentences(text) if not NOTE.search(each) and not each.startswith(ADVICE)
    ]


def test_every_sentence_has_a_note() -> None:
    assert unproven(PAGE.read_text("utf-8")) == []


def test_every_note_is_defined_and_used() -> None:
    text = PAGE.read_text("utf-8")
    assert {name for name, _, _ in DEFINITION.findall(text)} == set(NOTE.findall(text))


@pytest.mark.parametrize("note", DEFINITION.findall(PAGE.read_text("utf-8")))
def test_test_of_a_note_exists(note: tuple[str, str, str]) -> None:
    _, name, path = note
    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("advice", ADVICE)
def test_advice_is_on_the_page(advice: str) -> None:
    assert any(each.startswith(advice) for each in sentences(PAGE.read_text("utf-8")))


def test_statement_without_a_note_is_found() -> None:
    text = (
        "# T\n\nIntroduction.\n\n## Part\n\nTrue.[^a] So is this[^a]. Bare. True[^a].\n\nFalse.\n\n"
        "| a |\n|---|\n| b |\n| c[^a]. But this. |\n\n[^a]: x"
    )
    assert unproven(text) == ["Bare.", "False.", "| b |", "But this. |"]
