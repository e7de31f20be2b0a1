import asyncio
import os
import signal

import pytest

from tests.support.patience import PATIENCE
from tfjob.cli.signals import EXIT_CODE, Interrupts, first_of


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_the_first_signal_asks_for_the_end_and_the_second_urges(
    number: signal.Signals,
) -> None:
    with Interrupts() as heard:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(heard.asked.wait(), PATIENCE)
        assert not heard.urged.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(heard.urged.wait(), PATIENCE)


async def test_the_third_signal_exits_immediately() -> None:
    codes: list[int] = []
    heard = Interrupts(exit_now=codes.append)
    heard.before_exit = lambda: codes.append(0)
    for _ in range(3):
        heard.hear()
    assert codes == [0, EXIT_CODE]


async def test_signal_handlers_are_restored() -> None:
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as heard:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert not heard.asked.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_the_first_result_is_returned_and_the_other_tasks_are_cancelled() -> None:
    never = asyncio.Event()
    others: list[str] = []

    async def waits() -> str:
        try:
            await never.wait()
        finally:
            others.append("cancelled")
        return "late"

    async def answers() -> str:
        return "early"

    assert await first_of(waits(), answers()) == "early"
    assert others == ["cancelled"]


async def test_the_error_of_the_first_task_is_raised() -> None:
    async def fails() -> bool:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await first_of(asyncio.Event().wait(), fails())
