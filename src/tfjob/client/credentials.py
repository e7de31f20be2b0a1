"""Credentials: sources of the Authorization header.

Tokens in files rotate and exec plugins return short-lived ones. So the header is requested for
each request, and a 401 renews it.
"""

import base64
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

_log: Final = logging.getLogger(__name__)
_RECHECK_SECONDS: Final = 60.0


class ConfigError(Exception):
    """The client configuration is missing or invalid."""


class NotConfiguredError(ConfigError):
    """No place has a client configuration."""


class Credentials(Protocol):
    """A source of Authorization headers."""

    async def header(self) -> str | None:
        """The current header; None to send none."""
        ...

    def renew(self, refused: str | None) -> bool:
        """Called after the server refused a header; whether a different one may be available."""
        ...


class StaticHeader:
    """A fixed header, or none."""

    def __init__(self, header: str | None = None) -> None:
        self._header = header

    async def header(self) -> str | None:
        return self._header

    def renew(self, refused: str | None) -> bool:
        return self._header != refused


def bearer(token: str) -> StaticHeader:
    return StaticHeader(f"Bearer {token.strip()}")


def basic(username: str, password: str) -> StaticHeader:
    return StaticHeader("Basic " + base64.b64encode(f"{username}:{password}".encode()).decode())


class AuthorityFile:
    """A CA file that is rotated.

    New certificates are added to the TLS context and apply to new connections. Old ones stay
    trusted until the process ends.
    """

    def __init__(self, path: Path, context: ssl.SSLContext) -> None:
        self._path = path
        self._context = context
        self._modified = path.stat().st_mtime_ns

    def refresh(self) -> None:
        """Load the file again if it has changed. If that fails, it is retried later."""
        try:
            modified = self._path.stat().st_mtime_ns
            if modified != self._modified:
                self._context.load_verify_locations(cafile=self._path)
                self._modified = modified
        except OSError as fault:
            _log.warning(
                "reading the CA file failed, the previous one stays in use",
                extra={"file": str(self._path), "fault": str(fault)},
            )


class TokenFile:
    """A token file that is rotated: checked once a minute, and after each 401.

    The CA file is checked at the same time.
    """

    def __init__(
        self,
        path: Path,
        *,
        authority: "AuthorityFile | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._authority = authority
        self._clock = clock
        self._modified = 0
        self._checked_at = clock()
        self._header = self._read()

    async def header(self) -> str | None:
        if self._clock() - self._checked_at >= _RECHECK_SECONDS:
            self._refresh()
        return self._header

    def renew(self, refused: str | None) -> bool:
        self._modified = 0
        self._refresh()
        return self._header != refused

    def _refresh(self) -> None:
        """Read the file if it has changed. While it is missing, the last token stays in use."""
        self._checked_at = self._clock()
        if self._authority is not None:
            self._authority.refresh()
        try:
            if self._path.stat().st_mtime_ns != self._modified:
                self._header = self._read()
        except (OSError, ConfigError):
            self._modified = 0

    def _read(self) -> str:
        try:
            self._modified = self._path.stat().st_mtime_ns
            token = self._path.read_text(encoding="utf-8").strip()
        except OSError as fault:
            raise ConfigError(
                f"token file {self._path}: a readable file is needed, got: {fault.strerror}"
            ) from fault
        if not token:
            raise ConfigError(f"token file {self._path}: a token is needed, the file is empty")
        return f"Bearer {token}"
