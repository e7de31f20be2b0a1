"""Finds the addresses that the processes of a container listen on.

Reads /proc; without it nothing is found and nothing is reported.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from tfjob.local.node.process_poller import ProcessPoller
from tfjob.local.node.process_tree import descendants, parents

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = "0A"
_IPV6_LOOPBACK = "00000000000000000000000001000000"


class Address(NamedTuple):
    """Where a client on this machine can connect."""

    host: str
    port: int


OnListening = Callable[[tuple[Address, ...]], None]


class _Watched(msgspec.Struct):
    on_change: OnListening
    addresses: tuple[Address, ...] = ()


def has_proc_net() -> bool:
    """Whether this system has /proc/net."""
    return Path(TABLES[0]).exists()


def listening(pids: Iterable[int], sockets: Mapping[str, Address]) -> tuple[Address, ...]:
    """The addresses of these processes in order; those of one process by port."""
    found: dict[Address, None] = {}
    for pid in pids:
        own = {sockets[inode] for inode in _inodes(pid) if inode in sockets}
        found |= dict.fromkeys(sorted(own, key=lambda address: address.port))
    return tuple(found)


def open_sockets() -> dict[str, Address]:
    """All sockets that accept connections from this machine, by inode."""
    found: dict[str, Address] = {}
    for table in TABLES:
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue  # no such protocol on this machine
        for words in map(str.split, lines):
            address = _address(words[1]) if words[3] == _LISTENING else None
            if address is not None:
                found[words[9]] = address
    return found


def _address(text: str) -> Address | None:
    """The address, if it is loopback or the wildcard; else None."""
    host, _, port = text.partition(":")
    if host == _IPV6_LOOPBACK:
        return Address("::1", int(port, 16))
    # Addresses are in host byte order: 127.x.y.z ends with 7F, also as an IPv4-mapped address.
    if set(host) == {"0"} or host.endswith("7F"):
        return Address("127.0.0.1", int(port, 16))
    return None


def _inodes(pid: int) -> Iterator[str]:
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return  # it exited meanwhile
    for entry in entries:
        try:
            target = str(entry.readlink())
        except OSError:
            continue  # it was closed meanwhile
        if target.startswith("socket:["):
            yield target[8:-1]


class SocketPoller(ProcessPoller[_Watched]):
    """Reports when the addresses of a container change."""

    def __init__(self, *, interval: float = 0.5, calm_interval: float = 2.0) -> None:
        super().__init__()
        self._interval, self._calm_interval = interval, calm_interval

    def watch(self, pid: int, on_change: OnListening) -> None:
        """Watch all descendants of this process."""
        self.add(pid, _Watched(on_change))

    def interval(self) -> float:
        is_calm = all(one.addresses for one in self._watched.values())
        return self._calm_interval if is_calm else self._interval

    async def poll(self) -> None:
        """Poll once and report every container whose addresses changed."""
        for pid, addresses in (await asyncio.to_thread(_look, list(self._watched))).items():
            watched = self._watched.get(pid)
            if watched is not None and watched.addresses != addresses:
                watched.addresses = addresses
                watched.on_change(addresses)


def _look(roots: list[int]) -> dict[int, tuple[Address, ...]]:
    parent_of, sockets = parents(), open_sockets()
    return {root: listening(descendants(root, parent_of), sockets) for root in roots}
