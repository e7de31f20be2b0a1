"""Finds containers that do nothing: no output, and next to no CPU time.

A container is idle after a time that a pod can set; 0 turns it off. It is reported when it becomes
idle and when it works again. Without /proc nothing is watched.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from tfjob.local.node.process_poller import ProcessPoller
from tfjob.local.node.process_tree import descendants, parents, read_file

Json = Mapping[str, Any]
IDLE_AFTER: Final = "tfjob.dev/idle-after-seconds"
"""An annotation of a pod."""
DEFAULT_SECONDS: Final = 600.0
_INTERVAL: Final = 2.0
_MOST_CPU: Final = 0.01
"""The share of one CPU that an idle process may use: servers poll their sockets."""
_MAX_DIGITS: Final = 9


class Activity(msgspec.Struct, frozen=True):
    """What a container has done so far."""

    cpu_seconds: float
    output_time: float


class _Watched(msgspec.Struct):
    log: Path
    after: float
    on_change: Callable[[datetime | None], None]
    since: datetime | None = None
    """When it was last seen to work."""
    then: Activity | None = None
    is_idle: bool = False


def idle_after(pod: Json) -> float:
    """Seconds without work after which a container of the pod is idle; 0 for never."""
    text = str(((pod.get("metadata") or {}).get("annotations") or {}).get(IDLE_AFTER, ""))
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return float(text) if is_number else DEFAULT_SECONDS


class IdleWatcher(ProcessPoller[_Watched]):
    """Reports since when a container is idle, and None when it works again."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._clock = clock

    def watch(
        self, pid: int, *, log: Path, after: float, on_change: Callable[[datetime | None], None]
    ) -> None:
        """Watch all descendants of this process, and the file with their output."""
        if after and sys.platform == "linux":
            self.add(pid, _Watched(log, after, on_change))

    def interval(self) -> float:
        return _INTERVAL

    async def poll(self) -> None:
        logs = {pid: watched.log for pid, watched in self._watched.items()}
        found = await asyncio.to_thread(_activities, logs)
        now = self._clock()
        for pid, activity in found.items():
            watched = self._watched.get(pid)
            if watched is not None:
                _compare(watched, activity, now=now)


def _compare(watched: _Watched, found: Activity, *, now: datetime) -> None:
    then, since = watched.then, watched.since
    if then is None or since is None or _has_worked(then, found, (now - since).total_seconds()):
        watched.then, watched.since = found, now
        if watched.is_idle:
            watched.is_idle = False
            watched.on_change(None)
    elif not watched.is_idle and (now - since).total_seconds() >= watched.after:
        watched.is_idle = True
        watched.on_change(since)


def _has_worked(then: Activity, found: Activity, seconds: float) -> bool:
    if found.output_time != then.output_time:
        return True
    return found.cpu_seconds - then.cpu_seconds > max(_MOST_CPU * seconds, _MOST_CPU)


def _activities(logs: Mapping[int, Path]) -> dict[int, Activity]:
    parent_of = parents()
    return {
        root: Activity(_cpu_seconds(descendants(root, parent_of)), _changed_at(log))
        for root, log in logs.items()
    }


def _cpu_seconds(pids: list[int]) -> float:
    """CPU time of processes and of their children that have ended."""
    ticks = 0
    for pid in pids:
        try:
            text = read_file(f"/proc/{pid}/stat")
        except OSError:
            continue  # it exited meanwhile
        ticks += sum(map(int, text[text.rindex(b")") + 2 :].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _changed_at(log: Path) -> float:
    try:
        return log.stat().st_mtime
    except OSError:
        return 0.0  # nothing was written yet
