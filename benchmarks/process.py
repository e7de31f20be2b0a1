"""CPU and memory usage of a process, from /proc.

Read from outside, so that all contestants are measured in the same way.
"""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads since the process started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_memory_mb(pid: int) -> float:
    """Peak resident memory."""
    return _status(pid, "VmHWM:") / 1024


def memory_mb(pid: int) -> float:
    """Current resident memory."""
    return _status(pid, "VmRSS:") / 1024


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise LookupError(f"process {pid}: no {field} in /proc; has it ended?")
