"""Compares the memory of containers with their limits.

Only memory that cannot be reclaimed counts (anonymous and shared, shared pages once). A container
over its limit is reported once. Without /proc nothing is watched.
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


def memory_upper_bound(pids: Iterable[int]) -> int:
    """Bytes held by these processes, shared pages counted for each: an upper bound."""
    return sum(_sum_of(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:")) for pid in pids)


def memory_of(pids: Iterable[int]) -> int:
    """Bytes held by these processes, shared pages counted once; slower."""
    return sum(_sum_of(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in pids)


def _sum_of(path: str, names: tuple[str, ...]) -> int:
    try:
        text = Path(path).read_text()
    except OSError:
        return 0  # it exited meanwhile
    lines = [line.split() for line in text.splitlines()]
    return sum(int(words[1]) * 1024 for words in lines if words and words[0] in names)


class OomWatcher(ProcessPoller[_Watched]):
    """Reports containers that exceed their memory limit."""

    def __init__(self, *, interval: float = 0.5) -> None:
        super().__init__()
        self._interval = interval

    def watch(self, pid: int, *, limit: int, on_exceeded: Callable[[], None]) -> None:
        """Watch all descendants of this process."""
        self.add(pid, _Watched(limit, on_exceeded))

    def interval(self) -> float:
        return self._interval

    async def poll(self) -> None:
        """Check once and report every container over its limit."""
        limits = {pid: watched.limit for pid, watched in self._watched.items()}
        for pid in await asyncio.to_thread(_over_limit, limits):
            watched = self._watched.pop(pid, None)
            if watched is not None:
                watched.on_exceeded()


def _over_limit(limits: dict[int, int]) -> list[int]:
    parent_of = parents()
    found = []
    for root, limit in limits.items():
        pids = descendants(root, parent_of)
        if memory_upper_bound(pids) > limit and memory_of(pids) > limit:
            found.append(root)
    return found
