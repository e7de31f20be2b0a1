"""Claims about waiting for a version."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_time import settle
from tests.support.patience import PATIENCE
from tfjob.client.progress import Progress, is_older, number


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("a", "b", False),
        ("9", "b", False),
        ("", "1", False),
        ("²", "9", False),
    ],
)
def test_only_numbers_can_be_older(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older


def test_what_was_reached_is_reached_at_once() -> None:
    progress = Progress()
    assert not progress.reaches("1")
    progress.advance("10")
    assert progress.reaches("9")
    assert progress.reaches("10")
    assert not progress.reaches("11")


async def test_nobody_waits_for_what_was_reached() -> None:
    progress = Progress()
    progress.advance("10")
    await asyncio.wait_for(progress.reach("9"), PATIENCE)


async def test_waiters_wake_when_their_version_is_passed() -> None:
    progress = Progress()
    waits = {version: asyncio.create_task(progress.reach(version)) for version in ("5", "7", "30")}
    await settle()
    progress.advance("6")
    await settle()
    assert [version for version, task in waits.items() if task.done()] == ["5"]
    progress.advance("29")
    await settle()
    assert [version for version, task in waits.items() if task.done()] == ["5", "7"]
    progress.advance("30")
    await asyncio.gather(*waits.values())


async def test_versions_that_are_no_numbers_must_be_met_exactly() -> None:
    progress = Progress()
    waiting = asyncio.create_task(progress.reach("v-b"))
    await settle()
    progress.advance("v-c")
    await settle()
    assert not waiting.done()
    progress.advance("v-b")
    await waiting
    assert progress.reaches("v-b")


async def test_a_waiter_that_gave_up_disturbs_nobody() -> None:
    progress = Progress()
    gone, stays = (asyncio.create_task(progress.reach("3")) for _ in range(2))
    await settle()
    gone.cancel()
    await settle()
    progress.advance("3")
    await stays
    assert gone.cancelled()


@given(text=st.text(max_size=10))
def test_any_text_is_a_number_or_none(text: str) -> None:
    value = number(text)
    assert value is None or value >= 0
