"""API requests as data and as HTTP/1.1 text, client settings, and the errors for failed requests.

Control characters in paths, headers and tokens are refused, so that nobody can inject a header.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec

from tfjob.client import errors
from tfjob.client.connection import MAX_BYTES
from tfjob.client.credentials import ConfigError
from tfjob.client.pool import NotConnectedError

NETWORK_ERRORS: Final = (aiohttp.ClientError, OSError, TimeoutError)
_NOT_CONNECTED: Final = (
    NotConnectedError,
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
_LINE_BREAKER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a client; times in seconds."""

    connections: int = 100
    timeout: float = 30.0
    connect_timeout: float = 10.0
    max_attempts: int = 6
    max_wait: float = 60.0
    user_agent: str = "tfjob"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One API request. `timeout` and `max_attempts` override those of the client."""

    verb: str
    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    content_type: str = "application/json"
    is_repeatable: bool = True
    max_bytes: int = MAX_BYTES
    """A response with a longer body is not read to its end, and is an error."""
    timeout: float | None = None
    max_attempts: int | None = None
    may_send: Callable[[], bool] | None = None
    """Checked before each attempt; False raises NotLeadingError."""

    def check(self) -> None:
        if self.may_send is not None and not self.may_send():
            raise errors.NotLeadingError(f"{self.title}: not sent, no longer the leader")

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"


def default_headers(tuning: ClientConfig) -> dict[str, str]:
    """The headers of every request."""
    return {
        "User-Agent": tuning.user_agent,
        "Accept": "application/json, */*",
        # Compression costs the server more than it saves within a cluster.
        "Accept-Encoding": "identity",
    }


def resource_in(path: str) -> str:
    """The resource in a path, for metrics; `other` if it is not an API path."""
    parts = path.split("/")
    start = {"api": 3, "apis": 4}.get(parts[1] if len(parts) > 1 else "")
    if start is None or len(parts) <= start:
        return "other"
    if parts[start] == "namespaces" and len(parts) > start + 2:
        return parts[start + 2]
    return parts[start]


def query(params: Mapping[str, str]) -> str:
    """Encode parameters as a query string."""
    return f"?{urlencode(params)}" if params else ""


def network_error(fault: Exception, title: str) -> errors.ApiError:
    """The ApiError for a network error."""
    if isinstance(fault, _NOT_CONNECTED):
        return errors.Unreachable(f"no connection: {fault}", request=title)
    what = f"no complete response ({str(fault) or type(fault).__name__})"
    if not title.startswith("GET "):
        what += "; the request may or may not have been executed"
    return errors.ServerTimeout(what, request=title)


class RequestEncoder:
    """Encodes the requests to one server. Headers common to all of them are encoded once."""

    def __init__(self, server: str, headers: Sequence[tuple[str, str]]) -> None:
        parts = urlsplit(server)
        self._root = parts.path.rstrip("/")
        host = parts.netloc.rpartition("@")[2]
        lines = [f"{name}: {value}" for name, value in (("Host", host), *headers)]
        for line in lines:
            _check(line)
        self._shared = "".join(f"{line}\r\n" for line in lines)

    def encode(
        self,
        method: str,
        target: str,
        *,
        authorization: str | None = None,
        content_type: str = "",
        body: bytes | None = None,
    ) -> bytes:
        own = "" if authorization is None else f"Authorization: {authorization}"
        _check(f"{target}{own}")
        text = f"{method} {self._root}{target} HTTP/1.1\r\n{self._shared}"
        if own:
            text += f"{own}\r\n"
        if body is None:
            return f"{text}\r\n".encode()
        text += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        return text.encode() + body


def _check(text: str) -> None:
    if _LINE_BREAKER.search(text):
        name = text.partition(":")[0][:40]
        raise ConfigError(
            f"{name!r}: paths, headers and tokens must not contain control characters; "
            "the request was not sent"
        )
