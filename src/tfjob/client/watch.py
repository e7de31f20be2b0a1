"""Watches a collection forever: first its initial state, then every change.

The initial state is streamed if the server supports that, otherwise listed page by page. After an
interruption the watch resumes from the last version seen. If the server no longer has that
version, the collection is listed again and replaces what was known.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from tfjob.client.errors import (
    ApiError,
    BadRequest,
    Gone,
    IdleTimeout,
    Invalid,
    ServerTimeout,
    Unreachable,
)
from tfjob.client.flowcontrol import Backoff
from tfjob.client.pager import PAGE_SIZE, PageSource, Scope, list_all
from tfjob.client.streams import Stream
from tfjob.client.timing import REAL, Timing
from tfjob.client.watch_codec import (
    Event,
    HasMetadata,
    LineBuffer,
    LineDecoder,
    MalformedLine,
    Replaced,
    Unreadable,
    WatchSession,
)

T = TypeVar("T", bound=HasMetadata)

_log: Final = logging.getLogger(__name__)
_MAX_MALFORMED: Final = 3
_MAX_BROKEN_STARTS: Final = 3
_LOG_INTERVAL: Final = 60.0
"""Seconds after which a continuing error is logged again."""


class Source(PageSource, Protocol):
    """The API calls that a watch uses."""

    def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[Stream]: ...


class WatchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts of a watch in seconds."""

    min_watch: int = 290
    max_watch: int = 590
    slack: float = 30.0
    max_idle: float = 180.0
    """A healthy server sends a bookmark about every minute."""
    response_timeout: float = 30.0
    """The response headers of a watch arrive at once, even if events take longer."""
    initial_idle: float = 10.0
    healthy_after: float = 5.0
    initial_delay: float = 0.1
    max_delay: float = 30.0
    max_unreachable_delay: float = 5.0
    """Limits the attempts on an unreachable server, and still finds it soon when it is back."""
    page_size: int = PAGE_SIZE


