"""Who we are, as an Authorization header.

Credentials change while we run: tokens in files rotate, plugins hand out short-lived ones.
So the header is asked for at each request, and a 401 sends us back for a new one.
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
    """The settings do not say how to reach a cluster, or say it wrongly."""


class Credentials(Protocol):
    """A source of Authorization headers."""

    async def header(self) -> str | None:
        """The header to send now; None to send none."""
        ...

    def renew(self, refused: str | None) -> bool:
        """The server refused this header: is it worth asking for another one?"""
        ...


class Fixed:
    """A header that never changes, or none at all."""

    def __init__(self, header: str | None = None) -> None:
        self._header = header

    async def header(self) -> str | None:
        return self._header

    def renew(self, refused: str | None) -> bool:
        return self._header != refused


def bearer(token: str) -> Fixed:
    return Fixed(f"Bearer {token.strip()}")


def basic(username: str, password: str) -> Fixed:
    return Fixed("Basic " + base64.b64encode(f"{username}:{password}".encode()).decode())


class AuthorityFile:
    """Certificates of an authority that somebody else rewrites.

    New ones are added to what a context trusts, for every connection from then on. Old ones stay
    trusted for as long as the process runs.
    """

    def __init__(self, path: Path, context: ssl.SSLContext) -> None:
        self._path = path
        self._context = context
        self._modified = path.stat().st_mtime_ns

    def refresh(self) -> None:
        """Read the file again if it has changed; one that cannot be read is tried again later."""
        try:
            modified = self._path.stat().st_mtime_ns
            if modified != self._modified:
                self._context.load_verify_locations(cafile=self._path)
                self._modified = modified
        except OSError as fault:
            _log.warning(
                "certificate authority not read again; the former one stays",
                extra={"file": str(self._path), "fault": str(fault)},
            )


class TokenFile:
    """A token that somebody else rewrites: looked at once a minute, and after each refusal.

    The authority that is mounted beside it is looked at then, too.
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
        """Keep the last token while the file is away: a rotation replaces it by rename."""
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
