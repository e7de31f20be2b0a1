"""Backoff, the token bucket, and the delay that follows the latency of the server."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_time import FakeTime
from tfjob.client.flowcontrol import (
    MAX_DELAY,
    MULTIPLIER,
    TOLERANCE,
    AdaptiveDelay,
    Backoff,
    TokenBucket,
    exponential_delay,
    with_jitter,
)


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


async def taken_by(bucket: TokenBucket, wanted: int) -> tuple[list[int], list[asyncio.Task[None]]]:
    order: list[int] = []

    async def take(number: int) -> None:
        await bucket.take()
        order.append(number)

    return order, [asyncio.create_task(take(number)) for number in range(wanted)]


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate_in_order() -> None:
    time = FakeTime()
    order, tasks = await taken_by(TokenBucket(2.0, 3, timing=time.timing), 6)
    await time.advance(0)
    assert order == [0, 1, 2]
    await time.advance(0.5)
    assert order == [0, 1, 2, 3]
    await time.advance(1.0)
    assert order == [0, 1, 2, 3, 4, 5]
    await asyncio.gather(*tasks)


async def test_an_idle_bucket_holds_no_more_than_its_burst() -> None:
    time = FakeTime()
    bucket = TokenBucket(10.0, 2, timing=time.timing)
    await time.advance(100.0)
    order, tasks = await taken_by(bucket, 4)
    await time.advance(0)
    assert order == [0, 1]
    await time.advance(0.2)
    await asyncio.gather(*tasks)


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_bucket_that_lets_nothing_through_is_rejected(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="rate must be above 0"):
        TokenBucket(rate, burst)


@pytest.mark.parametrize("distance", [0.001, 0.05, 2.0])
def test_usual_latency_causes_no_delay(distance: float) -> None:
    delay = AdaptiveDelay()
    assert delay.after(distance) == 0.0
    assert delay.after(distance + TOLERANCE / 2) == 0.0


def test_delay_grows_with_the_latency_up_to_a_limit() -> None:
    delay = AdaptiveDelay()
    delay.after(0.01)
    late = 0.002
    assert delay.after(0.01 + TOLERANCE + late) == pytest.approx(late * MULTIPLIER, abs=0.005)
    assert delay.after(30.0) == MAX_DELAY


def test_slow_first_response_does_not_count_for_long() -> None:
    delay = AdaptiveDelay()
    assert delay.after(0.5) == 0.0
    assert delay.after(0.01) == 0.0
    assert delay.after(0.5) == MAX_DELAY


def test_baseline_adapts_to_a_permanently_higher_latency() -> None:
    delay = AdaptiveDelay()
    delay.after(0.001)
    rests = [delay.after(0.1) for _ in range(500)]
    assert rests[0] == MAX_DELAY
    assert rests[-1] == 0.0
