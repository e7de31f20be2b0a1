"""backoffLimit as arithmetic: restarts in place, stored restarts, and when they are too many."""

import pytest

from tfjob.core import backoff
from tfjob.core.backoff import Restarts


def is_hit(
    limit: int | None, in_place: int, stored: int, *, wanted: bool = False, failed: bool = False
) -> bool:
    restarts = Restarts(in_place=in_place, stored=stored)
    return backoff.is_hit(limit, restarts, is_restart_wanted=wanted, has_new_failure=failed)


def test_without_a_limit_nothing_is_too_much() -> None:
    assert not is_hit(None, 1000, 1000, wanted=True, failed=True)
    assert backoff.remaining(None, Restarts(in_place=9, stored=9)) is None


@pytest.mark.parametrize(
    ("in_place", "failed", "expected"),
    [(0, False, False), (1, False, True), (0, True, True), (1, True, True)],
)
def test_a_limit_of_0_is_hit_by_any_restart_in_place_and_any_new_failure(
    in_place: int, failed: bool, expected: bool
) -> None:
    assert is_hit(0, in_place, 0, failed=failed) is expected


def test_a_new_failure_alone_does_not_hit_a_higher_limit() -> None:
    assert not is_hit(1, 0, 0, failed=True)


@pytest.mark.parametrize(
    ("limit", "in_place", "stored", "expected"),
    [
        (3, 3, 0, True),
        (3, 2, 0, False),
        (3, 1, 2, True),
        (3, 1, 1, False),
        (3, 0, 3, False),
        (4, 4, 0, True),
    ],
)
def test_restarts_in_place_hit_the_limit_together_with_stored_ones(
    limit: int, in_place: int, stored: int, expected: bool
) -> None:
    assert is_hit(limit, in_place, stored) is expected


@pytest.mark.parametrize(("stored", "expected"), [(0, False), (1, False), (2, True), (3, True)])
def test_another_restart_is_wanted_in_vain_once_the_limit_is_used_up(
    stored: int, expected: bool
) -> None:
    assert is_hit(2, 0, stored, wanted=True) is expected
    assert not is_hit(2, 0, stored, wanted=False)


def test_a_restart_wanted_under_limit_0_hits_it() -> None:
    assert is_hit(0, 0, 0, wanted=True)


@pytest.mark.parametrize(
    ("limit", "in_place", "stored", "left"),
    [(3, 0, 0, 3), (3, 1, 1, 1), (3, 2, 2, 0), (0, 0, 0, 0)],
)
def test_what_is_left_is_never_less_than_nothing(
    limit: int, in_place: int, stored: int, left: int
) -> None:
    assert backoff.remaining(limit, Restarts(in_place=in_place, stored=stored)) == left
