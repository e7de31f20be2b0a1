"""Which processes descend from which, and signals to those that may be gone.

Its law: a process that ends while we look is no fault. One process per container loads this, so it
rests on cheap parts of the standard library alone.
"""

import os
import sys


def read_file(path: str) -> bytes:
    """The first 4 KiB of a file, which is all of those we read."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def parents() -> dict[int, int]:
    """Each process of this machine with its parent; empty where there is no /proc."""
    found = {}
    for entry in os.listdir("/proc") if sys.platform == "linux" else []:  # noqa: PTH208 - cheaper
        if entry.isdigit():
            try:
                text = read_file(f"/proc/{entry}/stat")
            except OSError:
                continue  # it ended while we looked
            found[int(entry)] = int(text[text.rindex(b")") + 2 :].split()[1])
    return found


def descendants(root: int, parent_of: dict[int, int]) -> list[int]:
    """Every process below `root`, nearest first."""
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
    """A signal to a process (or, negative, to a group) that may be gone already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    except PermissionError:
        return  # it changed its user; the kernel will not let us, and nobody else here could
