"""The rules of a schema, evaluated offline: what is reported, in which order, at what cost."""

from typing import Any

import pytest
from hypothesis import given

from tests.support.tfjobs import container, of_types, replica, tfjob
from tests.unit.dialects.tensorflow.jobs import entry
from tests.unit.dialects.tensorflow.jobs import tfjob as old_tfjob
from tests.unit.dialects.tensorstack.jobs import container as training_container
from tests.unit.dialects.tensorstack.jobs import replica as training_replica
from tests.unit.dialects.tensorstack.jobs import training_job
from tests.unit.k8s.json_values import JSON
from tfjob.dialects import rule_check
from tfjob.dialects.kubeflow import schema as kubeflow
from tfjob.dialects.registry import dialect_for
from tfjob.dialects.rule_check import MAX_FAULTS, MAX_STEPS, RuleTree, violations
from tfjob.dialects.schema import Report, Schema, array, integer, mapping, record, rule, ruled, text
from tfjob.dialects.tensorflow import schema as tensorflow
from tfjob.dialects.tensorstack import schema as tensorstack
from tfjob.k8s.field import Fault, FaultKind

Json = dict[str, Any]
SCHEMAS = {"kubeflow": kubeflow, "tensorflow": tensorflow, "tensorstack": tensorstack}
NAMES = frozenset({"givenName", "reserved"})
TREES = {name: RuleTree(each.schema(), variables=NAMES) for name, each in SCHEMAS.items()}


def faults(schema: Schema, value: Any, *, is_broken: bool = False) -> list[Fault]:
    found = violations(RuleTree(schema), value, variables={}, is_broken=is_broken)
    return [each.fault for each in found]


def texts(schema: Schema, value: Any) -> list[str]:
    return [fault.text for fault in faults(schema, value)]


def numbers(*rules: Schema) -> Schema:
    return ruled(array("N.", integer("N.")), rules)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_rule_and_every_report_of_every_api_compiles(name: str) -> None:
    assert not RuleTree(SCHEMAS[name].schema(), variables=NAMES).is_empty


def test_violated_rule_is_reported_with_path_kind_value_and_message() -> None:
    schema = record(
        "R.",
        {
            "a": ruled(integer("A."), [rule("self < 3", "too much")]),
            "b": record("B.", {}, rules=[rule("has(self.c)", "no c", at=".c")]),
            "m": mapping("M.", ruled(text("T."), [rule("self != ''", kind=FaultKind.REQUIRED)])),
        },
        rules=[
            rule("self.a == 1", kind=FaultKind.FORBIDDEN, message_expression="'%d'.format([5])")
        ],
    )
    assert texts(schema, {"a": 3, "b": {}, "m": {"k": ""}}) == [
        "a: Invalid value: 3: too much",
        "b.c: Invalid value: no c",
        "m[k]: Required value: failed rule: self != ''",
        "manifest: Forbidden: 5",
    ]
    assert texts(schema, {"a": 1}) == []


def test_bad_entries_are_reported_one_by_one_with_their_hints() -> None:
    report = Report(
        entries="self",
        is_bad="e > 1 || before.exists(o, o == e)",
        at="[{}].x",
        value="e",
        argument="e * 10",
        kind=FaultKind.UNSUPPORTED,
        detail="is {}",
        remedy=lambda value, argument: f"not {value}, not {argument}",
    )
    schema = numbers(rule("self.all(n, n <= 1) && size(self) < 2", "m", report=report))
    found = faults(schema, [1, 2, 1])
    assert [(fault.text, fault.remedy) for fault in found] == [
        ("[1].x: Unsupported value: 2: is 20", "not 2, not 20"),
        ("[2].x: Unsupported value: 1: is 10", "not 1, not 10"),
    ]


@pytest.mark.parametrize(
    "report", [Report(entries="self", is_bad="false"), Report(entries="self", is_bad="e.none")]
)
def test_violation_is_reported_even_if_no_entry_is_found_to_be_bad(report: Report) -> None:
    schema = numbers(rule("size(self) < 2", "too many", report=report))
    assert [fault.detail for fault in faults(schema, [1, 2])] == ["too many"]


def test_bad_entries_can_hide_what_is_below_them() -> None:
    below = record("B.", {}, rules=[rule("has(self.a)", "no a")])
    report = Report(entries="self", is_bad="k == 'x'", at="[{}]", hides_entries=True)
    schema = mapping("M.", below, rules=[rule("!('x' in self)", "no x", report=report)])
    found = [fault.path for fault in faults(schema, {"x": {}, "y": {}})]
    assert found == ["[y]", "[x]"]


