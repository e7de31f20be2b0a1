"""What an API server can answer instead of success, as a tree of exceptions.

    ApiError                    the server said no; asking again changes nothing
    ├── BadRequest              400
    ├── Unauthorized            401, or the credentials could not be had
    ├── Forbidden               403: rights, quota, admission
    │   └── NamespaceTerminating
    ├── NotFound                404
    ├── AlreadyExists           409 on create
    ├── Conflict                409: read again, decide again
    ├── Gone                    410: the version asked for is no longer kept
    ├── Invalid                 422
    └── Transient               5xx; the same request may succeed later
        ├── TooManyRequests     429, with the wait the server asked for; was not carried out
        ├── Unreachable         no connection was made; was surely not carried out
        └── ServerTimeout       no answer in time, or the answer was lost; MAY have been carried out
            └── Silent          an open stream brought nothing for too long

The two families are told apart by `is_retryable`. `message` holds the server's own words.
"""

# ruff: noqa: N818 - the classes are named after the reasons Kubernetes gives

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from tfjob.k8s.nesting import UNREADABLE

_LONGEST_TEXT: Final = 1000
_LONGEST_WAIT: Final = 86_400
"""Seconds that a server may ask for: a number from the network is not trusted to be sane."""
_MOST_DIGITS: Final = 9


class Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """The machine-readable part of a Kubernetes Status."""

    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0

    def has_cause(self, reason: str) -> bool:
        return any(cause.reason == reason for cause in self.causes or ())


class Status(msgspec.Struct, frozen=True):
    """A Kubernetes Status, as far as errors need it."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


class ApiError(Exception):
    """A request was not carried out; `message` keeps the API server's own words."""

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
    """A write was not sent: another operator may lead by now. It says nothing about the server."""


class BadRequest(ApiError):
    """The server could not make sense of the request."""


class Unauthorized(ApiError):
    """The server does not know who asks, or no credentials could be had."""


class Forbidden(ApiError):
    """Rights, a quota or an admission rule refuse the request."""


class NamespaceTerminating(Forbidden):
    """Nothing can be created any more in a namespace that is being deleted."""


class NotFound(ApiError):
    """The object, or the whole resource, does not exist."""


class AlreadyExists(ApiError):
    """An object of this name exists."""


class Conflict(ApiError):
    """The object has changed since it was read, or a precondition failed."""


class Gone(ApiError):
    """The resourceVersion or continue token is older than what the server keeps."""


class Invalid(ApiError):
    """The object breaks a rule of its schema."""


class Transient(ApiError):
    """The server is in trouble; the same request may succeed later."""

    is_retryable: ClassVar[bool] = True


class TooManyRequests(Transient):
    """The server asks to come back later; the request was not carried out."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, or None when the server named no time."""
        return float(self.details.retry_after_seconds) or None


class Unreachable(Transient):
    """No connection could be made, so the request was surely not carried out."""


class ServerTimeout(Transient):
    """The answer did not come, so the request may or may not have been carried out."""


class IdleTimeout(ServerTimeout):
    """An open stream brought nothing in the time allowed."""


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


def from_answer(
    status: int, body: bytes, *, request: str = "", retry_after: str | None = None
) -> ApiError:
    """The error that an HTTP answer means, whatever its body is."""
    answer = _status_of(status, body)
    details = answer.details or Details()
    seconds = details.retry_after_seconds or _seconds(retry_after)
    seconds = max(0, min(seconds, _LONGEST_WAIT))
    return from_status(
        msgspec.structs.replace(
            answer, details=msgspec.structs.replace(details, retry_after_seconds=seconds)
        ),
        request=request,
    )


def from_status(status: Status, *, request: str = "") -> ApiError:
    """The error that a Kubernetes Status means, as in an answer or in an ERROR of a watch."""
    return _class_of(status)(
        status.message,
        status=status.code,
        reason=status.reason,
        details=status.details,
        request=request,
    )


def _class_of(status: Status) -> type[ApiError]:
    if status.details and status.code == 403 and status.details.has_cause("NamespaceTerminating"):
        return NamespaceTerminating
    by_status = Transient if status.code >= 500 else ApiError
    return _BY_REASON.get(status.reason) or _BY_STATUS.get(status.code, by_status)


def _status_of(code: int, body: bytes) -> Status:
    """The body as a Status; proxies answer with pages, text or nothing, and that is told too."""
    try:
        answer = _decode_status(body)
    except UNREADABLE:
        answer = Status()
    if answer.kind == "Status":
        return msgspec.structs.replace(answer, code=code)
    text = body.decode(errors="replace").strip()[:_LONGEST_TEXT]
    return Status(code=code, message=text or f"HTTP {code} with an empty body")


def _seconds(header: str | None) -> int:
    """Retry-After as Kubernetes sends it; the date form is for proxies and is not obeyed."""
    text = (header or "").strip()
    return int(text[:_MOST_DIGITS]) if text.isascii() and text.isdigit() else 0
