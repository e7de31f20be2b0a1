"""When a container that ended is started again."""

import pytest

from tfjob.local.node.record import Terminated
from tfjob.local.node.restarts import (
    Backoff,
    crashes_after,
    delay,
    is_restarted,
    waiting_message,
)


@pytest.mark.parametrize(
    ("policy", "code", "is_init", "expected"),
    [
        ("Never", 1, False, False),
        ("Never", 0, False, False),
        ("OnFailure", 0, False, False),
        ("OnFailure", 1, False, True),
        ("Always", 0, False, True),
        ("Always", 1, False, True),
        ("Always", 0, True, False),
        ("Always", 1, True, True),
        ("Never", 1, True, False),
    ],
)
def test_restart_policy_decides(policy: str, code: int, is_init: bool, expected: bool) -> None:
    ended = Terminated(exit_code=code, reason="x")
    assert is_restarted(policy, ended, is_init=is_init) is expected


def test_delays_start_at_nothing_and_double_up_to_the_limit() -> None:
    delays = [delay(crashes, Backoff()) for crashes in range(1, 10)]
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_huge_count_of_crashes_stays_at_the_limit() -> None:
    assert delay(100_000, Backoff()) == 300


def test_a_long_run_begins_the_count_anew() -> None:
    assert crashes_after(7, ran_seconds=599, backoff=Backoff()) == 8
    assert crashes_after(7, ran_seconds=600, backoff=Backoff()) == 1


def test_the_message_is_a_kubelets() -> None:
    text = waiting_message(80, container="c", pod="p", namespace="ns", uid="u")
    assert text == "back-off 1m20s restarting failed container=c pod=p_ns(u)"
