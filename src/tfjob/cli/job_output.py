"""How `tfjob get` prints jobs: as a table, as names, whole, or through a JSONPath template."""

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tfjob.cli import printing
from tfjob.cli.cluster import CommandError
from tfjob.k8s import jsonpath
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.documents import as_yaml

_FORMATS: Final = ("table", "wide", "name", "json", "yaml")
_JSONPATH: Final = "jsonpath="
_PART: Final = re.compile(r"\{([^{}]*)\}|([^{}]+)|([{}])")
_ESCAPES: Final = {r"\n": "\n", r"\t": "\t"}
_AGES: Final = frozenset({"table", "wide"})


def output_format(text: str) -> str:
    """The argument of `-o`, checked."""
    if text.startswith(_JSONPATH):
        try:
            _parts(text.removeprefix(_JSONPATH))
        except jsonpath.PathError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    elif text not in _FORMATS:
        allowed = ", ".join([*_FORMATS, f"{_JSONPATH}TEMPLATE"])
        raise argparse.ArgumentTypeError(f"{text}: is not a format; use one of {allowed}")
    return text


def sort_path(text: str) -> str:
    """The argument of `--sort-by`, checked."""
    try:
        jsonpath.parse(text)
    except jsonpath.PathError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def is_table(style: str) -> bool:
    return style in _AGES


def sorted_by(found: Sequence[jobs.ClusterJob], path: str) -> list[jobs.ClusterJob]:
    """The jobs by the value at the path; those without one come first, as kubectl prints them."""
    values = {id(each): _value(each, path) for each in found}
    if path and not any(value is not None for value in values.values()) and found:
        raise CommandError(f"--sort-by {path}: no job has a value there")
    kinds = {isinstance(value, int | float) for value in values.values() if value is not None}
    if len(kinds) > 1:
        raise CommandError(f"--sort-by {path}: some values are numbers and others are strings")
    return sorted(found, key=lambda each: ((value := values[id(each)]) is not None, value))


def _value(found: jobs.ClusterJob, path: str) -> Any:
    value = next(iter(jsonpath.find(found.manifest, path)), None)
    return value if isinstance(value, str | int | float) else None


def rendered(
    found: Sequence[jobs.ClusterJob],
    style: str,
    namespace: str | None,
    *,
    is_list: bool,
    outdated: Sequence[str],
) -> str:
    """`is_list` is false if the user named one job, which is then printed by itself.

    `outdated` is the cell of each job in a wide table, and empty otherwise.
    """
    if style.startswith(_JSONPATH):
        return _templated(_whole(found, is_list=is_list), style)
    if style == "name":
        return "\n".join(job_lookup.full_name(each) for each in found)
    if style in {"json", "yaml"}:
        return _raw(_whole(found, is_list=is_list), style)
    is_wide = style == "wide" or len({each.dialect.group for each in found}) > 1
    head = ["NAME", "STATE", "ACTIVE", "RESTARTS", "REPLICAS", "AGE"]
    head += ["API"] if is_wide else []
    rows = [row(each, is_wide=is_wide) for each in found]
    if outdated:
        head.append("OUTDATED")
        rows = [[*cells, each] for cells, each in zip(rows, outdated, strict=True)]
    if namespace is None:
        head.insert(0, "NAMESPACE")
        rows = [[each.namespace, *cells] for each, cells in zip(found, rows, strict=True)]
    return printing.table(head, rows)


def row(found: jobs.ClusterJob, *, is_wide: bool) -> list[str]:
    now = datetime.now(tz=UTC)
    cells = [
        found.name,
        f"{found.state} (no replicas)".lstrip() if jobs.is_empty(found) else found.state,
        jobs.active_text(found),
        str(jobs.restarts(found)),
        jobs.replicas_text(found),
        printing.age(found.created, now),
    ]
    api = f"{found.dialect.group}/{found.dialect.version}"
    return [*cells, api] if is_wide else cells


def _whole(found: Sequence[jobs.ClusterJob], *, is_list: bool) -> Any:
    manifests = [each.manifest for each in found]
    return {"apiVersion": "v1", "kind": "List", "items": manifests} if is_list else manifests[0]


def _raw(shown: Any, style: str) -> str:
    if style == "json":
        return msgspec.json.format(msgspec.json.encode(shown)).decode()
    return as_yaml(shown).rstrip("\n")


def _templated(shown: Any, style: str) -> str:
    text = ""
    for path, literal in _parts(style.removeprefix(_JSONPATH)):
        text += " ".join(map(_text, jsonpath.find(shown, path))) if path else literal
    return printing.plain(text)


def _parts(template: str) -> list[tuple[str, str]]:
    """Paths in braces, and the text around them; `{"\\n"}` stands for a line break."""
    parts = []
    for found in _PART.finditer(template):
        path, literal, brace = found.groups()
        if brace:
            raise jsonpath.PathError(f"JSONPath {template!r}: a brace is not closed")
        if path is None:
            parts.append(("", literal))
        elif path.startswith('"') and path.endswith('"') and len(path) > 1:
            parts.append(("", _unescaped(path[1:-1])))
        else:
            jsonpath.parse(path)
            parts.append((path, ""))
    return parts


def _unescaped(text: str) -> str:
    for sign, meaning in _ESCAPES.items():
        text = text.replace(sign, meaning)
    return text


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
