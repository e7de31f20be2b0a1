"""Loopback ports that no other test process takes.

A port is below the range of outgoing connections, was free when it was taken, and stays reserved by
a lock file until it is released.
"""

import fcntl
import os
import secrets
import socket
import tempfile
from pathlib import Path
from typing import IO

LOOPBACK = "127.0.0.1"
_FIRST, _LAST = 20000, 29999
_ATTEMPTS = 200


class Ports:
    """A handful of reserved ports; release() gives them all back."""

    def __init__(self, folder: Path | None = None) -> None:
        shared = Path(tempfile.gettempdir()) / f"tfjob-test-ports-{os.getuid()}"
        self._folder = folder if folder is not None else shared
        self._folder.mkdir(exist_ok=True)
        self._locks: list[IO[str]] = []

    def take(self) -> int:
        """Reserve one port that is free now."""
        for _ in range(_ATTEMPTS):
            port = _FIRST + secrets.randbelow(_LAST - _FIRST + 1)
            if self.reserve(port):
                return port
        raise OSError(
            f"ports {_FIRST} to {_LAST} on {LOOPBACK}: none of {_ATTEMPTS} tried at random is "
            "free; end what listens there and try again"
        )

    def reserve(self, port: int) -> bool:
        """Reserve this very port, if nobody else has reserved it and nobody listens on it."""
        lock = (self._folder / str(port)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        if not _is_free(port):
            lock.close()
            return False
        self._locks.append(lock)
        return True

    def release(self) -> None:
        """Give every port back."""
        while self._locks:
            self._locks.pop().close()


def _is_free(port: int) -> bool:
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError:
        return False
    return True
