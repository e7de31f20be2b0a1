"""Semantic validation of TfJobs: the rules of the CRD, and what these cannot say.

A failed job shows its first fault, so the order of the checks is part of the API.
"""

import functools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfjob.core.job import MAX_REPLICAS
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.naming import MAX_NAME_LENGTH
from tfjob.dialects.rule_check import RuleTree, violations
from tfjob.dialects.schema_check import valid_part
from tfjob.dialects.tensorflow import api, cel_rules, schema, validation_messages
from tfjob.dialects.tensorflow.names import Names
from tfjob.dialects.tensorflow.spec import SPECS, Entry, Spec, usual_spelling
from tfjob.k8s import field
from tfjob.k8s.field import Fault

_TERMINATION = "spec.terminationPolicy"
_SPEC = schema.spec()
Found = Mapping[int, Sequence[Fault]]
"""Violated rules by their order."""


def faults_of(spec: Spec, *, names: Names, is_checked: bool = False) -> Iterator[Fault]:
    """All faults in their order. `is_checked` skips the rules of the CRD."""
    found = {} if is_checked else _violated_rules(spec)
    yield from _of_termination(spec)
    if not spec.entries:
        yield field.required(
            SPECS, validation_messages.NO_REPLICAS, remedy=validation_messages.NO_REPLICAS_REMEDY
        )
    yield from _of_entries(spec, found)
    for order in (
        cel_rules.OF_CHIEF,
        cel_rules.OF_BOARD,
        cel_rules.OF_DUPLICATES,
        cel_rules.OF_NUMBERS,
    ):
        yield from found.get(order, ())
    yield from _of_total(spec)
    for order in (cel_rules.OF_INDEX, cel_rules.OF_ID):
        yield from found.get(order, ())
    yield from _of_names(spec, names)
    yield from found.get(cel_rules.OF_POLICY, ())


@functools.cache
def _rules() -> RuleTree:
    """Compiled when first needed: most commands check no job."""
    return RuleTree(schema.schema())


def _violated_rules(spec: Spec) -> Found:
    """The rules of the CRD that the spec violates in its usual spelling and with its defaults."""
    reader = Reader()
    right = valid_part(reader, usual_spelling(spec), _SPEC, "spec")
    found: dict[int, list[Fault]] = defaultdict(list)
    for each in violations(_rules(), {"spec": right}, variables={}, is_broken=bool(reader.faults)):
        found[each.order].append(each.fault)
    found[cel_rules.OF_POLICY] += reader.faults
    return found


def _of_termination(spec: Spec) -> Iterator[Fault]:
    if spec.chief.is_missing:
        rule = validation_messages.BAD_TERMINATION.format(_json(spec.termination))
        yield field.required(
            f"{_TERMINATION}.chief", rule, remedy=validation_messages.BAD_TERMINATION_REMEDY
        )


def _of_entries(spec: Spec, found: Found) -> Iterator[Fault]:
    """The CRD cannot require a template, whose key may be spelt in any case."""
    violated: dict[str, list[Fault]] = defaultdict(list)
    for fault in found.get(cel_rules.OF_ENTRY, ()):
        violated[fault.path.partition("]")[0]].append(fault)
    for entry in spec.entries:
        if entry.type != api.PS and entry.template is None:
            rule = validation_messages.NO_TEMPLATE.format(_json(_shown(entry)))
            yield field.required(
                f"{entry.path}.template", rule, remedy=validation_messages.NO_TEMPLATE_REMEDY
            )
        yield from violated.pop(entry.path.removesuffix("]"), ())
    for rest in violated.values():
        yield from rest


def _of_total(spec: Spec) -> Iterator[Fault]:
    total = sum(entry.count for entry in spec.entries)
    if total > MAX_REPLICAS:
        yield field.invalid(
            SPECS,
            total,
            validation_messages.MANY_REPLICAS,
            remedy=validation_messages.MANY_REPLICAS_REMEDY,
        )


def _of_names(spec: Spec, names: Names) -> Iterator[Fault]:
    """If children are named after the job, its name must be valid for that."""
    prefix = names.prefix
    path = "metadata.name"
    if prefix and not ("a" <= prefix[0] <= "z"):
        yield field.invalid(
            path,
            names.job,
            validation_messages.NO_LETTER,
            remedy=validation_messages.NO_LETTER_REMEDY,
        )
    if "." in prefix:
        yield field.invalid(
            path, names.job, validation_messages.DOTS, remedy=validation_messages.DOTS_REMEDY
        )
    given = [names.replica(each.type, max(each.count - 1, 0)) for each in spec.entries]
    longest = max(len(each) for each in [*given, names.tensorboard])
    if prefix and longest > MAX_NAME_LENGTH:
        yield field.invalid(
            path,
            names.job,
            validation_messages.LONG_NAMES,
            remedy=validation_messages.LONG_NAMES_REMEDY,
        )


def _shown(entry: Entry) -> Mapping[str, Any]:
    """An entry without a template, as it is stored."""
    return {"replicas": entry.count, "tfPort": entry.port, "tfReplicaType": entry.type}


def _json(value: object) -> str:
    """JSON in ASCII, which can always be stored; a placeholder for values without JSON form."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"
