"""Follows a collection for ever: its state first, then every change, whatever breaks meanwhile.

The state comes as a stream where the server offers that, else page by page. After any break the
watch resumes from the last version seen; when the server no longer keeps that version, the state
is taken anew and replaces what was known. It judges no object and keeps none.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from tfjob.client.backoff import Backoff
from tfjob.client.errors import ApiError, BadRequest, Gone, IdleTimeout, Invalid, ServerTimeout
from tfjob.client.pager import PAGE_SIZE, PageSource, Scope, list_all
from tfjob.client.streams import Stream
from tfjob.client.timing import REAL, Timing
from tfjob.client.watch_codec import (
    Event,
    HasMetadata,
    LineBuffer,
    LineDecoder,
    MalformedLine,
    Phases,
    Replaced,
    Unreadable,
)

T = TypeVar("T", bound=HasMetadata)

_log: Final = logging.getLogger(__name__)
_MOST_MALFORMED: Final = 3
_MOST_BROKEN_STARTS: Final = 3
_SAID_AGAIN: Final = 60.0
"""Seconds after which trouble that goes on is logged again."""


class Source(PageSource, Protocol):
    """What a watch needs of an API server."""

    def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[Stream]: ...


class WatchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How long a watch waits for what, in seconds."""

    shortest_watch: int = 290
    longest_watch: int = 590
    slack: float = 30.0
    longest_silence: float = 180.0
    """A server that lives sends a bookmark about every minute."""
    answer: float = 30.0
    """An answer to a watch begins at once; what it brings may take its time."""
    initial_idle: float = 10.0
    healthy_after: float = 5.0
    first_delay: float = 0.1
    longest_delay: float = 30.0
    page_size: int = PAGE_SIZE


