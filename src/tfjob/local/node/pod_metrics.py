"""CPU and memory of the pods on this node, from /proc.

CPU is measured over a short window. Processes that end within the window are missing from it.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tfjob.local.node.checkpoint import PodRecord, Running, load
from tfjob.local.node.oom_watcher import memory_upper_bound
from tfjob.local.node.process_tree import descendants, parents, read_file

Json = dict[str, Any]
_WINDOW: Final = 0.5


class PodMetrics:
    """Measures the pods below the node's folder of pods."""

    def __init__(self, pods_folder: Path, *, window: float = _WINDOW) -> None:
        self._root, self._window = pods_folder, window

    async def measure(self, pods: Sequence[Mapping[str, Any]]) -> list[Json]:
        """The usage of every container that runs, by pod."""
        found = [load(self._root, str(pod["metadata"]["uid"])) for pod in pods]
        records = [each for each in found if each is not None and _running(each)]
        supervisors = [pid for record in records for pid in _running(record).values()]
        before = _cpu_seconds(supervisors)
        await asyncio.sleep(self._window if supervisors else 0)
        parent_of = parents()
        after = _cpu_seconds(supervisors)
        usages = {
            pid: {
                "cpu": _cores(after[pid] - before[pid], self._window),
                "memory": f"{memory_upper_bound(descendants(pid, parent_of)) // 1024}Ki",
            }
            for pid in supervisors
        }
        return [_measured(record, usages, window=self._window) for record in records]


def _measured(record: PodRecord, usages: Mapping[int, Json], *, window: float) -> Json:
    containers = [{"name": name, "usage": usages[pid]} for name, pid in _running(record).items()]
    return {"uid": record.uid, "window": f"{window}s", "containers": containers}


def _running(record: PodRecord) -> dict[str, int]:
    """The supervisors of the containers that run, by container."""
    return {
        each.name: each.pid
        for each in record.containers
        if isinstance(each.state, Running) and each.pid
    }


def _cores(seconds: float, window: float) -> str:
    return f"{max(round(seconds / window * 1000), 0)}m"


def _cpu_seconds(supervisors: Sequence[int]) -> dict[int, float]:
    """CPU time of all processes below each supervisor."""
    parent_of = parents()
    tick = os.sysconf("SC_CLK_TCK")
    return {pid: sum(map(_ticks, descendants(pid, parent_of))) / tick for pid in set(supervisors)}


def _ticks(pid: int) -> int:
    try:
        text = read_file(f"/proc/{pid}/stat")
    except OSError:
        return 0  # it exited meanwhile
    fields = text[text.rindex(b")") + 2 :].split()
    return int(fields[11]) + int(fields[12])
