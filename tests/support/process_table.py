"""The processes of one local cluster on this machine, read from /proc.

They are recognised by an environment variable that all of them inherit, so that no other process is
seen or killed. Linux only.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLUSTER = "TFJOB_TEST_WORLD"
CONTAINER = "TFJOB_CONTAINER"
PROC = Path("/proc")
_LISTEN = "0A"


@dataclass(frozen=True)
class Process:
    """A process, identified by PID and start time."""

    pid: int
    parent: int
    since: int
    run: str
    """Which run of which container it belongs to; empty for the cluster's own."""
    host: str
    """The pod's name, from the container's environment."""

    @property
    def is_alive(self) -> bool:
        return (found := _stat(self.pid)) is not None and found[1] == self.since

    def kill(self) -> bool:
        """Send SIGKILL to this very process; False if it has ended."""
        if not self.is_alive:
            return False
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def processes(cluster: str) -> list[Process]:
    """Every live process of a cluster."""
    return list(_carriers(f"{CLUSTER}={cluster}".encode()))


def supervisors(found: list[Process]) -> list[Process]:
    """The processes that watch over containers: in a run, and started by none of it."""
    runs = {each.pid: each.run for each in found if each.run}
    return [each for each in found if each.run and runs.get(each.parent) != each.run]


def replicas(found: list[Process]) -> list[Process]:
    """The first process of every container."""
    watching = {each.pid for each in supervisors(found)}
    return [each for each in found if each.parent in watching]


def twice(found: list[Process]) -> list[Process]:
    """Replicas of one pod's name that run at the same time; looked at twice to be sure."""
    by_host: dict[str, list[Process]] = {}
    for each in replicas(found):
        by_host.setdefault(each.host, []).append(each)
    crowds = [crowd for crowd in by_host.values() if len(crowd) > 1]
    return [each for crowd in crowds if all(one.is_alive for one in crowd) for each in crowd]


def listeners(ports: set[int]) -> dict[int, set[int]]:
    """The ports that a process listens on, with the process."""
    sockets = dict(_listening(ports))
    found: dict[int, set[int]] = {port: set() for port in sockets.values()}
    for entry in PROC.glob("[0-9]*/fd/*") if sockets else ():
        try:
            target = str(entry.readlink())
        except OSError:
            continue  # it was closed while we looked
        if target in sockets:
            found[sockets[target]].add(int(entry.parts[2]))
    return found


def _listening(ports: set[int]) -> Iterator[tuple[str, int]]:
    for table in (PROC / "net" / "tcp", PROC / "net" / "tcp6"):
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            port = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == _LISTEN and port in ports:
                yield f"socket:[{fields[9]}]", port


def _carriers(mark: bytes) -> Iterator[Process]:
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended, or belongs to somebody else
        stat = _stat(int(entry.name)) if mark in variables else None
        if stat is not None:
            known = dict(each.decode(errors="replace").partition("=")[::2] for each in variables)
            run, host = known.get(CONTAINER, ""), known.get("HOSTNAME", "")
            yield Process(pid=int(entry.name), parent=stat[0], since=stat[1], run=run, host=host)


def _stat(pid: int) -> tuple[int, int] | None:
    """The parent and the start of a process; None if it has ended."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else (int(fields[1]), int(fields[19]))