class Watch(Generic[T]):
    """One endless session; `events()` is meant to be iterated once."""

    def __init__(
        self,
        api: Source,
        scope: Scope,
        *,
        decode: type[T],
        give_up_on: tuple[type[ApiError], ...] = (),
        patience: WatchConfig | None = None,
        timing: Timing = REAL,
    ) -> None:
        self._api = api
        self._scope = scope
        self._decoder = LineDecoder(decode)
        self._give_up_on = give_up_on
        self._patience = patience or WatchConfig()
        self._timing = timing
        self._backoff = Backoff(
            first=self._patience.first_delay,
            longest=self._patience.longest_delay,
            chance=timing.chance,
        )
        self._version: str | None = None
        self._can_stream_state = True
        self._opened_at: float | None = None
        self._has_progressed = False
        self._broken_starts = 0
        self._malformed_in_row = 0
        self._told = ""
        self._told_at = 0.0
        self._progressed_at = timing.clock()
        self.malformed = 0
        self.unreadable = 0
        self.relists = 0

    async def events(self) -> AsyncGenerator[Event[T]]:
        """Replaced first and after each loss of history, then Changed, Deleted, Progressed.

        Ends only by one of the errors to give up on. To stop it, close it with `aclosing`.
        """
        while True:
            self._opened_at = None
            fault: Exception | None = None
            try:
                async with aclosing(self._attempt()) as events:
                    async for event in events:
                        yield event
            except self._give_up_on:
                raise
            except (ApiError, MalformedLine) as caught:
                fault = caught
            if self._was_healthy():
                self._progress()
            if fault is None:
                self._note_progress()
            self._learn_from(fault)
            await self._pause(fault)

    @property
    def idle_seconds(self) -> float:
        """Time since the watch was last opened, brought something, or ended in good order.

        A quiet collection has bookmarks, or ends of watches that lasted, within a few minutes. So
        a long time means that the server refuses, is gone, or no longer has the collection.
        """
        return self._timing.clock() - self._progressed_at

    async def _attempt(self) -> AsyncGenerator[Event[T]]:
        """One connection, and the pages before it where the state cannot be streamed."""
        if self._version is None and not self._can_stream_state:
            yield await self._paged_state()
        phases = Phases[T](is_gathering=self._version is None)
        lasts = self._watch_seconds()
        async with self._api.stream(
            self._scope.path,
            params=self._watch_params(lasts),
            idle=min(self._idle(phases, lasts), self._patience.answer),
        ) as stream:
            self._opened_at = self._timing.clock()
            self._note_progress()
            stream.idle = self._idle(phases, lasts)
            buffer = LineBuffer()
            async for chunk in stream:
                for event in self._events_in(buffer.feed(chunk), phases):
                    yield event
                self._note_progress()
                stream.idle = self._idle(phases, lasts)

    async def _paged_state(self) -> Replaced[T]:
        whole = await list_all(
            self._api,
            self._scope,
            decoder=self._decoder,
            on_unreadable=self._note_unreadable,
            page_size=self._patience.page_size,
        )
        self._advance(whole)
        self._note_progress()
        return whole

    def _watch_seconds(self) -> int:
        """Chance keeps many watches from ending in step."""
        shortest, longest = self._patience.shortest_watch, self._patience.longest_watch
        return shortest + int((longest - shortest) * self._timing.chance())

    def _watch_params(self, lasts: int) -> dict[str, str]:
        params = {
            **self._scope.selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(lasts),
        }
        if self._version is not None:
            return {**params, "resourceVersion": self._version}
        return {**params, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}

    def _idle(self, phases: Phases[T], lasts: int) -> float:
        if phases.is_gathering:
            return self._patience.initial_idle
        return min(lasts + self._patience.slack, self._patience.longest_silence)

    def _events_in(self, lines: list[bytes], phases: Phases[T]) -> Iterator[Event[T]]:
        for line in lines:
            read = self._decoder.line(line)
            if isinstance(read, Unreadable):
                self._note_unreadable(read)
            event = phases.take(read)
            if event is not None:
                self._advance(event)
                yield event

    def _note_unreadable(self, event: Unreadable) -> None:
        self.unreadable += 1
        facts = {"resource": self._scope.resource.plural, "key": event.key, "fault": event.fault}
        _log.warning("object skipped", extra=facts)

    def _advance(self, event: Event[T]) -> None:
        """Remember where to resume; only a change seen while following counts as progress."""
        if isinstance(event, Replaced):
            self._broken_starts = 0
        elif event.version != self._version:
            self._progress()
        self._version = event.version

    def _was_healthy(self) -> bool:
        """A stream that lasted was good, even if nothing changed in its time."""
        if self._opened_at is None:
            return False
        return self._timing.clock() - self._opened_at >= self._patience.healthy_after

    def _note_progress(self) -> None:
        self._progressed_at = self._timing.clock()

    def _progress(self) -> None:
        self._note_progress()
        self._has_progressed = True
        self._malformed_in_row = 0
        self._told = ""

    def _learn_from(self, fault: Exception | None) -> None:
        """Decide what the next attempt does differently."""
        if self._version is None and self._can_stream_state:
            self._judge_start(fault)
        if isinstance(fault, MalformedLine):
            self.malformed += 1
            self._malformed_in_row += 1
        if isinstance(fault, Gone) or self._malformed_in_row >= _MOST_MALFORMED:
            self._version = None
            self._malformed_in_row = 0
            self.relists += 1
        if fault is not None:
            self._tell(fault)

    def _judge_start(self, fault: Exception | None) -> None:
        """Servers that do not know how to stream a state refuse, fall silent, or never end it."""
        if fault is None or isinstance(fault, ServerTimeout | MalformedLine):
            self._broken_starts += 1
        refuses = isinstance(fault, BadRequest | Invalid | IdleTimeout)
        if refuses or self._broken_starts >= _MOST_BROKEN_STARTS:
            self._can_stream_state = False

    def _tell(self, fault: Exception) -> None:
        """Log a kind of trouble once, and again each minute until the watch works again."""
        kind, now = type(fault).__name__, self._timing.clock()
        if kind != self._told or now - self._told_at >= _SAID_AGAIN:
            self._told, self._told_at = kind, now
            facts = {"resource": self._scope.resource.plural, "namespace": self._scope.namespace}
            idle = {"idle_seconds": round(self.idle_seconds), "fault": str(fault)}
            _log.warning("watch interrupted", extra={**facts, **idle})

    async def _pause(self, fault: Exception | None) -> None:
        """A watch that ended in good order is opened again at once; any other waits longer."""
        if self._has_progressed:
            self._has_progressed = False
            self._backoff.reset()
            if fault is None:
                return
        await self._timing.sleep(self._backoff.next())
