"""Checks the pod templates of a job with the validation rules of the local API server.

An unknown field is a fault only if it looks misspelt; otherwise it is a warning, because a newer
Kubernetes may know it.
"""

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tfjob.core.job import Job, ReplicaType
from tfjob.k8s import field
from tfjob.k8s.field import Fault, FaultKind
from tfjob.k8s.pod_validation import label_faults, pod_spec_faults
from tfjob.k8s.type_table import fields_at
from tfjob.k8s.typed_decode import TypedTemplate, WrongTypeError, typed_template
from tfjob.sdk.documents import Document

_CLOSE: Final = 0.75
_VARIABLES: Final = re.compile(r"\.env(\[\d+\])?$")
_VARIABLE_FORM: Final = 'write each variable as `- name: A` with `value: "1"` below the name'
_ALIASES: Final[Mapping[str, str]] = {
    "cmd": "command",
    "environment": "env",
    "limits": "resources.limits",
    "requests": "resources.requests",
}
"""What people call a field, or leave out around it, in lower case."""
_SIZE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtpe])(i?)b?\s*", re.IGNORECASE)


class TemplateReport(msgspec.Struct, frozen=True):
    faults: Sequence[Fault] = ()
    unknown: Sequence[str] = ()
    """Paths of unknown fields that resemble no known one."""


class _Place(msgspec.Struct, frozen=True):
    """The location of a template; `entry` is the path of its replica type."""

    entry: str
    path: str
    template: Mapping[str, Any]


def check_templates(document: Document, job: Job | None) -> TemplateReport:
    """Check every pod template of a document; `job` is the decoded job, if it is valid.

    Types and names of fields are checked in the document, the validation rules in the template
    from which the operator creates pods.
    """
    faults: list[Fault] = []
    unknown: list[str] = []
    places = list(_places(document.at("spec"), path="spec"))
    is_typed = True
    for place in places:
        typed = typed_template(place.template, path=place.path)
        is_typed = is_typed and not typed.wrong
        faults += [_type_fault(error) for error in typed.wrong]
        faults += _misspelt(document, typed, place.path)
        unknown += [path for path in typed.unknown if not _guess(path, place.path)]
    if job is not None and is_typed:
        for replica, path in _matched(document, job, places):
            faults += _rule_faults(replica, path)
    return TemplateReport(faults, unknown)


def with_example(fault: Fault) -> Fault:
    """The fault; a list of variables in another form gets an example as its remedy."""
    if fault.kind is not FaultKind.INVALID or _VARIABLES.search(fault.path) is None:
        return fault
    return msgspec.structs.replace(fault, remedy=_VARIABLE_FORM)


def entry_of(document: Document, role: str) -> str | None:
    """The path of the entry of a replica type, in any API.

    The entry contains a template; the type is its key or one of its values.
    """
    places = _places(document.at("spec"), path="spec")
    return next((each.entry for each in places if _is_of(each, document, role)), None)


