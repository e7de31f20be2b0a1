"""One compiled entry of `x-kubernetes-validations`: the rule, its message and where it applies.

Compiled once and evaluated for many values. Whoever walks the schema decides what is reported.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.k8s.cel import METER, Env, Meter, Program, compile_rule, mentions
from tfjob.k8s.cel_functions import EvaluationError, Optional
from tfjob.k8s.cel_syntax import CelError

OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_VARIABLES = frozenset({"self", "oldSelf"})


class RuleError(ValueError):
    """A rule that does not compile; `keyword` is the part of the entry that is at fault."""

    def __init__(self, keyword: str, text: str, error: CelError) -> None:
        super().__init__(str(error))
        self.keyword = keyword
        self.text = text


class ValidationRule:
    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.text = str(spec.get("rule", ""))
        self.message = str(spec.get("message", ""))
        self.reason = str(spec.get("reason") or "FieldValueInvalid")
        self.field_path = str(spec.get("fieldPath", ""))
        self.is_optional = bool(spec.get("optionalOldSelf"))
        self.is_transition = not self.is_optional and mentions(self.text, "oldSelf")
        self._holds = _program(spec, "rule")
        self._message = _program(spec, "messageExpression") if _has_expression(spec) else None

    def env(self, value: object, *, old: object = None, meter: Meter) -> Env:
        """The variables of an evaluation; `old` is the previous state of the value."""
        before = Optional(old) if self.is_optional else old
        return {"self": value, "oldSelf": before, METER: meter}

    def applies(self, old: object) -> bool:
        """A transition rule applies to updates only."""
        return old is not None or not self.is_transition

    def holds(self, env: Env) -> bool:
        """Whether the rule holds. Raises EvaluationError if that cannot be determined."""
        return self._holds(env) is True

    def message_for(self, env: Env) -> str:
        """The message of a violation."""
        if self._message is not None:
            try:
                text = self._message(env)
            except EvaluationError:
                text = ""
            if isinstance(text, str) and text.strip() and "\n" not in text:
                return text
        return self.message or f"failed rule: {self.text}"


def _has_expression(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("messageExpression"))


def _program(spec: Mapping[str, Any], keyword: str) -> Program:
    text = str(spec.get(keyword, ""))
    try:
        return compile_rule(text, variables=_VARIABLES)
    except CelError as error:
        raise RuleError(keyword, text, error) from error
