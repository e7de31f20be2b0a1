"""Backoff: growth, maximum and jitter."""

from hypothesis import given
from hypothesis import strategies as st

from tfjob.client.backoff import Backoff, exponential_delay, with_jitter


def test_delays_double_up_to_the_limit_and_are_reset_after_progress() -> None:
    backoff = Backoff(initial=0.1, maximum=1.0, chance=lambda: 0.0)
    assert [backoff.next() for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    backoff.reset()
    assert backoff.next() == 0.1


@given(attempt=st.integers(0, 10**9), chance=st.floats(0, 1, exclude_max=True))
def test_no_delay_leaves_its_bounds(attempt: int, chance: float) -> None:
    delay = exponential_delay(attempt, initial=0.005, maximum=300.0)
    assert 0.005 <= delay <= 300.0
    assert delay <= with_jitter(delay, lambda: chance) <= 1.5 * delay


def test_chance_never_lengthens_beyond_the_limit() -> None:
    backoff = Backoff(initial=30.0, maximum=30.0, chance=lambda: 0.99)
    assert backoff.next() == 30.0
