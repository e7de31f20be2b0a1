"""Descendants of processes, and signals to processes that may be gone.

Every supervisor process imports this module, so it uses only cheap parts of the standard library.
"""

import os
import sys


def read_file(path: str) -> bytes:
    """The first 4 KiB of a file, enough for those we read."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def parents() -> dict[int, int]:
    """The parent of every process; empty without /proc."""
    found = {}
    for entry in os.listdir("/proc") if sys.platform == "linux" else []:  # noqa: PTH208 - cheaper
        if entry.isdigit():
            try:
                text = read_file(f"/proc/{entry}/stat")
            except OSError:
                continue  # it exited meanwhile
            found[int(entry)] = int(text[text.rindex(b")") + 2 :].split()[1])
    return found


def descendants(root: int, parent_of: dict[int, int]) -> list[int]:
    """All descendants of `root`, nearest first."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_of.items():
        children.setdefault(parent, []).append(pid)
    found, queue = [], list(children.get(root, ()))
    while queue:
        pid = queue.pop(0)
        found.append(pid)
        queue.extend(children.get(pid, ()))
    return found


def send(pid: int, number: int) -> None:
    """Signal a process (or, if negative, a group) that may be gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        return  # it changed its user, so we may not signal it
