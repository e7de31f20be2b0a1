"""Warnings about valid jobs, each with the line of the field that it is about.

This includes fields that the API server stores but nothing reads: they may be misspelt.
"""

from collections.abc import Iterator

import msgspec

from tfjob.cli.advice import advice
from tfjob.core.job import Job
from tfjob.dialects.base import Settings
from tfjob.sdk.documents import Document
from tfjob.sdk.job_documents import CheckedDocument
from tfjob.sdk.pod_templates import entry_of

_UNKNOWN_POD_FIELD = (
    "unknown pod field; a cluster that does not know it rejects the pod, so check that yours does,"
    " or remove the field"
)
_AMOUNT_OUTSIDE = "unknown pod field; put it under requests or limits"


class Advice(msgspec.Struct, frozen=True):
    text: str
    line: int | None = None

    def place(self, document: Document) -> str:
        """`file:line: `, or empty if it is about the whole job."""
        return "" if self.line is None else f"{document.file}:{self.line}: "


def advice_on(checked: CheckedDocument) -> list[Advice]:
    """The warnings about a job; none if it has faults, which come first."""
    if checked.dialect is None or checked.faults:
        return []
    job = checked.dialect.decode(checked.document.value, Settings())
    return placed_advice(checked, job) if isinstance(job, Job) else []


def placed_advice(checked: CheckedDocument, job: Job) -> list[Advice]:
    """The warnings about a job as decoded with the wanted settings."""
    document = checked.document
    texts = [*advice(job), *(message for _, message in job.warnings)]
    placed = [Advice(text, _line_of(document, text)) for text in texts]
    return [*_on_unread(checked), *placed]


def _on_unread(checked: CheckedDocument) -> Iterator[Advice]:
    document = checked.document
    for path in (
        checked.dialect.unknown_fields(document.value) if checked.dialect is not None else ()
    ):
        yield Advice(f"{path}: unknown field, which is ignored", document.line_of(path))
    for path in checked.unknown_pod_fields:
        is_amount = path.rpartition(".")[0].endswith(".resources")
        text = _AMOUNT_OUTSIDE if is_amount else _UNKNOWN_POD_FIELD
        yield Advice(f"{path}: {text}", document.line_of(path))


def _line_of(document: Document, text: str) -> int | None:
    role, _, said = text.partition(": ")
    entry = entry_of(document, role)
    if entry is None:
        return None
    field = said.split(" ", 1)[0].rstrip(":") if said.startswith("template.") else ""
    return document.line_of(f"{entry}.{field}" if field else entry)
