"""The token bucket."""

import asyncio

import pytest

from tests.support.fake_time import FakeTime
from tfjob.client.throttle import TokenBucket


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
