"""Generates the parts of the chart that depend on the dialects' descriptors.

These are the CRDs, the template of each dialect's needs, and the parts of the values and their
schema that name dialects. The rest of the chart is written by hand and names no dialect, except
for extras of a single dialect, such as its ConfigMap.
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
    """Writes YAML without anchors, so that diffs are easy to read."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked about each value
        return True


def definition_path(descriptor: Descriptor) -> str:
    """The path of a dialect's CRD in the chart."""
    return f"files/crds/{descriptor.group}_{descriptor.stored.plural}.yaml"


def definition(descriptor: Descriptor) -> str:
    """The CRD of a dialect, ready to apply."""
    return _HEADER + yaml.dump(descriptor.definition, Dumper=_Dumper, sort_keys=False, width=100)


def template(descriptors: Sequence[Descriptor] = DESCRIPTORS) -> str:
    """A template that lists the enabled dialects for other templates."""
    about = "The enabled dialects, with what the chart needs to know about each."
    lines = (line for each in descriptors for line in _entry(each))
    return (
        "{{- /* Made from the code by `make generate`; not edited by hand. */ -}}\n\n"
        f"{{{{- /* {about} */ -}}}}\n"
        '{{- define "tfjob.dialects" -}}\n'
        + "".join(f"{line}\n" for line in lines)
        + "{{- end -}}\n"
    )


def values(text: str, descriptors: Sequence[Descriptor] = DESCRIPTORS) -> str:
    """The values file with its generated parts updated."""
    switches = ["dialects:"]
    for each in descriptors:
        switches.append(f"  # {each.title}; `kubectl get {each.stored.short_name}`")
        switches.append(f"  {each.name}: {_word(is_on=each.is_default)}")
    flags = []
    for each in descriptors:
        for flag in each.flags:
            _, _, name = flag.value.rpartition(".")
            flags.append(f"  # {', '.join(flag.choices)}: {flag.help}.")
            default = flag.choices[0]
            # YAML words such as `off` must be quoted.
            line = yaml.safe_dump({name: default}).strip()
            flags.append(f"  {name}: {default}" if flag.is_switch else f"  {line}")
    return _with_part(_with_part(text, "dialects", switches), "flags of dialects", flags)


def schema(text: str, descriptors: Sequence[Descriptor] = DESCRIPTORS) -> str:
    """The values schema with the dialects and their flags; at least one must be enabled."""
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
            place = found
            *parents, name = flag.value.split(".")
            for part in parents:
                place = place["properties"][part]
            allowed = {"type": "boolean"} if flag.is_switch else {"enum": list(flag.choices)}
            place["properties"][name] = allowed
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
    """The text with the lines between the two markers replaced."""
    before, found, rest = text.partition(_BEGIN.format(name=name))
    part, end, after = rest.partition(_END.format(name=name))
    if not (found and end):
        raise ValueError(f"{VALUES}: no generated part {name!r}; restore its two marker comments")
    opening = part.partition("\n")[0]
    indent = part.rpartition("\n")[2]
    body = "".join(f"{line}\n" for line in lines)
    return f"{before}{found}{opening}\n{body}{indent}{end}{after}"
