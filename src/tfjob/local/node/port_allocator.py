"""Maps ports of pods to ports of this machine.

A (namespace, name, port) always has the same local port, whether the pod or a peer needs it first,
so that both ends agree. All names of a pod share one local port. A port that another program uses
is never allocated.
"""

import errno
import fcntl
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from tfjob.k8s.nesting import UNREADABLE
from tfjob.local.data_folder import DataFolderError, open_file, write_file

FIRST_PORT = 20000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
DEFAULT_EPHEMERAL = 32768


class NoPortError(Exception):
    """No local port is left."""


class PortLocks:
    """Keeps two nodes on one machine from choosing the same port; a lock ends with its process."""

    def __init__(self, path: Path | None = None) -> None:
        shared = Path(tempfile.gettempdir()) / f"tfjob-ports-{os.getuid()}.lock"
        try:
            self._fd = open_file(path or shared, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise DataFolderError(
                f"{path or shared}: cannot be used to share ports with other clusters: "
                f"{error.strerror}; remove it, or name another folder for such files in TMPDIR"
            ) from error

    def hold(self, port: int) -> bool:
        """Lock the port for this process; False if another process has it."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        return True

    def release(self, port: int) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, port)

    def close(self) -> None:
        """Release all locks; may be called again."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


class PortAllocator:
    """The allocated ports, stored in a file."""

    def __init__(
        self,
        path: Path,
        *,
        locks: PortLocks,
        is_free: Callable[[int], bool] | None = None,
        ports: range | None = None,
    ) -> None:
        self._path, self._locks = path, locks
        self._is_free = is_free or is_port_free
        self._ports = ports or range(FIRST_PORT, first_ephemeral_port())
        self._table = _read(path)
        self._held: set[int] = set()

    def claim(self, namespace: str, names: Sequence[str], port: int) -> int:
        """The local port of a pod with these names, its own name first."""
        keys = [f"{namespace}/{name}/{port}" for name in names]
        known = next((self._table[key] for key in keys if key in self._table), None)
        local = known if known is not None and self._hold(known) else self._allot(port)
        return self._remember(keys, local)

    def renew(self, namespace: str, names: Sequence[str], port: int) -> int:
        """As `claim`, but replace a port that another program listens on."""
        local = self.claim(namespace, names, port)
        if self._is_free(local):
            return local
        keys = [f"{namespace}/{name}/{port}" for name in names]
        return self._remember(keys, self._allot(port))

    def find(self, namespace: str, name: str, port: int) -> int | None:
        """The local port, if one was allocated."""
        return self._table.get(f"{namespace}/{name}/{port}")

    def keep(self, is_present: Callable[[str, str], bool]) -> None:
        """Release the ports of all (namespace, name) for which the predicate is false."""
        kept = {
            key: port
            for key, port in self._table.items()
            if is_present(*key.rsplit("/", 1)[0].split("/", 1))
        }
        for port in self._held - set(kept.values()):
            self._locks.release(port)
        self._held &= set(kept.values())
        self._table = kept
        self._save()

    def _remember(self, keys: Sequence[str], local: int) -> int:
        if any(self._table.get(key) != local for key in keys):
            self._table.update(dict.fromkeys(keys, local))
            self._save()
        return local

    def _hold(self, port: int) -> bool:
        if port not in self._held and self._locks.hold(port):
            self._held.add(port)
        return port in self._held

    def _allot(self, wanted: int) -> int:
        taken = set(self._table.values())
        for port in self._candidates(wanted):
            if port not in taken and port not in self._held and self._hold(port):
                if self._is_free(port):
                    return port
                self._held.discard(port)
                self._locks.release(port)
        raise NoPortError(
            f"port {wanted}: no free port is left in {self._ports.start}-{self._ports.stop - 1}; "
            "the pod waits until one is free"
        )

    def _candidates(self, wanted: int) -> Iterator[int]:
        # A program may have its containerPort built in, so that port is preferred.
        if wanted < self._ports.stop:
            yield wanted
        yield from self._ports

    def _save(self) -> None:
        write_file(self._path, msgspec.json.encode(self._table))


def _read(path: Path) -> dict[str, int]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (FileNotFoundError, *UNREADABLE):
        return {}


def first_ephemeral_port() -> int:
    """The first port that the system uses for outgoing connections."""
    try:
        return int(EPHEMERAL_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return DEFAULT_EPHEMERAL


def is_port_free(port: int) -> bool:
    """Whether a server on all addresses could bind this port now."""
    return _can_bind(socket.AF_INET, port) and _can_bind(socket.AF_INET6, port)


def _can_bind(family: socket.AddressFamily, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(("", port))
    except OSError as error:
        return error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
    return True
