"""Encodes HTTP/1.1 requests.

Headers common to all requests are encoded once. Control characters in paths, headers and tokens
are refused, so that nobody can inject a header.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from tfjob.client.credentials import ConfigError

_LINE_BREAKER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class RequestEncoder:
    """Encodes the requests to one server."""

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
