"""Evaluates the validation rules of a schema offline, as an API server does on creation.

The rules are those of the CRD; nothing here knows what they say. Transition rules do not apply.
Work and number of faults are bounded, whatever the object contains. A rule that cannot be
evaluated is reported as an internal error, so that no job is accepted unchecked.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tfjob.dialects.field_reader import ROOT
from tfjob.dialects.schema import REASONS, REPORT, RULES, Report, Schema
from tfjob.k8s import field
from tfjob.k8s.cel import BudgetError, Env, Meter, Program, compile_rule
from tfjob.k8s.cel_functions import OBJECTS, EvaluationError
from tfjob.k8s.field import Fault, FaultKind
from tfjob.k8s.validation_rule import OUT_OF_BUDGET, ValidationRule

MAX_STEPS = 100_000
"""The budget of one check. A job at all limits of the schemas needs a tenth of it."""
MAX_FAULTS = 100
_KINDS = {reason: kind for kind, reason in REASONS.items()}
_ENTRY = frozenset({"k", "e", "before"})
_EXPRESSIONS = ("entries", "is_bad", "value", "argument")
_SMALLER = "remove what the job can do without"
_BUG = "this is a bug of tfjob: report it together with the job"


class Violation(NamedTuple):
    """A fault, and the order of its report."""

    fault: Fault
    order: int = 0
    is_internal: bool = False


class _Place(NamedTuple):
    """Where the walk is: the path, the extra variables, and the budget of the whole check."""

    path: str
    variables: Mapping[str, Any]
    meter: Meter

    def below(self, step: str) -> "_Place":
        return _Place(f"{self.path}{step}".removeprefix("."), self.variables, self.meter)


class RuleTree:
    """The rules of a schema. Parts of the schema without rules are left out.

    `variables` are the names of further variables that reports may use.
    """

    def __init__(self, schema: Schema, *, variables: frozenset[str] = frozenset()) -> None:
        compiled = (_ReportedRule(each, variables) for each in schema.get(RULES, ()))
        self._rules = [each for each in compiled if each.rule.applies(None)]
        below = {key: _subtree(each, variables) for key, each in _properties(schema).items()}
        self._fields = {key: each for key, each in below.items() if each is not None}
        self._entries = _subtree(schema.get("additionalProperties"), variables)
        self._items = _subtree(schema.get("items"), variables)

    @property
    def is_empty(self) -> bool:
        return not (self._rules or self._fields or self._entries or self._items)

    def violations(self, value: Any, place: _Place) -> Iterator[Violation]:
        """The violations below a value and then its own. Bad entries can hide what is below."""
        found: list[Violation] = []
        hidden: set[Any] = set()
        for each in self._rules:
            found += each.violations(value, place, hidden)
        yield from self._below(value, place, hidden)
        yield from found

    def _below(self, value: Any, place: _Place, hidden: set[Any]) -> Iterator[Violation]:
        if isinstance(value, OBJECTS):
            for key, each in value.items():
                tree = self._fields.get(key, self._entries)
                if tree is not None and each is not None and key not in hidden:
                    path = f".{key}" if key in self._fields else f"[{key}]"
                    yield from tree.violations(each, place.below(path))
        elif self._items is not None and isinstance(value, list | tuple):
            for index, each in enumerate(value):
                yield from self._items.violations(each, place.below(f"[{index}]"))


def violations(
    rules: RuleTree, value: Any, *, variables: Mapping[str, Any], is_broken: bool = False
) -> list[Violation]:
    """The violated rules in their order.

    A broken value lacks its invalid parts, so rules without a verdict are no fault of ours.
    """
    found: list[Violation] = []
    try:
        for each in rules.violations(value, _Place("", variables, Meter(MAX_STEPS))):
            if not (is_broken and each.is_internal):
                found.append(each)
            if len(found) >= MAX_FAULTS:
                break
    except BudgetError:
        fault = Fault(ROOT, FaultKind.INVALID, detail=OUT_OF_BUDGET, remedy=_SMALLER)
        found.append(Violation(fault))
    return sorted(found, key=lambda each: each.order)


class _ReportedRule:
    def __init__(self, spec: Schema, variables: frozenset[str]) -> None:
        self.rule = ValidationRule(spec)
        self._report: Report = spec.get(REPORT, Report())
        self._programs = _programs(self._report, variables)

    def violations(self, value: Any, place: _Place, hidden: set[Any]) -> Sequence[Violation]:
        env = self.rule.env(value, meter=place.meter)
        try:
            if self.rule.holds(env):
                return ()
        except EvaluationError as error:
            detail = f"the rule {self.rule.text!r} cannot be evaluated: {error}"
            fault = field.internal(self._path(place) or ROOT, detail, remedy=_BUG)
            return [Violation(fault, is_internal=True)]
        try:
            faults = list(self._located({**env, **place.variables}, place, hidden))
        except EvaluationError:
            faults = []
        return [Violation(each, self._report.order) for each in faults or [self._plain(env, place)]]

    def _located(self, env: Env, place: _Place, hidden: set[Any]) -> Iterator[Fault]:
        """The faults as the report describes them."""
        if not self._report.entries:
            yield self._fault(env, f"{self._path(place)}{self._report.at}")
            return
        for key, scope in self._bad_entries(env):
            if self._report.hides_entries:
                hidden.add(key)
            yield self._fault(scope, self._path(place) + self._report.at.replace("{}", str(key)))

    def _bad_entries(self, env: Env) -> Iterator[tuple[Any, Env]]:
        entries, is_bad = self._programs["entries"](env), self._programs["is_bad"]
        before: list[Any] = []
        for key in sorted(entries) if isinstance(entries, Mapping) else range(len(entries)):
            scope = {**env, "k": key, "e": entries[key], "before": before}
            if is_bad(scope) is True:
                yield key, scope
            before.append(entries[key])

    def _fault(self, env: Env, path: str) -> Fault:
        report, rule = self._report, self.rule
        value = self._result("value", env, _at(env["self"], rule.field_path))
        argument = self._result("argument", env, None)
        detail = (
            rule.message_for(env) if report.detail is None else _filled(report.detail, argument)
        )
        remedy = (
            _filled(report.remedy, argument)
            if isinstance(report.remedy, str)
            else report.remedy(value, argument)
        )
        kind = report.kind or _KINDS.get(rule.reason, FaultKind.INVALID)
        return Fault(path or ROOT, kind, value, detail, remedy)

    def _result(self, expression: str, env: Env, default: Any) -> Any:
        program = self._programs.get(expression)
        return default if program is None else program(env)

    def _plain(self, env: Env, place: _Place) -> Fault:
        """The fault as an API server describes it."""
        rule = self.rule
        value = _at(env["self"], rule.field_path)
        kind = _KINDS.get(rule.reason, FaultKind.INVALID)
        return Fault(self._path(place) or ROOT, kind, value, rule.message_for(env))

    def _path(self, place: _Place) -> str:
        return f"{place.path}{self.rule.field_path}".removeprefix(".")


def _programs(report: Report, variables: frozenset[str]) -> Mapping[str, Program]:
    names = frozenset({"self", "oldSelf"}) | _ENTRY | variables
    given = {key: getattr(report, key) for key in _EXPRESSIONS}
    return {key: compile_rule(text, variables=names) for key, text in given.items() if text}


def _subtree(schema: Schema | None, variables: frozenset[str]) -> RuleTree | None:
    if schema is None:
        return None
    tree = RuleTree(schema, variables=variables)
    return None if tree.is_empty else tree


def _properties(schema: Schema) -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = schema.get("properties", {})
    return found


def _at(value: Any, path: str) -> Any:
    """The value at a path below another; UNSET if there is none."""
    for step in filter(None, path.split(".")):
        if not isinstance(value, Mapping) or step not in value:
            return msgspec.UNSET
        value = value[step]
    return value


def _filled(text: str, argument: object) -> str:
    return text.replace("{}", str(argument))
