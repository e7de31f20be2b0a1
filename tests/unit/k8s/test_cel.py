"""The CEL subset: results, and what is refused by name."""

from typing import Any

import pytest

from tfjob.k8s.cel import METER, BudgetError, Meter, compile_rule
from tfjob.k8s.cel_functions import EvaluationError, Optional
from tfjob.k8s.cel_syntax import CelError

NAMES = frozenset({"self", "oldSelf"})


def run(text: str, value: Any = None, old: Any = None) -> Any:
    return compile_rule(text, variables=NAMES)({"self": value, "oldSelf": old})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 == 7", None),
        ("(1 + 2) * 3 == 9", None),
        ("-7 / 2 == -3 && -7 % 2 == -1", None),
        ("7.0 / 2.0 == 3.5", None),
        ("'a' + 'b' == \"ab\"", None),
        ("r'\\d' == '\\\\d'", None),
        ("[1, 2] + [3] == [1, 2, 3]", None),
        ("{'a': 1}['a'] == 1", None),
        ("1 == 1.0 && 1 != true", None),
        ("2 in [1, 2] && 'a' in {'a': 1}", None),
        ("true ? 1 == 1 : 1 / 0 == 1", None),
        ("!(1 > 2) && 2 >= 2 && 1 <= 1", None),
        ("size('abc') == 3 && [1].size() == 1", None),
        ("'abc'.matches('^a') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", None),
        ("'A-b'.lowerAscii() == 'a-b' && 'a,b'.split(',').join('-') == 'a-b'", None),
        ("'A\u212a'.lowerAscii() == 'a\u212a' && 'a\u00e9'.upperAscii() == 'A\u00e9'", None),
        ("string(5) == '5' && int('5') == 5 && string(true) == 'true'", None),
        ("'%s is %d'.format(['x', 5]) == 'x is 5'", None),
        ("has(self.a) && !has(self.b)", {"a": 1}),
        ("self.all(x, x > 0) && self.exists(x, x == 2)", [1, 2]),
        ("self.exists_one(x, x == 2) && self.filter(x, x > 1) == [2, 3]", [1, 2, 3]),
        ("self.map(x, x * 2) == [2, 4] && self.map(x, x > 1, x) == [2]", [1, 2]),
        ("self.all(k, self[k] != null)", {"a": 1}),
        ("self.x__dash__y == 1 && self.__namespace__ == 2", {"x-y": 1, "namespace": 2}),
        ("has(self.none.deep) || true", {}),
        ("!(false && self.none == 1)", {}),
        ("self.none == 1 || true", {}),
        ("[1, 2].exists(x, x == 2 || self.none)", {}),
    ],
)
def test_expression_holds(text: str, value: Any) -> None:
    assert run(text, value) is True


@pytest.mark.parametrize(
    "text", ["self.none", "self.a.b", "[1][5]", "1 + 'a'", "1 / 0", "!1", "'a'.all(x, true)"]
)
def test_what_cannot_be_decided_is_an_evaluation_error(text: str) -> None:
    with pytest.raises(EvaluationError):
        run(text, {"a": 1})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("self.isURL()", ".isURL"),
        ("quantity('1Gi')", "quantity"),
        ("self.?a", r"\.\?"),
        ("other == 1", "undeclared reference to 'other'"),
        ("self.all(x)", "all"),
        ("self.", "the end"),
        ("self ==", "the end"),
        ("1 # 2", "cannot read"),
        ("(" * 200 + "1" + ")" * 200, "nested"),
    ],
)
def test_what_is_outside_the_subset_is_rejected_by_name(text: str, named: str) -> None:
    with pytest.raises(CelError, match=named):
        compile_rule(text, variables=NAMES)


def test_an_optional_says_whether_it_is_there() -> None:
    assert run("!oldSelf.hasValue() && oldSelf.orValue(5) == 5", old=Optional(None)) is True
    assert run("oldSelf.hasValue() && oldSelf.value().a == 1", old=Optional({"a": 1})) is True
    with pytest.raises(EvaluationError):
        run("oldSelf.value()", old=Optional(None))


def test_end_of_a_pattern_is_the_very_end() -> None:
    assert run("!self.matches('^a$')", "a\n") is True
    assert run("self.matches('^a$')", "a") is True


@pytest.mark.parametrize("text", ["'a' * 1000000000", "[1] * 1000000000", "1 in 'abc'"])
def test_operator_takes_no_types_that_cel_refuses(text: str) -> None:
    with pytest.raises(EvaluationError):
        run(text)


def metered(text: str, value: Any, *, steps: int) -> Any:
    env = {"self": value, "oldSelf": None, METER: Meter(steps)}
    return compile_rule(text, variables=NAMES)(env)


@pytest.mark.parametrize(
    ("text", "value", "steps"),
    [
        ("self.all(a, self.exists(b, a == b))", list(range(100)), 5_000),
        ("self.all(a, self.all(b, self.all(c, true)))", list(range(30)), 20_000),
        ("self.all(a, self.filter(b, b.contains(a)).size() > 0)", ["x" * 9_999] * 20, 20_000),
        ("false && self.all(a, true) || self.all(a, true) || true", list(range(99)), 50),
    ],
)
def test_work_that_a_value_can_cause_is_bounded(text: str, value: Any, steps: int) -> None:
    assert metered(text, value, steps=10**7) is True
    with pytest.raises(BudgetError):
        metered(text, value, steps=steps)
