"""`tfjob convert FILE… --to APIVERSION`: convert jobs to another API and list the losses.

A fault in any file, or a loss with `--strict`, suppresses all YAML. Fields that an API server sets
are omitted; documents that are not jobs are printed unchanged.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tfjob.cli.printing import plain
from tfjob.dialects.base import Dialect, Loss, Manifest
from tfjob.dialects.registry import DIALECTS
from tfjob.sdk import documents
from tfjob.sdk.documents import Document, as_yaml
from tfjob.sdk.exported_objects import as_written
from tfjob.sdk.job_documents import CheckedDocument, check


class _Converted(msgspec.Struct):
    """The result for one document: its faults and losses as lines, and the new manifest."""

    manifest: Mapping[str, Any] | None
    faults: Sequence[str] = ()
    losses: Sequence[str] = ()
    group: str = ""
    """The API group of the job; empty for other objects."""
    place: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML file; - reads stdin")
    parser.add_argument(
        "--to",
        required=True,
        choices=[_api_of(each) for each in DIALECTS],
        metavar="APIVERSION",
        help=f"target API: {', '.join(_api_of(each) for each in DIALECTS)}",
    )
    parser.add_argument("--strict", action="store_true", help="treat every loss as a fault")
    parser.epilog = (
        "Prints YAML to standard output and losses to standard error as FILE:LINE: PATH: MESSAGE."
        " Omits the status, comments and fields that an API server sets; prints documents of other"
        " kinds unchanged. Exit codes: 0 converted; 1 a fault, or a loss with --strict, and no YAML"
        " is printed."
    )


def run(arguments: argparse.Namespace) -> int:
    target = next(each for each in DIALECTS if _api_of(each) == arguments.to)
    found: list[_Converted] = []
    for file in arguments.files:
        found.extend(_convert_file(file, target))
    clashes = list(_clashes(found))
    for each in found:
        _print_errors([*each.faults, *each.losses])
    _print_errors(clashes)
    has_losses = any(each.losses for each in found)
    if clashes or any(each.faults for each in found) or (has_losses and arguments.strict):
        return 1
    for each in found:
        if each.manifest is not None:
            sys.stdout.write("---\n" + as_yaml(each.manifest))
    return 0


def _print_errors(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")


def _convert_file(file: str, target: Dialect) -> list[_Converted]:
    try:
        read = documents.read(file)
    except documents.DocumentError as error:
        return [_Converted(None, faults=[str(error)])]
    checked = [check(each) for each in read]
    if not any(checked):
        why = "it is printed unchanged" if read else "it is empty"
        _print_errors([f"{documents.shown_name(file)}: contains no job: {why}"])
    return [
        _Converted(each.value) if job is None else _convert(job, target)
        for each, job in zip(read, checked, strict=True)
    ]


def _convert(checked: CheckedDocument, target: Dialect) -> _Converted:
    document = checked.document
    place = f"{document.file}: document {document.number}, {checked.title}"
    if checked.dialect is None or checked.faults:
        return _Converted(
            None, faults=[f"{place}: has faults and is not converted", *checked.report()]
        )
    manifest, losses = translated(as_written(document.value), checked.dialect, target)
    faults = [
        f"  {document.file}:{document.line_of(fault.path)}: {fault.text}"
        for fault in target.validate(manifest)
    ]
    if faults:
        faults.insert(0, f"{place}: would be invalid as {_api_of(target)} and is not converted")
    lines = list(_loss_lines(document, losses))
    return _Converted(manifest, faults, lines, group=checked.dialect.group, place=place)


def _clashes(found: Iterable[_Converted]) -> Iterator[str]:
    """Jobs of different APIs may share a name; after the conversion one would replace the other."""
    taken: dict[tuple[object, object], _Converted] = {}
    for each in found:
        metadata = each.manifest["metadata"] if each.manifest and each.group else {}
        if "name" not in metadata:
            continue
        first = taken.setdefault((metadata.get("namespace"), metadata["name"]), each)
        if first.group != each.group:
            yield f"{each.place}: would replace {first.place}; rename one of them first"


def translated(
    manifest: Manifest, source: Dialect, target: Dialect
) -> tuple[Mapping[str, Any], list[Loss]]:
    """The job converted by way of the hub, and the losses of both steps."""
    if source is target:
        return manifest, []
    hub = source.to_hub(manifest, target=_api_of(target))
    found = target.from_hub(hub.manifest, hub.beyond)
    late = [Loss(_origin(loss.path, hub.origins), loss.message) for loss in found.losses]
    return found.manifest, [*hub.losses, *late]


def _origin(path: str, origins: Mapping[str, str]) -> str:
    """The path in the source of a path in the hub; the longest matching prefix decides."""
    for known in sorted(origins, key=len, reverse=True):
        rest = path.removeprefix(known)
        if rest != path and rest[:1] in {"", ".", "["}:
            return origins[known] + rest
    return path


def _loss_lines(document: Document, losses: Iterable[Loss]) -> Iterator[str]:
    """The losses in the order of the source. A field that it leaves to its default has the line of
    the object that the field belongs to."""
    placed = [(document.spelt(loss.path), loss.message) for loss in losses]
    for path, message in sorted(placed, key=lambda each: (document.line_of(each[0]), each)):
        default = "" if document.has(path) else " (default)"
        yield f"{document.file}:{document.line_of(path)}: {path}{default}: {message}"


def _api_of(dialect: Dialect) -> str:
    return f"{dialect.group}/{dialect.version}"
