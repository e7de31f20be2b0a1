"""The name of a job, and the names and label values of its children.

Names of children are derived from the name of the job only. Because they are fixed, a stale cache
cannot lead to a duplicate: the API server rejects it. Offline, a job may have a generateName only:
its rules then judge the longest name that can become of it.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from tfjob.dialects.field_reader import Reader
from tfjob.dialects.rule_check import RuleTree, violations
from tfjob.dialects.schema import GIVEN_NAME, RESERVED, Schema
from tfjob.k8s import field
from tfjob.k8s.names import GENERATED_SUFFIX

MAX_NAME_LENGTH = 63
_NAME, _PREFIX = "metadata.name", "metadata.generateName"


def child_prefix(*parts: str) -> str:
    """The part of a child's name before its index."""
    return "".join(f"{_plain(part)}-" for part in parts)


def label_value(text: str) -> str:
    """Turn text into a label value: at most 63 characters, ending in a letter or digit."""
    cut = _plain(text)[:MAX_NAME_LENGTH]
    while cut and not (cut[-1].isascii() and cut[-1].isalnum()):
        cut = cut[:-1]
    return cut


def _plain(text: str) -> str:
    return text.replace("/", "-")


class ObjectName(NamedTuple):
    """A name, or a generateName with a placeholder `suffix` for what the API server appends."""

    path: str
    text: str
    suffix: str = ""

    @property
    def whole(self) -> str:
        kept = self.text[: MAX_NAME_LENGTH - len(self.suffix)] if self.suffix else self.text
        return kept + self.suffix


def read_name(reader: Reader, manifest: Mapping[str, Any]) -> ObjectName | None:
    """The name of an object; None, with a fault, if it has none that can be used."""
    metadata = reader.mapping(manifest.get("metadata"), "metadata")
    text = reader.text(metadata.get("name"), _NAME)
    if text or not isinstance(metadata.get("name"), str | None):
        return ObjectName(_NAME, text) if text else None
    prefix = reader.text(metadata.get("generateName"), _PREFIX)
    if prefix:
        return ObjectName(_PREFIX, prefix, GENERATED_SUFFIX)
    rule = "name or generateName is required"
    reader.note(field.required(_NAME, rule, remedy="add metadata.name"))
    return None


def remedy_for_name(name: str, longest: int) -> str:
    """Suggest a valid name close to the given one.

    A fault may name the limit of any label, while the job's own is lower: the remedy says why.
    """
    kept = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    whole = kept if kept[:1].isalpha() else f"job-{kept}"
    legal = whole[:longest].strip("-")
    if not kept:
        return "use lower-case letters, digits and '-'"
    if len(whole) <= longest:
        return f"use a name such as {legal}"
    limit = f"{longest} characters or less, since pod and service names are derived from it"
    if whole == name:
        return f"shorten it to {limit}, for example {legal}"
    return f"use a name of {limit}, such as {legal}"


def rules_of(schema: Schema) -> RuleTree:
    """The rules of a job's schema."""
    return RuleTree(schema, variables=frozenset({GIVEN_NAME, RESERVED}))


def check_job(
    reader: Reader, rules: RuleTree, *, name: ObjectName | None, spec: Any, place: int
) -> None:
    """Check the rules of a job whose parts match the schema.

    Faults that come first are inserted before the others, at `place`. Those of a generated name
    are faults of the generateName.
    """
    value: dict[str, Any] = {"metadata": {"name": name.whole} if name else {}}
    if spec is not None:
        value["spec"] = spec
    variables = {GIVEN_NAME: name.text, RESERVED: len(name.suffix)} if name else {}
    found = violations(rules, value, variables=variables, is_broken=bool(reader.faults))
    reader.faults[place:place] = [each.fault for each in found if each.order < 0]
    reader.faults += [each.fault for each in found if each.order >= 0]
    if name is not None and name.path != _NAME:
        reader.faults[:] = [
            msgspec.structs.replace(fault, path=name.path) if fault.path == _NAME else fault
            for fault in reader.faults
        ]
