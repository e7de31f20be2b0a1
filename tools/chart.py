"""The parts of the chart that follow from the dialects' descriptors.

Definitions, the template that says what each dialect needs, and the places in the values and in
their schema that name dialects. The rest of the chart is written by hand and names none, but for
the extras of one dialect, such as its ConfigMap.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tfjob.dialects.descriptor import Descriptor
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager.permissions import need_of

CHART = "charts/tfjob"
VALUES = f"{CHART}/values.yaml"
SCHEMA = f"{CHART}/values.schema.json"
TEMPLATE = f"{CHART}/templates/_dialects.tpl"
_HEADER = "# Made from the code by `make generate`; not edited by hand.\n"
_BEGIN = "# Made from the code: {name}"
_END = "# End of {name}"


class _Dumper(yaml.SafeDumper):
    """Writes everything out where it stands: a reader of a diff follows no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked about each value
        return True


def definition_path(descriptor: Descriptor) -> str:
    """Where the definition of a dialect's API stands, below the chart."""
    return f"files/crds/{descriptor.group}_{descriptor.stored.plural}.yaml"


def definition(descriptor: Descriptor) -> str:
    """The definition of a dialect's API, as it can be applied."""
    return _HEADER + yaml.dump(descriptor.definition, Dumper=_Dumper, sort_keys=False, width=100)


def template(descriptors: Sequence[Descriptor] = DESCRIPTORS) -> str:
    """The dialects that are served, as a list for other templates to walk through."""
    about = "The dialects that are served, each with what the chart must know of it."
    lines = (line for each in descriptors for line in _entry(each))
    return (
        "{{- /* Made from the code by `make generate`; not edited by hand. */ -}}\n\n"
        f"{{{{- /* {about} */ -}}}}\n"
        '{{- define "tfjob.dialects" -}}\n'
        + "".join(f"{line}\n" for line in lines)
        + "{{- end -}}\n"
    )


def values(text: str, descriptors: Sequence[Descriptor] = DESCRIPTORS) -> str:
    """The file of values with the parts that name dialects made anew."""
    switches = ["dialects:"]
    for each in descriptors:
        switches.append(f"  # {each.title}; `kubectl get {each.stored.short_name}`")
        switches.append(f"  {each.name}: {_word(is_on=each.is_default)}")
    flags = []
    for each in descriptors:
        for flag in each.flags:
            _, _, name = flag.value.rpartition(".")
            flags.append(f"  # {', '.join(flag.choices)}: {flag.help}.")
            # A word such as `off` needs its quotes.
            flags.append(f"  {yaml.safe_dump({name: flag.choices[0]}).strip()}")
    return _with_part(_with_part(text, "dialects", switches), "their flags", flags)


def schema(text: str, descriptors: Sequence[Descriptor] = DESCRIPTORS) -> str:
    """The schema of the values with the dialects, at least one of which is on, and their flags."""
    found = json.loads(text)
    names = [each.name for each in descriptors]
    found["properties"]["dialects"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"type": "boolean"} for name in names},
        "anyOf": [{"properties": {name: {"const": True}}} for name in names],
    }
    for each in descriptors:
        for flag in each.flags:
            room = found
            *rooms, name = flag.value.split(".")
            for part in rooms:
                room = room["properties"][part]
            room["properties"][name] = {"enum": list(flag.choices)}
    return json.dumps(found, indent=2) + "\n"


def values_of(root: Path) -> str:
    return values((root / VALUES).read_text("utf-8"))


def schema_of(root: Path) -> str:
    return schema((root / SCHEMA).read_text("utf-8"))


def _entry(descriptor: Descriptor) -> Iterator[str]:
    stored = descriptor.stored
    yield f"{{{{- if .Values.dialects.{descriptor.name} }}}}"
    yield f"- name: {descriptor.name}"
    yield f"  group: {descriptor.group}"
    yield f"  plural: {stored.plural}"
    yield f"  shortName: {stored.short_name}"
    yield f"  definition: {definition_path(descriptor)}"
    yield f"  isScaled: {_word(is_on=_is_scaled(descriptor))}"
    yield "  arguments:"
    yield f"    - --enable-scheme={descriptor.scheme}"
    for flag in descriptor.flags:
        yield f"    - --{flag.name}={{{{ .Values.{flag.value} }}}}"
    yield "  needs:"
    yield f"    - {need_of(descriptor)}"
    for option, condition in descriptor.options.items():
        yield f"    {{{{- if {condition} }}}}"
        yield f"    - {need_of(descriptor, option)}"
        yield "    {{- end }}"
    yield "{{- end }}"


def _is_scaled(descriptor: Descriptor) -> bool:
    versions = descriptor.definition["spec"]["versions"]
    return any("scale" in each["subresources"] for each in versions)


def _word(*, is_on: bool) -> str:
    return "true" if is_on else "false"


def _with_part(text: str, name: str, lines: Iterable[str]) -> str:
    """The text with other lines between the two that mark a generated part."""
    before, found, rest = text.partition(_BEGIN.format(name=name))
    part, end, after = rest.partition(_END.format(name=name))
    if not (found and end):
        raise ValueError(f"{VALUES}: holds no part {name!r}; put its two comments back")
    opening = part.partition("\n")[0]
    indent = part.rpartition("\n")[2]
    body = "".join(f"{line}\n" for line in lines)
    return f"{before}{found}{opening}\n{body}{indent}{end}{after}"
