"""The announcement of the end that `--timeout` sets."""

import asyncio
import re

import pytest

from tests.unit.cli.followed_job import Notes
from tfjob.cli.time_limit import announce

FIRST = r"j is ended at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(--timeout\)"


@pytest.mark.parametrize(
    ("limit", "slept", "later"),
    [
        (0.5, [], []),
        (60.0, [], []),
        (90.0, [30.0], ["j is ended in 60 s (--timeout)"]),
        (1e300, [1e300], ["j is ended in 60 s (--timeout)"]),
    ],
)
async def test_the_end_is_announced_at_the_start_and_when_a_minute_is_left(
    monkeypatch: pytest.MonkeyPatch, limit: float, slept: list[float], later: list[str]
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    screen = Notes()
    await announce(screen, "j is ended", limit)
    first, *rest = screen.messages
    assert re.fullmatch(FIRST, first)
    assert (pauses, rest) == (slept, later)
