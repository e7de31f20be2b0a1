"""Who may talk to this server: the holder of its token, over loopback, and no web page.

Law: the token is compared in constant time; a Host that is not loopback (a rebound DNS name) and
an Origin that is not this server (somebody's web page) are refused before the token is looked at.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from tfjob.local import data_folder
from tfjob.local.apiserver import status

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})


def load_token(path: Path) -> str:
    """The token of a checked data folder; made at the first start."""
    if path.exists():
        token = path.read_text().strip()
        if token:
            return token
    token = secrets.token_urlsafe(32)
    data_folder.write_file(path, f"{token}\n".encode())
    return token


def check(headers: Mapping[str, str], *, path: str, token: str) -> None:
    """Refuse a request that did not come from a client of this machine that knows the token."""
    _check_host(headers.get("Host", ""))
    _check_origin(headers.get("Origin", ""))
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    is_known = scheme.lower() == "bearer" and secrets.compare_digest(
        given.strip().encode(), token.encode()
    )
    if not is_known and path.rstrip("/") not in _OPEN_PATHS:
        raise status.unauthorized()


def _check_host(host: str) -> None:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if name.lower() not in _LOOPBACK:
        raise status.forbidden(
            f"Host {host!r}: this server answers to 127.0.0.1, localhost and [::1] only; "
            "the request was refused"
        )


def _check_origin(origin: str) -> None:
    if not origin:
        return
    name = origin.partition("://")[2]
    host = name.rpartition(":")[0] if ":" in name else name
    if host.lower() not in _LOOPBACK:
        raise status.forbidden(
            f"Origin {origin!r}: requests from web pages are not answered; the request was refused"
        )
