"""Checks documents as jobs: finds the dialect of each and all of its faults.

This includes faults that an API server silently ignores: misplaced and misspelt fields, and
duplicate keys.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.registry import DIALECTS, dialect_for
from tfjob.k8s import field, names
from tfjob.k8s.field import Fault
from tfjob.sdk.documents import Document
from tfjob.sdk.list_form import with_map_form
from tfjob.sdk.pod_templates import check_templates, with_example
from tfjob.sdk.unknown_fields import unknown_fields, without_consequences

_CLOSE: Final = 0.75


class CheckedDocument(msgspec.Struct):
    """One document that is, or was meant to be, a job."""

    document: Document
    dialect: Dialect | None
    faults: Sequence[Fault]
    unknown_pod_fields: Sequence[str] = ()
    """Paths of unknown pod fields, which a newer Kubernetes may know."""

    def line_of(self, fault: Fault) -> int:
        return self.document.line_of(fault.path, fault.value)

    def decode(self) -> Job | InvalidJob | None:
        """The job; None if no API is known for the document."""
        return (
            None if self.dialect is None else self.dialect.decode(self.document.value, Settings())
        )

    def report(self) -> Iterator[str]:
        """The faults as lines of text: file and line, if there is a file, fault and remedy."""
        file = self.document.file
        for fault in self.faults:
            place = f"{file}:{self.line_of(fault)}: " if file else ""
            yield f"  {place}{fault.text}"
            if fault.remedy:
                first, *more = fault.remedy.splitlines()
                yield f"      remedy: {first}"
                yield from (f"        {line}" for line in more)

    @property
    def title(self) -> str:
        value = self.document.value if isinstance(self.document.value, Mapping) else {}
        metadata = value.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        name = metadata.get("name") or metadata.get("generateName") or "without a name"
        return _on_one_line(f"{value.get('kind') or 'object'} {name}")


def _on_one_line(text: str) -> str:
    """The text with unprintable characters escaped."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def check_all(documents: Iterable[Document]) -> list[CheckedDocument]:
    """The jobs among the documents, with their faults."""
    return [checked for each in documents if (checked := check(each)) is not None]


def fault_report(checked: Iterable[CheckedDocument]) -> list[str]:
    """The faults of all documents as lines of text, below the title of each faulty one."""
    return [line for each in checked if each.faults for line in (each.title, *each.report())]


def check(document: Document) -> CheckedDocument | None:
    """The document with its faults; None if it is not a job, such as a ConfigMap."""
    value = document.value
    if not isinstance(value, Mapping):
        return CheckedDocument(document, None, [_not_an_object(value)])
    dialect = dialect_for(value.get("apiVersion"), value.get("kind"))
    if dialect is None:
        faults = _almost_a_job(value)
        return CheckedDocument(document, None, faults) if faults else None
    repeated = list(_repeated(document))
    own = dialect.validate(value)
    job = None if own else dialect.decode(value, Settings())
    pods = check_templates(document, job if isinstance(job, Job) else None)
    known = {fault.path for fault in own}
    found = [
        *own,
        *_of_metadata(value),
        *unknown_fields(value, dialect),
        *(fault for fault in pods.faults if fault.path not in known),
    ]
    caused = map(with_example, without_consequences(found))
    faults = [*repeated, *with_map_form(value, caused)]
    return CheckedDocument(document, dialect, faults, pods.unknown)


def _repeated(document: Document) -> Iterator[Fault]:
    paths = [path for path, _ in document.repeated]
    if {"apiVersion", "kind"} <= set(paths):
        remedy = "separate the objects by lines of `---`"
        paths = ["apiVersion"]
    else:
        remedy = "keep one of them"
    for path in paths:
        yield Fault(path, field.FaultKind.DUPLICATE, detail="duplicate key", remedy=remedy)


def _of_metadata(value: Mapping[str, Any]) -> list[Fault]:
    """Faults of metadata that an API server rejects in every object."""
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping):
        return []
    reader = Reader()
    namespace = reader.text(metadata.get("namespace"), "metadata.namespace")
    for problem in names.dns1123_label_problems(namespace) if namespace else ():
        remedy = "use the name of a namespace, or leave the field out"
        reader.note(field.invalid("metadata.namespace", namespace, problem, remedy=remedy))
    labels = reader.labels(metadata.get("labels"), "metadata.labels")
    reader.labels(metadata.get("annotations"), "metadata.annotations")
    for key, each in labels.items():
        for problem in (*names.label_key_problems(str(key)), *names.label_value_problems(each)):
            path, shown = "metadata.labels", f"{key}={each}"
            reader.note(field.invalid(path, shown, problem, remedy="change or remove the label"))
    return reader.faults


def _almost_a_job(value: Mapping[str, Any]) -> list[Fault]:
    """Faults of an object that is nearly a job: an unknown version or a misspelt kind."""
    version, kind = value.get("apiVersion"), value.get("kind")
    group = str(version).partition("/")[0]
    own = [each for each in DIALECTS if each.group == group]
    if kind is None and (version is None or own):
        example = f"apiVersion and kind, for example {_version(DIALECTS[0])}, {DIALECTS[0].kind}"
        return [_absent(value, "kind", example)]
    close = _close_kind(kind, own)
    if close and close != kind:
        known = sorted({each.kind for each in own})
        return [field.unsupported("kind", kind, known, remedy=f"did you mean {close}?")]
    exact = [each for each in DIALECTS if each.kind == kind]
    alike = exact or [each for each in DIALECTS if each.kind.lower() == str(kind).lower()]
    if not alike:
        return []
    known = list(map(_version, alike))
    if version is None:
        return [_absent(value, "apiVersion", f"apiVersion: {known[0]}")]
    remedy = f"write {known[0]}" if exact else f"write {known[0]}, and {alike[0].kind} as kind"
    return [field.unsupported("apiVersion", version, known, remedy=remedy)]


def _absent(value: Mapping[str, Any], name: str, example: str) -> Fault:
    """The fault of a missing field, which may be there in other letters."""
    other = next((key for key in value if str(key).lower() == name.lower()), None)
    remedy = f"add {example}" if other is None else f"write {name} instead of {other}"
    return field.required(name, "must be specified", remedy=remedy)


def _close_kind(kind: object, dialects: Sequence[Dialect]) -> str:
    """The kind of a dialect that was probably meant; empty if none is similar."""
    kinds = {each.kind.lower(): each.kind for each in dialects}
    close = difflib.get_close_matches(str(kind).lower(), kinds, n=1, cutoff=_CLOSE)
    return kinds[close[0]] if close else ""


def _version(dialect: Dialect) -> str:
    return f"{dialect.group}/{dialect.version}"


def _not_an_object(value: object) -> Fault:
    rule = "must be a mapping with apiVersion, kind, metadata and spec"
    if isinstance(value, list):
        remedy = "separate the jobs by lines of `---`, or put them under `items` of a List"
    else:
        remedy = "remove the document, or write a job in its place"
    return field.invalid("document", value, rule, remedy=remedy)
