"""Warnings about jobs that are valid, each with the line of the field that it is about.

Advice names a replica type, and perhaps a field of its template. Whatever the API, that type is
the name of the entry that holds the template, or a word inside that entry.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tfjob.cli.checking import Checked
from tfjob.cli.documents import Document
from tfjob.core.advice import advice
from tfjob.core.job import Job
from tfjob.dialects.base import Settings

_TEMPLATE = "template"


class Advice(msgspec.Struct, frozen=True):
    text: str
    line: int | None = None

    def place(self, document: Document) -> str:
        """`file:line: `, or nothing where it is about the job as a whole."""
        return "" if self.line is None else f"{document.file}:{self.line}: "


def advice_on(checked: Checked) -> list[Advice]:
    """Nothing for a job with faults: they come first."""
    if checked.dialect is None or checked.faults:
        return []
    job = checked.dialect.decode(checked.document.value, Settings())
    return placed_advice(checked.document, job) if isinstance(job, Job) else []


def placed_advice(document: Document, job: Job) -> list[Advice]:
    texts = [*advice(job), *(message for _, message in job.warnings)]
    return [Advice(text, _line_of(document, text)) for text in texts]


def _line_of(document: Document, text: str) -> int | None:
    role, _, said = text.partition(": ")
    entry = next(_entries_of(document.value, role.lower(), ""), None)
    if entry is None:
        return None
    field = said.split(" ", 1)[0].rstrip(":") if said.startswith(f"{_TEMPLATE}.") else ""
    return document.line_of(f"{entry}.{field}" if field else entry)


def _entries_of(value: object, role: str, path: str, name: str = "") -> Iterator[str]:
    """Where the entries of a role stand."""
    if isinstance(value, Mapping):
        if _TEMPLATE in {str(key).lower() for key in value} and role in _names(value, name):
            yield path
        for key, each in value.items():
            yield from _entries_of(each, role, f"{path}.{key}", str(key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _entries_of(each, role, f"{path}[{place}]")


def _names(entry: Mapping[str, Any], name: str) -> set[str]:
    words = {each.lower() for each in entry.values() if isinstance(each, str)}
    return words | {name.lower()}
