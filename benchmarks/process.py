"""What a process has used, as the kernel counts it.

Law: read from outside, so that every contestant is measured by the same hand. It must not know
what the process does.
"""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of all its threads since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_memory_mb(pid: int) -> float:
    """The most memory that it ever held."""
    return _status(pid, "VmHWM:") / 1024


def memory_mb(pid: int) -> float:
    """The memory that it holds now."""
    return _status(pid, "VmRSS:") / 1024


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise LookupError(f"process {pid}: the kernel tells no {field} of it; has it ended?")