def _places(value: object, *, path: str) -> Iterator[_Place]:
    """Every object that contains a template; templates are not searched."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _places(each, path=f"{path}[{index}]")
    if not isinstance(value, Mapping):
        return
    keys = [key for key in value if str(key).lower() == "template"]
    if keys:
        key = "template" if "template" in keys else keys[0]
        template = value[key] if isinstance(value[key], Mapping) else {}
        entry = re.sub(r"\.([^.\[\]]+)$", r"[\1]", path)
        yield _Place(entry, f"{entry}.{key}", template)
        return
    for key, each in value.items():
        yield from _places(each, path=f"{path}.{key}" if path else str(key))


def _is_of(place: _Place, document: Document, role: str) -> bool:
    name = place.entry.rpartition("[")[2].rstrip("]")
    words = {each.lower() for each in document.at(place.entry).values() if isinstance(each, str)}
    return role.lower() in words | {name.lower()}


def _matched(
    document: Document, job: Job, places: Sequence[_Place]
) -> Iterator[tuple[ReplicaType, str]]:
    """Each replica type with the path of its template, except types that the operator adds."""
    remaining = list(places)
    for replica in job.replicas:
        named = [each for each in remaining if _is_of(each, document, replica.type)]
        if not named and len(job.replicas) == len(places):
            named = remaining[:1]
        if named:
            remaining.remove(named[0])
            yield replica, named[0].path


# -- types and names -----------------------------------------------------------------------------


def _type_fault(error: WrongTypeError) -> Fault:
    allowed, remedy = _expected(error.wanted, error.value)
    got = f", not {_shown(error.value)}" if error.wanted != "resource.Quantity" else ""
    return field.invalid(error.path, error.value, f"must be {allowed}{got}", remedy=remedy)


def _expected(wanted: str, value: object) -> tuple[str, str]:
    """What the field allows, and what to write instead of a value of the wrong type."""
    if wanted == "[]string":
        return "a list of strings", f"write it as a list, such as [{', '.join(_words(value))}]"
    if wanted == "string" and isinstance(value, bool | int | float):
        shown = str(value).lower() if isinstance(value, bool) else value
        return "a string", f'put it in quotes: "{shown}"'
    if wanted == "string" and isinstance(value, Mapping):
        return "a string", "write it as text, in quotes if it contains a colon and a space"
    if wanted == "resource.Quantity":
        return "an amount such as 500m, 2 or 4Gi", _size_remedy(value)
    kind = "[]" if wanted.startswith("[]") else wanted
    return _EXPECTED.get(kind, ("an object", "write it as indented `name: value` lines"))


_WHOLE: Final = ("a whole number", "write a whole number, without quotes")
_EXPECTED: Final[Mapping[str, tuple[str, str]]] = {
    "[]": ("a list", "write it as lines that begin with `- `"),
    "string": ("a string", "write it as one text"),
    "int32": _WHOLE,
    "int64": _WHOLE,
    "bool": ("true or false", "write true or false, without quotes"),
    "v1.Time": ("a time such as 2026-01-02T03:04:05Z", "write it in that form"),
}


def _words(value: object) -> list[str]:
    if not isinstance(value, str):
        return ["python", "train.py"]
    try:
        found = shlex.split(value)
    except ValueError:  # unbalanced quotes
        found = value.split()
    return [f'"{each}"' if re.search(r"[^-\w./=]", each) else each for each in found]


def _size_remedy(value: object) -> str:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return "write a number with a unit, such as 500m, 2 or 4Gi"
    number, unit, binary = match[1], match[2].upper(), match[3].lower()
    unit = "k" if unit == "K" and not binary else unit
    return f"write {number}{unit}{binary}, without a space and without B"


_NAMES: Final[Mapping[type, str]] = {
    bool: "true or false",
    str: "a string",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def _shown(value: object) -> str:
    if isinstance(value, str) and not value:
        return "an empty string"
    return _NAMES.get(type(value), type(value).__name__)


def _misspelt(document: Document, typed: TypedTemplate, path: str) -> Iterator[Fault]:
    for unknown in typed.unknown:
        guess = _guess(unknown, path)
        if not guess:
            continue
        is_there = document.has(f"{unknown.rpartition('.')[0]}.{guess}")
        remedy = f"remove it: {guess} is already set" if is_there else f"did you mean {guess}?"
        detail = f"unknown pod field, similar to {guess}"
        yield Fault(unknown, FaultKind.INVALID, detail=detail, remedy=remedy)


def _guess(path: str, root: str) -> str:
    """The known field of the same object with the most similar name; empty if there is none."""
    parent, _, name = path.rpartition(".")
    known = {each.lower(): each for each in fields_at("PodTemplateSpec", parent.removeprefix(root))}
    alias = _ALIASES.get(name.lower(), "")
    if alias.partition(".")[0].lower() in known:
        return alias
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=_CLOSE)
    return known[close[0]] if close else ""


# -- rules ---------------------------------------------------------------------------------------


def _rule_faults(replica: ReplicaType, path: str) -> Iterator[Fault]:
    """Faults by the rules of the API server; the operator sets the restart policy."""
    typed = typed_template(replica.template, path=path).value
    spec = {**(typed.get("spec") or {}), "restartPolicy": replica.pod_restart_policy}
    volumes = [each.get("name", "") for each in spec.get("volumes") or ()]
    found = [
        *pod_spec_faults(spec, f"{path}.spec"),
        *label_faults(typed.get("metadata") or {}, f"{path}.metadata"),
    ]
    seen: set[tuple[str, object]] = set()
    for each in found:
        if (each.path, str(each.value)) not in seen:  # one fault for one mistake
            yield _with_remedy(each, volumes)
        seen.add((each.path, str(each.value)))


def _with_remedy(found: Fault, volumes: Sequence[str]) -> Fault:
    """The fault with a remedy, and with a detail if it has none."""
    if found.kind is FaultKind.NOT_FOUND:
        return _without_volume(found, volumes)
    remedies = {
        FaultKind.REQUIRED: "add the field",
        FaultKind.DUPLICATE: "give each its own name",
        FaultKind.UNSUPPORTED: "use one of the supported values, or leave the field out",
    }
    detail = found.detail or ("must be set" if found.kind is FaultKind.REQUIRED else "")
    by_detail = (remedy for part, remedy in _REMEDIES.items() if part in detail)
    remedy = next(by_detail, remedies.get(found.kind, "change the value, or remove the field"))
    return msgspec.structs.replace(found, detail=detail, remedy=remedy)


_REMEDIES: Final[Mapping[str, str]] = {
    "standard resource": "use the full name of the resource, such as nvidia.com/gpu for GPUs",
    "non overcommitable": "add the amount to limits, too, or to limits only",
}
"""By a part of the detail."""


def _without_volume(found: Fault, volumes: Sequence[str]) -> Fault:
    known = ", ".join(volumes)
    detail = f"the pod's volumes are {known}" if known else "the pod has no volumes"
    remedy = f"add a volume named {found.value} to spec.volumes of the template"
    close = difflib.get_close_matches(str(found.value), volumes, n=1)
    if close:
        remedy = f"did you mean {close[0]}? Otherwise {remedy}"
    return msgspec.structs.replace(found, detail=detail, remedy=remedy)
