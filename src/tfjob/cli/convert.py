"""`tfjob convert FILE… --to APIVERSION`: the same jobs in another API, and what is lost on the way.

All or nothing: a file with a fault, or with a loss under `--strict`, gives no YAML at all. What an
API server has added is left out; documents that are no jobs pass as they are.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tfjob.cli import documents
from tfjob.cli.documents import Document
from tfjob.cli.job_documents import Checked, check
from tfjob.cli.printing import plain
from tfjob.cli.yaml_text import as_yaml
from tfjob.dialects.base import Dialect, Loss, Manifest
from tfjob.dialects.registry import DIALECTS

_SET_BY_SERVERS: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    }
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""What kubectl keeps of the document as it was: no word of it fits the new one."""


class _Converted(msgspec.Struct):
    """What becomes of one document: lines that tell of faults and losses, and its new form."""

    manifest: Mapping[str, Any] | None
    faults: Sequence[str] = ()
    losses: Sequence[str] = ()
    group: str = ""
    """Whose job it was; empty for what is no job."""
    place: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a YAML file, or - for stdin")
    parser.add_argument(
        "--to",
        required=True,
        choices=[_api_of(each) for each in DIALECTS],
        metavar="APIVERSION",
        help=f"one of {', '.join(_api_of(each) for each in DIALECTS)}",
    )
    parser.add_argument("--strict", action="store_true", help="take every loss for a fault")
    parser.epilog = (
        "YAML goes to standard output, losses to standard error as FILE:LINE: PATH: MESSAGE."
        " Status, comments and what an API server has set are left out; documents of other kinds"
        " pass as they are. Exit code: 0 converted, 1 a fault, or a loss with --strict: then no"
        " YAML is printed."
    )


def run(arguments: argparse.Namespace) -> int:
    target = next(each for each in DIALECTS if _api_of(each) == arguments.to)
    found: list[_Converted] = []
    for file in arguments.files:
        found.extend(_convert_file(file, target))
    clashes = list(_clashes(found))
    for each in found:
        _tell([*each.faults, *each.losses])
    _tell(clashes)
    has_losses = any(each.losses for each in found)
    if clashes or any(each.faults for each in found) or (has_losses and arguments.strict):
        return 1
    for each in found:
        if each.manifest is not None:
            sys.stdout.write("---\n" + as_yaml(each.manifest))
    return 0


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")


def _convert_file(file: str, target: Dialect) -> list[_Converted]:
    try:
        read = documents.read(file)
    except documents.DocumentError as error:
        return [_Converted(None, faults=[str(error)])]
    checked = [check(each) for each in read]
    if not any(checked):
        why = "it passes as it is" if read else "it is empty"
        _tell([f"{documents.shown_name(file)}: holds no job: {why}"])
    return [
        _Converted(each.value) if job is None else _convert(job, target)
        for each, job in zip(read, checked, strict=True)
    ]


def _convert(checked: Checked, target: Dialect) -> _Converted:
    document = checked.document
    place = f"{document.file}: document {document.number}, {checked.title}"
    if checked.dialect is None or checked.faults:
        return _Converted(
            None, faults=[f"{place}: has faults and is not converted", *checked.report()]
        )
    manifest, losses = translated(_as_written(document.value), checked.dialect, target)
    faults = [
        f"  {document.file}:{document.line_of(fault.path)}: {fault.text}"
        for fault in target.validate(manifest)
    ]
    if faults:
        faults.insert(0, f"{place}: would have faults as {_api_of(target)} and is not converted")
    told = list(_loss_lines(document, losses))
    return _Converted(manifest, faults, told, group=checked.dialect.group, place=place)


def _clashes(found: Iterable[_Converted]) -> Iterator[str]:
    """Jobs of different APIs may share a name; in one API the last would replace the others."""
    taken: dict[tuple[object, object], _Converted] = {}
    for each in found:
        metadata = each.manifest["metadata"] if each.manifest and each.group else {}
        if "name" not in metadata:
            continue
        first = taken.setdefault((metadata.get("namespace"), metadata["name"]), each)
        if first.group != each.group:
            yield f"{each.place}: would replace that of {first.place}; give one another name first"


def translated(
    manifest: Manifest, source: Dialect, target: Dialect
) -> tuple[Mapping[str, Any], list[Loss]]:
    """The job in the target's words, and the losses of the way there by way of the hub."""
    if source is target:
        return manifest, []
    hub = source.to_hub(manifest)
    found = target.from_hub(hub.manifest)
    late = [Loss(_origin(loss.path, hub.origins), loss.message) for loss in found.losses]
    return found.manifest, [*hub.losses, *late]


def _origin(path: str, origins: Mapping[str, str]) -> str:
    """Where the source has what the hub has at this path: the longest beginning counts."""
    for known in sorted(origins, key=len, reverse=True):
        rest = path.removeprefix(known)
        if rest != path and rest[:1] in {"", ".", "["}:
            return origins[known] + rest
    return path


def _loss_lines(document: Document, losses: Iterable[Loss]) -> Iterator[str]:
    """In the order in which the source is read."""
    placed = [(document.spelt(loss.path), loss.message) for loss in losses]
    for path, message in sorted(placed, key=lambda each: (document.line_of(each[0]), each)):
        yield f"{document.file}:{document.line_of(path)}: {path}: {message}"


def _as_written(manifest: Manifest) -> dict[str, Any]:
    """The job as its user would have written it: without what an API server added."""
    kept = {key: value for key, value in manifest.items() if key != "status"}
    metadata = {
        key: value for key, value in manifest["metadata"].items() if key not in _SET_BY_SERVERS
    }
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(_LAST_APPLIED, None)
    if annotations:
        metadata["annotations"] = annotations
    return {**kept, "metadata": metadata}


def _api_of(dialect: Dialect) -> str:
    return f"{dialect.group}/{dialect.version}"
