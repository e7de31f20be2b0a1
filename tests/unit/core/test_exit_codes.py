"""Which exits of a container are retryable."""

import pytest

from tfjob.core.exit_codes import ExitCodes


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (None, "", True),
        (0, "", False),
        (5, "", True),
        (100, "", True),
        (99, "", False),
        (101, "", False),
        (101, "Fatal", False),
        (100, "Fatal", False),
        (None, "Fatal", False),
        (5, "Fatal", False),
    ],
)
def test_exit_codes_are_retryable_by_list_and_bound_unless_named_permanent(
    code: int | None, reason: str, expected: bool
) -> None:
    codes = ExitCodes(
        retryable=frozenset({5}),
        at_least=100,
        permanent=frozenset({101}),
        permanent_reasons=frozenset({"Fatal"}),
    )
    assert codes.is_retryable(code, reason=reason) is expected


def test_without_a_bound_only_the_list_is_retryable() -> None:
    codes = ExitCodes(retryable=frozenset({130}), missing_is_retryable=False)
    assert [code for code in (1, 130, 137, 255) if codes.is_retryable(code)] == [130]
    assert not codes.is_retryable(None)


def test_a_code_both_retryable_and_permanent_is_permanent() -> None:
    codes = ExitCodes(retryable=frozenset({7}), permanent=frozenset({7}))
    assert not codes.is_retryable(7)
