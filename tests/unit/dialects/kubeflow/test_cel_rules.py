"""The messages of the CEL rules."""

from typing import Any

import pytest

from tfjob.dialects.kubeflow import cel_rules
from tfjob.k8s.names import dns1035_label_problems

RULES = {
    "object": cel_rules.of_object(),
    "spec": cel_rules.of_spec(),
    "queue": cel_rules.of_queue(),
    "types": cel_rules.of_types(),
    "replica": cel_rules.of_replica(),
    "container": cel_rules.of_container(),
}
ALL = [(place, rule) for place, found in RULES.items() for rule in found]


def texts(place: str) -> list[str]:
    return [rule.get("message", "") + rule.get("messageExpression", "") for rule in RULES[place]]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("object", "must be required"),
        ("object", "should match: "),
        ("object", "must be no more than 63 characters"),
        ("object", "characters because pod and service names are derived from it"),
        ("spec", "field is immutable"),
        ("queue", "spec.runPolicy.schedulingPolicy.queue is immutable"),
        ("types", "must be required"),
        ("types", 'supported values: "Chief", "Evaluator", "Master", "PS", "Worker"'),
        ("types", 'Duplicate value: "%s"'),
        ("types", "must not have more than 1 Chief or Master role"),
        ("types", "in body should be less than or equal to 1"),
        ("types", "must be no more than 5000 replicas in total"),
        ("replica", "must be specified"),
        ("replica", "must have at least one container with name tensorflow"),
        ("container", "must be required"),
    ],
)
def test_rule_says_the_words_of_the_contract(place: str, text: str) -> None:
    assert any(text in found for found in texts(place))


def test_rule_of_names_says_what_is_said_without_a_server() -> None:
    message = RULES["object"][1]["message"]
    assert message == f"should match: {','.join(dns1035_label_problems('0'))}"


@pytest.mark.parametrize(("place", "rule"), ALL)
def test_every_rule_says_something(place: str, rule: dict[str, Any]) -> None:
    assert rule.get("message") or rule.get("messageExpression")


@pytest.mark.parametrize(("place", "rule"), ALL)
def test_no_text_breaks_the_line(place: str, rule: dict[str, Any]) -> None:
    assert not any("\n" in value for value in rule.values() if isinstance(value, str))


def test_wide_rules_spare_what_was_stored_before_them() -> None:
    """A rule that sees more than the part it judges must compare with the old object itself."""
    for place in ("object", "types"):
        own_part = {"size(self) > 0", "self.all(k, self[k] != null)"}
        wide = [rule for rule in RULES[place] if rule["rule"] not in own_part]
        assert all(rule.get("optionalOldSelf") for rule in wide)


def test_immutable_fields_are_judged_on_updates_alone() -> None:
    for place in ("spec", "queue"):
        (rule,) = RULES[place]
        assert "oldSelf" in rule["rule"]
        assert "optionalOldSelf" not in rule
