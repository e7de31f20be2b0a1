"""Watches how much memory the processes of a container hold together.

Its law: what counts is what cannot be given back (anonymous and shared memory, shared pages once);
who holds more than its limit is reported once. On systems without /proc nothing is watched.
It must not know what happens to a container that holds too much.
"""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from tfjob.local.node.process_poller import ProcessPoller
from tfjob.local.node.process_tree import descendants, parents


class _Watched(msgspec.Struct, frozen=True):
    limit: int
    on_exceeded: Callable[[], None]


def held_at_most(pids: Iterable[int]) -> int:
    """Bytes held by these processes, pages they share counted for each: never too little."""
    return sum(_sum_of(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:")) for pid in pids)


def held(pids: Iterable[int]) -> int:
    """Bytes held by these processes, each shared page counted once; costs more to find out."""
    return sum(_sum_of(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in pids)


def _sum_of(path: str, names: tuple[str, ...]) -> int:
    try:
        text = Path(path).read_text()
    except OSError:
        return 0  # it ended while we looked
    lines = [line.split() for line in text.splitlines()]
    return sum(int(words[1]) * 1024 for words in lines if words and words[0] in names)


class OomWatcher(ProcessPoller[_Watched]):
    """Compares containers with their limits."""

    def __init__(self, *, interval: float = 0.5) -> None:
        super().__init__()
        self._interval = interval

    def watch(self, pid: int, *, limit: int, on_exceeded: Callable[[], None]) -> None:
        """Watches everything below this process."""
        self.add(pid, _Watched(limit, on_exceeded))

    def pause(self) -> float:
        return self._interval

    async def look(self) -> None:
        """Looks once, and reports each container that holds too much."""
        limits = {pid: watched.limit for pid, watched in self._watched.items()}
        for pid in await asyncio.to_thread(_beyond, limits):
            watched = self._watched.pop(pid, None)
            if watched is not None:
                watched.on_exceeded()


def _beyond(limits: dict[int, int]) -> list[int]:
    parent_of = parents()
    found = []
    for root, limit in limits.items():
        pids = descendants(root, parent_of)
        if held_at_most(pids) > limit and held(pids) > limit:
            found.append(root)
    return found