class Watch(Generic[T]):
    """One endless watch; iterate `events()` once."""

    def __init__(
        self,
        api: Source,
        scope: Scope,
        *,
        decode: type[T],
        give_up_on: tuple[type[ApiError], ...] = (),
        config: WatchConfig | None = None,
        timing: Timing = REAL,
    ) -> None:
        self._api = api
        self._scope = scope
        self._decoder = LineDecoder(decode)
        self._give_up_on = give_up_on
        self._config = config or WatchConfig()
        self._timing = timing
        self._backoff = Backoff(
            initial=self._config.initial_delay,
            maximum=self._config.max_delay,
            chance=timing.chance,
        )
        self._version: str | None = None
        self._can_stream_state = True
        self._opened_at: float | None = None
        self._has_progressed = False
        self._broken_starts = 0
        self._malformed_in_row = 0
        self._logged_fault = ""
        self._logged_at = 0.0
        self._progressed_at = timing.clock()
        self.malformed = 0
        self.unreadable = 0
        self.relists = 0

    async def events(self) -> AsyncGenerator[Event[T]]:
        """Yield Replaced first and after each relist, then Changed, Deleted and Progressed.

        Raises only the errors in `give_up_on`. To stop it, close it with `aclosing`.
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
                self._mark_healthy()
            if fault is None:
                self._touch()
            self._handle_error(fault)
            await self._pause(fault)

    @property
    def idle_seconds(self) -> float:
        """Seconds since the watch was last opened, received data or ended normally.

        Even a quiet collection gets bookmarks, or watches that time out normally, every few
        minutes. A long time means that the server refuses the watch or is unreachable.
        """
        return self._timing.clock() - self._progressed_at

    async def _attempt(self) -> AsyncGenerator[Event[T]]:
        """One watch connection, after a list if the state cannot be streamed."""
        if self._version is None and not self._can_stream_state:
            yield await self._paged_state()
        session = WatchSession[T](is_gathering=self._version is None)
        timeout_seconds = self._watch_seconds()
        async with self._api.stream(
            self._scope.path,
            params=self._watch_params(timeout_seconds),
            idle=min(self._idle(session, timeout_seconds), self._config.response_timeout),
        ) as stream:
            self._opened_at = self._timing.clock()
            self._touch()
            stream.idle = self._idle(session, timeout_seconds)
            buffer = LineBuffer()
            async for chunk in stream:
                for event in self._events_in(buffer.feed(chunk), session):
                    yield event
                self._touch()
                stream.idle = self._idle(session, timeout_seconds)

    async def _paged_state(self) -> Replaced[T]:
        whole = await list_all(
            self._api,
            self._scope,
            decoder=self._decoder,
            on_unreadable=self._note_unreadable,
            page_size=self._config.page_size,
        )
        self._advance(whole)
        self._touch()
        return whole

    def _watch_seconds(self) -> int:
        """A random duration, so that watches do not all end at once."""
        shortest, longest = self._config.min_watch, self._config.max_watch
        return shortest + int((longest - shortest) * self._timing.chance())

    def _watch_params(self, timeout_seconds: int) -> dict[str, str]:
        params = {
            **self._scope.selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(timeout_seconds),
        }
        if self._version is not None:
            return {**params, "resourceVersion": self._version}
        return {**params, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}

    def _idle(self, session: WatchSession[T], timeout_seconds: int) -> float:
        if session.is_gathering:
            return self._config.initial_idle
        return min(timeout_seconds + self._config.slack, self._config.max_idle)

    def _events_in(self, lines: list[bytes], session: WatchSession[T]) -> Iterator[Event[T]]:
        for line in lines:
            read = self._decoder.line(line)
            if isinstance(read, Unreadable):
                self._note_unreadable(read)
            event = session.take(read)
            if event is not None:
                self._advance(event)
                yield event

    def _note_unreadable(self, event: Unreadable) -> None:
        self.unreadable += 1
        fields = {"resource": self._scope.resource.plural, "key": event.key, "fault": event.fault}
        _log.warning("invalid object skipped", extra=fields)

    def _advance(self, event: Event[T]) -> None:
        """Remember where to resume. Only new versions count as progress."""
        if isinstance(event, Replaced):
            self._broken_starts = 0
        elif event.version != self._version:
            self._mark_healthy()
        self._version = event.version

    def _was_healthy(self) -> bool:
        """Whether the stream stayed open long enough to count as healthy."""
        if self._opened_at is None:
            return False
        return self._timing.clock() - self._opened_at >= self._config.healthy_after

    def _touch(self) -> None:
        self._progressed_at = self._timing.clock()

    def _mark_healthy(self) -> None:
        self._touch()
        self._has_progressed = True
        self._malformed_in_row = 0
        self._logged_fault = ""

    def _handle_error(self, fault: Exception | None) -> None:
        """Adapt the next attempt to the error."""
        if self._version is None and self._can_stream_state:
            self._check_initial_stream(fault)
        if isinstance(fault, MalformedLine):
            self.malformed += 1
            self._malformed_in_row += 1
        if isinstance(fault, Gone) or self._malformed_in_row >= _MAX_MALFORMED:
            self._version = None
            self._malformed_in_row = 0
            self.relists += 1
        if fault is not None:
            self._log_fault(fault)

    def _check_initial_stream(self, fault: Exception | None) -> None:
        """Fall back to listing if the server refuses to stream the initial state, sends nothing,
        or does not complete it."""
        if fault is None or isinstance(fault, ServerTimeout | MalformedLine):
            self._broken_starts += 1
        refuses = isinstance(fault, BadRequest | Invalid | IdleTimeout)
        if refuses or self._broken_starts >= _MAX_BROKEN_STARTS:
            self._can_stream_state = False

    def _log_fault(self, fault: Exception) -> None:
        """Log each type of error once, and again every minute until the watch works."""
        kind, now = type(fault).__name__, self._timing.clock()
        if kind != self._logged_fault or now - self._logged_at >= _LOG_INTERVAL:
            self._logged_fault, self._logged_at = kind, now
            fields = {"resource": self._scope.resource.plural, "namespace": self._scope.namespace}
            idle = {"idle_seconds": round(self.idle_seconds), "fault": str(fault)}
            _log.warning("watch interrupted", extra={**fields, **idle})

    async def _pause(self, fault: Exception | None) -> None:
        """Wait before reopening, unless the watch ended normally after progress."""
        if self._has_progressed:
            self._has_progressed = False
            self._backoff.reset()
            if fault is None:
                return
        delay = self._backoff.next()
        if isinstance(fault, Unreachable):
            delay = min(delay, self._config.max_unreachable_delay)
        await self._timing.sleep(delay)
