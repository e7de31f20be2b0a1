"""One thing to ask an API server for, as data, and what it means when no answer comes."""

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import aiohttp
import msgspec

from tfjob.client import errors
from tfjob.client.pool import NotConnectedError

NETWORK_FAULTS: Final = (aiohttp.ClientError, OSError, TimeoutError)
_NOT_CONNECTED: Final = (
    NotConnectedError,
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How patient and how parallel a client is; times in seconds."""

    connections: int = 100
    timeout: float = 30.0
    connect_timeout: float = 10.0
    tries: int = 6
    longest_wait: float = 60.0
    user_agent: str = "tfjob"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to ask for, as data."""

    verb: str
    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    content_type: str = "application/json"
    is_repeatable: bool = True
    may_send: Callable[[], bool] | None = None
    """Asked right before each attempt; no ends the request with NotLeadingError."""

    def check(self) -> None:
        if self.may_send is not None and not self.may_send():
            raise errors.NotLeadingError(f"{self.title}: not sent, this operator no longer leads")

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"


def own_headers(tuning: ClientConfig) -> dict[str, str]:
    """What every request says of itself."""
    return {
        "User-Agent": tuning.user_agent,
        "Accept": "application/json, */*",
        # Compression costs a server more than the bytes cost a cluster's network.
        "Accept-Encoding": "identity",
    }


def resource_in(path: str) -> str:
    """The plural that a path is about, for counting; `other` for what is not an API path."""
    parts = path.split("/")
    start = {"api": 3, "apis": 4}.get(parts[1] if len(parts) > 1 else "")
    if start is None or len(parts) <= start:
        return "other"
    if parts[start] == "namespaces" and len(parts) > start + 2:
        return parts[start + 2]
    return parts[start]


def query(params: Mapping[str, str]) -> str:
    """Parameters in the form they have in a URL."""
    return f"?{urlencode(params)}" if params else ""


def failure(fault: Exception, title: str) -> errors.ApiError:
    """What a failure of the network means for the request."""
    if isinstance(fault, _NOT_CONNECTED):
        return errors.Unreachable(f"no connection: {fault}", request=title)
    what = f"no complete answer ({str(fault) or type(fault).__name__})"
    if not title.startswith("GET "):
        what += "; it may or may not have been carried out"
    return errors.ServerTimeout(what, request=title)
