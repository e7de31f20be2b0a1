"""A recorded watch, a server that replays it, and a client that follows it.

The history is small and complete: a state as of version 3, then one change of each kind. After
any failure, a client that has followed to version 8 must hold `FINAL`.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

import msgspec

from tests.support.fake_api import Answer, Asked, FakeApi, refusal, whole
from tests.support.fake_time import Instant
from tests.support.patience import PATIENCE
from tfjob.client.config import Config
from tfjob.client.http import Api
from tfjob.client.informer import Informer
from tfjob.client.pager import Scope
from tfjob.client.resource import PODS
from tfjob.client.store import Store
from tfjob.client.watch import Watch, WatchConfig
from tfjob.client.watch_codec import Event
from tfjob.k8s.meta import ObjectMeta

SCOPE = Scope(resource=PODS, namespace="ns", labels="app=x")
END = {"k8s.io/initial-events-end": "true"}
Contents = dict[str, str]


class Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    size: int = 0


def item(name: str, version: int, **extra: object) -> dict[str, object]:
    metadata = {"namespace": "ns", "name": name, "uid": name, "resourceVersion": str(version)}
    return {"metadata": metadata, **extra}


def line(kind: str, name: str, version: int, **extra: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": item(name, version, **extra)}) + b"\n"


def bookmark(version: int, *, ends_initial: bool = False) -> bytes:
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if ends_initial:
        metadata["annotations"] = END
    return msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": metadata}}) + b"\n"


STATE = [line("ADDED", "a", 1), line("ADDED", "b", 2), line("ADDED", "c", 3)]
STATE_END = bookmark(3, ends_initial=True)
CHANGES = {
    4: line("MODIFIED", "a", 4),
    5: line("DELETED", "b", 5),
    6: line("ADDED", "d", 6),
    7: bookmark(7),
    8: line("MODIFIED", "c", 8),
}
FINAL = {"a": "4", "c": "8", "d": "6"}


def since(version: int) -> list[bytes]:
    return [text for revision, text in CHANGES.items() if revision > version]


def whole_session() -> bytes:
    return b"".join([*STATE, STATE_END, *CHANGES.values()])


class Faithful:
    """A server with one history, after a list of other answers that come first."""

    def __init__(self, first: Sequence[Answer] = (), *, can_stream: bool = True) -> None:
        self._first = list(first)
        self._can_stream = can_stream
        self._open = asyncio.Event()

    def __call__(self, asked: Asked) -> Answer:
        if self._first:
            return self._first.pop(0)
        if "watch" not in asked.query:
            items = [item("a", 1), item("b", 2), item("c", 3)]
            return whole({"metadata": {"resourceVersion": "3"}, "items": items})
        if "resourceVersion" in asked.query:
            return self.stream(since(int(asked.query["resourceVersion"])))
        if not self._can_stream:
            return refusal(422, "Invalid", "sendInitialEvents: Forbidden: not enabled")
        return self.stream([*STATE, STATE_END, *since(3)])

    def stream(self, chunks: Sequence[bytes]) -> Answer:
        """A stream that stays open."""
        return Answer(chunks=chunks, hold_after=self._open)


class Follower:
    """An informer on a watch, and the changes that it reported."""

    def __init__(self, api: Api, time: Instant, patience: WatchConfig) -> None:
        self.time = time
        self.watch = Watch(api, SCOPE, decode=Pod, config=patience, timing=time.timing)
        self.told: list[tuple[str | None, str | None]] = []
        self.informer = Informer(self, store=Store[Pod](), on_change=self._note)
        self._awaited = ""
        self._seen = asyncio.Event()

    async def events(self) -> AsyncGenerator[Event[Pod], None]:
        """Those of the watch; the informer has stored one when it asks for the next."""
        async with aclosing(self.watch.events()) as events:
            async for event in events:
                yield event
                self._look()

    def _look(self) -> None:
        if self.informer.is_caught_up(("ns", "-"), self._awaited):
            self._seen.set()

    def _note(self, old: Pod | None, new: Pod | None) -> None:
        self.told.append((_version(old), _version(new)))

    async def until(self, version: int) -> Contents:
        """What is stored once the version has been seen."""
        self._awaited = str(version)
        self._seen.clear()
        self._look()
        running = asyncio.create_task(self.informer.run())
        seen = asyncio.create_task(self._seen.wait())
        await asyncio.wait({running, seen}, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
        is_seen = seen.done()
        running.cancel()
        seen.cancel()
        await asyncio.gather(running, seen, return_exceptions=True)
        assert is_seen, running
        return {pod.metadata.name: pod.metadata.resource_version for pod in self.informer.store}


def _version(pod: Pod | None) -> str | None:
    return None if pod is None else f"{pod.metadata.name}{pod.metadata.resource_version}"


@asynccontextmanager
async def follower(
    script: Callable[[Asked], Answer], patience: WatchConfig | None = None
) -> AsyncIterator[tuple[Follower, FakeApi]]:
    async with FakeApi(script) as fake, Api(Config(server=fake.url)) as api:
        yield Follower(api, Instant(), patience or WatchConfig()), fake