def test_faults_are_sorted_by_the_order_of_their_reports() -> None:
    schema = numbers(
        rule("false", "last", report=Report(order=2)),
        rule("false", "first", report=Report(order=-1)),
        rule("false", "middle"),
    )
    assert [fault.detail for fault in faults(schema, [])] == ["first", "middle", "last"]


def test_transition_rules_do_not_apply_and_optional_old_values_are_absent() -> None:
    schema = numbers(
        rule("self == oldSelf", "changed"), rule("oldSelf.hasValue() || size(self) < 1", "new")
    )
    assert [fault.detail for fault in faults(schema, [1])] == ["new"]


def test_rule_without_a_verdict_is_an_internal_error_and_never_a_yes() -> None:
    schema = numbers(rule("self[5] == 1", "m"))
    (fault,) = faults(schema, [1])
    assert fault.text == (
        "manifest: Internal error: the rule 'self[5] == 1' cannot be evaluated: "
        "index out of bounds: 5"
    )
    assert "bug of tfjob" in fault.remedy


def test_rule_that_needs_a_part_with_faults_has_no_verdict() -> None:
    schema = record("R.", {}, rules=[rule("self.a == 1", "m"), rule("has(self.b)", "no b")])
    assert [fault.detail for fault in faults(schema, {}, is_broken=True)] == ["no b"]


def test_work_is_bounded() -> None:
    schema = numbers(rule("self.all(a, self.exists_one(b, a == b))", "m"))
    (fault,) = faults(schema, list(range(1000)))
    assert "running out of cost budget" in fault.text
    assert fault.remedy


def test_number_of_faults_is_bounded() -> None:
    schema = array("A.", ruled(integer("N."), [rule("false", "m")]))
    assert len(faults(schema, [1] * 1000)) == MAX_FAULTS


# -- the APIs ------------------------------------------------------------------------------------


LARGEST: list[Json] = [
    of_types(
        **{
            kind: replica(1, containers=[container(), *[container(f"c{n}") for n in range(99)]])
            for kind in ("Chief", "PS", "Worker", "Evaluator")
        }
    ),
    training_job(
        replicaSpecs=[
            {
                **training_replica(kind),
                "template": {
                    "spec": {
                        "containers": [
                            training_container(),
                            *[training_container(f"c{n}") for n in range(99)],
                        ]
                    }
                },
            }
            for kind in ("chief", "worker", "ps", "evaluator")
        ],
        tensorboardSpec={"image": "i", "trainingLogFilesets": ["t9k://pvc/p/" + "a" * 900] * 100},
    ),
    old_tfjob(entry("MASTER"), entry("WORKER", 5), entry("PS", 3)),
]


def check(job: Json) -> list[Fault]:
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    return dialect.validate(job)


@pytest.mark.parametrize("job", LARGEST, ids=["kubeflow", "tensorstack", "tensorflow"])
def test_job_at_the_limits_of_its_schema_needs_a_tenth_of_the_budget(
    job: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_check, "MAX_STEPS", MAX_STEPS // 10)
    assert check(job) == []


HOSTILE: dict[str, Json] = {
    "types": of_types(**{f"T{n}": {} for n in range(20_000)}),
    "long types": of_types(**{"Worker" * 2_000 + "r" * n: {} for n in range(30)}),
    "containers": of_types(Worker=replica(1, containers=[{}] * 50_000)),
    "entries": training_job(replicaSpecs=[{"type": "worker", "template": {}}] * 10_000),
    "modes": training_job(runMode={"debug": {"replicaSpecs": [{"type": "w"}] * 20_000}}),
    "old entries": old_tfjob(*[entry("WORKER")] * 3_000),
    "name": {**tfjob(), "metadata": {"name": "a" * 500_000}},
}


@pytest.mark.parametrize("why", HOSTILE)
def test_hostile_job_is_refused_with_few_faults(why: str) -> None:
    assert 0 < len(check(HOSTILE[why])) <= MAX_FAULTS + 10


@pytest.mark.parametrize("name", SCHEMAS)
@given(value=JSON)
def test_no_value_makes_the_check_raise(name: str, value: Any) -> None:
    rules = TREES[name]
    for whole in (value, {"spec": value, "metadata": {"name": value}}):
        violations(rules, whole, variables={"givenName": "j", "reserved": 0})
