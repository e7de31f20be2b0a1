"""The errors of API requests, as a tree of exceptions.

    ApiError                    the request failed; retrying does not help
    ├── BadRequest              400
    ├── Unauthorized            401, or no credentials could be obtained
    ├── Forbidden               403: permissions, quota, admission
    │   └── NamespaceTerminating
    ├── NotFound                404
    ├── AlreadyExists           409 on create
    ├── Conflict                409: read the object and decide again
    ├── Gone                    410: the server no longer has the requested version
    ├── Invalid                 422
    └── Transient               5xx; the same request may succeed later
        ├── TooManyRequests     429, with Retry-After; the request was not executed
        ├── Unreachable         no connection; the request was not executed
        └── ServerTimeout       no response; the request MAY have been executed
            └── IdleTimeout     an open stream received nothing for too long

`is_retryable` says whether the same request may succeed later. `message` is the server's text.
"""

# ruff: noqa: N818 - the classes are named after the reasons Kubernetes gives

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from tfjob.k8s.nesting import UNREADABLE

_MAX_TEXT: Final = 1000
_MAX_MESSAGE: Final = 4096
_MAX_RETRY_AFTER: Final = 86_400
"""The longest Retry-After in seconds that is accepted from a server."""
_MAX_DIGITS: Final = 9


class Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """The details of a Kubernetes Status."""

    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0

    def has_cause(self, reason: str) -> bool:
        return any(cause.reason == reason for cause in self.causes or ())


class Status(msgspec.Struct, frozen=True):
    """The fields of a Kubernetes Status that errors use."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


class ApiError(Exception):
    """A request failed; `message` is the API server's text."""

    is_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        details: Details | None = None,
        request: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.details = details or Details()
        self.request = request

    def __str__(self) -> str:
        answer = " ".join(part for part in (str(self.status or ""), self.reason) if part)
        return ": ".join(part for part in (self.request, answer, self.message) if part)


class NotLeadingError(Exception):
    """A write was not sent because this process is no longer the leader."""


class BadRequest(ApiError):
    """The server did not understand the request."""


class Unauthorized(ApiError):
    """The server rejected the credentials, or none could be obtained."""


class Forbidden(ApiError):
    """Permissions, a quota or an admission rule refused the request."""


class NamespaceTerminating(Forbidden):
    """The namespace is being deleted: nothing can be created in it."""


class NotFound(ApiError):
    """The object, or the whole resource, does not exist."""


class AlreadyExists(ApiError):
    """An object of this name exists."""


class Conflict(ApiError):
    """The object has changed since it was read, or a precondition failed."""


class Gone(ApiError):
    """The resourceVersion or continue token has expired."""


class Invalid(ApiError):
    """The object failed validation."""


class Transient(ApiError):
    """A temporary failure: the same request may succeed later."""

    is_retryable: ClassVar[bool] = True


class TooManyRequests(Transient):
    """The server asks to retry later; the request was not executed."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, or None if the server gave no time."""
        return float(self.details.retry_after_seconds) or None


class Unreachable(Transient):
    """No connection could be made: the request was not executed."""


class ServerTimeout(Transient):
    """There was no response: the request may or may not have been executed."""


class IdleTimeout(ServerTimeout):
    """An open stream received no data in time."""


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    408: ServerTimeout,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
    504: ServerTimeout,
}
_BY_REASON: Final[dict[str, type[ApiError]]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Gone,
    "Gone": Gone,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
}

_decode_status: Final[Callable[[bytes], Status]] = msgspec.json.Decoder(Status).decode


def from_response(
    status: int, body: bytes, *, request: str = "", retry_after: str | None = None
) -> ApiError:
    """The error for an HTTP response, whatever its body."""
    answer = _status_of(status, body)
    details = answer.details or Details()
    seconds = details.retry_after_seconds or _seconds(retry_after)
    seconds = max(0, min(seconds, _MAX_RETRY_AFTER))
    return from_status(
        msgspec.structs.replace(
            answer, details=msgspec.structs.replace(details, retry_after_seconds=seconds)
        ),
        request=request,
    )


def from_status(status: Status, *, request: str = "") -> ApiError:
    """The error for a Kubernetes Status, from a response or from an ERROR event of a watch."""
    return _class_of(status)(
        _truncated(status.message),
        status=status.code,
        reason=status.reason,
        details=status.details,
        request=request,
    )


def _truncated(message: str) -> str:
    """A server repeats refused values in its message, which a tenant can make very long."""
    if len(message) <= _MAX_MESSAGE:
        return message
    return f"{message[: _MAX_MESSAGE - 1]}…"


def _class_of(status: Status) -> type[ApiError]:
    if status.details and status.code == 403 and status.details.has_cause("NamespaceTerminating"):
        return NamespaceTerminating
    by_status = Transient if status.code >= 500 else ApiError
    return _BY_REASON.get(status.reason) or _BY_STATUS.get(status.code, by_status)


def _status_of(code: int, body: bytes) -> Status:
    """The body as a Status. Proxies send HTML, text or nothing; that becomes the message."""
    try:
        answer = _decode_status(body)
    except UNREADABLE:
        answer = Status()
    if answer.kind == "Status":
        return msgspec.structs.replace(answer, code=code)
    text = body.decode(errors="replace").strip()[:_MAX_TEXT]
    return Status(code=code, message=text or f"HTTP {code} with an empty body")


def _seconds(header: str | None) -> int:
    """Retry-After in seconds, as Kubernetes sends it; the date form is ignored."""
    text = (header or "").strip()
    return int(text[:_MAX_DIGITS]) if text.isascii() and text.isdigit() else 0
