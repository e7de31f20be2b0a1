"""A watch finds a server again that could not be reached."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Never

from tests.support.fake_time import Instant
from tests.support.recorded_watch import SCOPE, STATE, STATE_END, Pod
from tfjob.client.errors import Unreachable
from tfjob.client.streams import Stream
from tfjob.client.watch import Watch


class State(Stream):
    """A stream with the initial state in one chunk."""

    def __init__(self, idle: float | None) -> None:
        self.idle = idle
        self._left = [b"".join([*STATE, STATE_END])]

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


class Away:
    """A server that cannot be reached twenty times, and then has an initial state."""

    def __init__(self) -> None:
        self.left = 20

    async def list_page(self, path: str, **_: object) -> Never:
        raise AssertionError(path)

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, idle: float | None = None
    ) -> AsyncIterator[Stream]:
        assert path
        assert params
        if self.left:
            self.left -= 1
            raise Unreachable("connection refused")
        yield State(idle)


async def test_a_server_that_comes_back_is_found_within_seconds() -> None:
    """However long it was away: nobody is burdened by attempts that nobody answers."""
    time = Instant(chance=0.9)
    watch = Watch(Away(), SCOPE, decode=Pod, timing=time.timing)
    async with aclosing(watch.events()) as events:
        await anext(events)
    assert len(time.slept) == 20
    assert max(time.slept) == 5.0
