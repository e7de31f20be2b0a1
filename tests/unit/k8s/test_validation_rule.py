"""One validation rule: when it applies, whether it holds, and what it says."""

from typing import Any

import pytest

from tfjob.k8s.cel import Meter
from tfjob.k8s.cel_functions import EvaluationError
from tfjob.k8s.validation_rule import RuleError, ValidationRule


def rule(expression: str, **fields: Any) -> ValidationRule:
    return ValidationRule({"rule": expression, **fields})


def message(found: ValidationRule, value: Any) -> str:
    return found.message_for(found.env(value, meter=Meter(100)))


def holds(found: ValidationRule, value: Any, old: Any = None) -> bool:
    return found.holds(found.env(value, old=old, meter=Meter(100)))


def test_transition_rule_applies_to_updates_only() -> None:
    found = rule("self == oldSelf")
    assert not found.applies(None)
    assert found.applies(1)
    assert (holds(found, 1, old=1), holds(found, 1, old=2)) == (True, False)


def test_rule_with_an_optional_old_value_applies_always() -> None:
    found = rule("oldSelf.hasValue() || self > 1", optionalOldSelf=True)
    assert found.applies(None)
    assert (holds(found, 1), holds(found, 1, old=0), holds(found, 2)) == (False, True, True)


def test_rule_without_a_verdict_is_an_error_and_not_a_yes() -> None:
    with pytest.raises(EvaluationError):
        holds(rule("self.a == 1"), {})
    assert not holds(rule("'yes'"), {})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"message": "m", "messageExpression": "'got ' + string(self)"}, "got 1"),
        ({"message": "m", "messageExpression": "self.none"}, "m"),
        ({"message": "m", "messageExpression": "'a\\nb'"}, "m"),
        ({"message": "m", "messageExpression": "' '"}, "m"),
        ({}, "failed rule: self > 1"),
    ],
)
def test_message_is_the_most_precise_that_can_be_had(fields: Any, text: str) -> None:
    assert message(rule("self > 1", **fields), 1) == text


@pytest.mark.parametrize(
    ("fields", "keyword"),
    [
        ({"rule": "self >"}, "rule"),
        ({"rule": "true", "messageExpression": "x"}, "messageExpression"),
    ],
)
def test_rule_that_does_not_compile_names_its_part(fields: Any, keyword: str) -> None:
    with pytest.raises(RuleError) as caught:
        ValidationRule(fields)
    assert (caught.value.keyword, caught.value.text) == (keyword, fields[keyword])
