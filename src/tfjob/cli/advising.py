"""Warnings about jobs that are valid, each with the line of the field that it is about.

Advice names a replica type, and perhaps a field of its template.
"""

import msgspec

from tfjob.cli.checking import Checked, entry_of
from tfjob.cli.documents import Document
from tfjob.core.advice import advice
from tfjob.core.job import Job
from tfjob.dialects.base import Settings


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
    entry = entry_of(document, role)
    if entry is None:
        return None
    field = said.split(" ", 1)[0].rstrip(":") if said.startswith("template.") else ""
    return document.line_of(f"{entry}.{field}" if field else entry)
