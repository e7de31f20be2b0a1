"""The API verbs: get, list, create, replace, patch, delete and stream.

Responses are decoded directly into the type that the caller names; other fields are skipped. A
create without a response raises ServerTimeout and is never retried, because it may have succeeded.
Every failure is an ApiError.
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from copy import copy
from functools import cache
from typing import Any, Final, Literal, Self, TypeVar, get_origin

import msgspec

from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.flowcontrol import TokenBucket
from tfjob.client.request import ClientConfig, Request, query
from tfjob.client.streams import Stream
from tfjob.client.timing import REAL, Timing
from tfjob.client.transport import RequestHook, Transport
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.nesting import TOO_DEEP, UNREADABLE, pruned

T = TypeVar("T")
Params = Mapping[str, str]
Propagation = Literal["Background", "Foreground", "Orphan"]

MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
_IN_A_LIST: Final = 3
"""The nesting level of an object's fields in a list response."""
_BRIEF_BYTES: Final = 1024 * 1024
_BRIEF_SECONDS: Final = 3.0


class PartialObjectMetadata(msgspec.Struct, frozen=True):
    """Any object of which only the metadata is read: the cheapest response to a write."""

    metadata: ObjectMeta = ObjectMeta()


class Api:
    """A client for one API server."""

    def __init__(
        self,
        config: Config,
        *,
        tuning: ClientConfig | None = None,
        throttle: TokenBucket | None = None,
        on_request: RequestHook | None = None,
        timing: Timing = REAL,
    ) -> None:
        self._may_write: Callable[[], bool] | None = None
        self._transport = Transport(
            config,
            tuning=tuning or ClientConfig(),
            throttle=throttle,
            on_request=on_request,
            timing=timing,
        )

    def guarded(self, may_write: Callable[[], bool]) -> "Api":
        """A client over the same connections that checks `may_write` before each write attempt.

        A write that is not allowed raises NotLeadingError. Reads and watches are not checked.
        """
        guarded = copy(self)
        guarded._may_write = may_write  # noqa: SLF001 - a copy of itself
        return guarded

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, including open streams."""
        await self._transport.close()

    async def read(self, path: str, *, params: Params | None = None) -> bytes:
        """Read a raw body, such as a log."""
        request = Request(verb="get", method="GET", path=path, query=query(params or {}))
        return await self._transport.send(request)

    async def get(self, path: str, *, decode: type[T], params: Params | None = None) -> T:
        """Read one object."""
        return _decoded(await self.read(path, params=params), decode, title=f"GET {path}")

    async def list_page(self, path: str, *, decode: type[T], params: Params | None = None) -> T:
        """Read one page of a collection; `params` holds limit, continue token and selectors."""
        request = Request(verb="list", method="GET", path=path, query=query(params or {}))
        return await self._page(request, decode)

    async def list_briefly(self, path: str, *, decode: type[T], params: Params | None = None) -> T:
        """Read one page of a collection that only helps to explain something.

        It is read once, within 3 seconds. A page longer than 1 MiB is an error, because anybody
        may have written what is in it.
        """
        request = Request(
            verb="list",
            method="GET",
            path=path,
            query=query(params or {}),
            max_bytes=_BRIEF_BYTES,
            timeout=_BRIEF_SECONDS,
            max_attempts=1,
        )
        return await self._page(request, decode)

    async def create(
        self,
        path: str,
        body: object,
        *,
        decode: type[T],
        field_validation: Literal["Strict", "Warn", "Ignore"] | None = None,
        dry_run: bool = False,
    ) -> T:
        """Create an object. After a ServerTimeout it may exist."""
        request = Request(
            verb="create",
            method="POST",
            path=path,
            query=_create_query(field_validation, dry_run=dry_run),
            body=_encoded(body),
            is_repeatable=False,
            may_send=self._may_write,
        )
        return await self._typed(request, decode)

    async def replace(self, path: str, body: object, *, decode: type[T]) -> T:
        """Replace an object; its resourceVersion is the precondition."""
        request = Request(
            verb="update",
            method="PUT",
            path=path,
            body=_encoded(body),
            may_send=self._may_write,
        )
        return await self._typed(request, decode)

    async def patch(
        self,
        path: str,
        body: object,
        *,
        decode: type[T],
        content_type: str = MERGE_PATCH,
        params: Params | None = None,
    ) -> T:
        """Patch an object."""
        request = Request(
            verb="patch",
            method="PATCH",
            path=path,
            query=query(params or {}),
            body=_encoded(body),
            content_type=content_type,
            is_repeatable=content_type != JSON_PATCH,
            may_send=self._may_write,
        )
        return await self._typed(request, decode)

    async def delete(
        self,
        path: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
    ) -> None:
        """Delete an object; UID and resource version are preconditions."""
        preconditions = _given({"uid": uid, "resourceVersion": resource_version})
        options = _given(
            {
                "preconditions": preconditions or None,
                "gracePeriodSeconds": grace_seconds,
                "propagationPolicy": propagation,
            }
        )
        request = Request(
            verb="delete",
            method="DELETE",
            path=path,
            body=_encoded({"kind": "DeleteOptions", "apiVersion": "v1", **options}),
            may_send=self._may_write,
        )
        await self._transport.send(request)

    def stream(
        self, path: str, *, params: Params | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        """Open a streaming response, such as a watch or a followed log."""
        verb = "watch" if params and "watch" in params else "get"
        request = Request(verb=verb, method="GET", path=path, query=query(params or {}))
        return self._transport.open(request, idle=idle)

    async def _page(self, request: Request, decode: type[T]) -> T:
        return _decoded(
            await self._transport.send(request), decode, title=request.title, level=_IN_A_LIST
        )

    async def _typed(self, request: Request, decode: type[T]) -> T:
        return _decoded(await self._transport.send(request), decode, title=request.title)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@cache
def _create_query(field_validation: str | None, *, dry_run: bool) -> str:
    return query(
        _given({"fieldValidation": field_validation, "dryRun": "All" if dry_run else None})
    )


def _encoded(body: object) -> bytes:
    """Encode as JSON; bytes are JSON already."""
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def _decoded(body: bytes, decode: type[T], *, title: str, level: int | None = None) -> T:
    """Decode a response; `level` is the nesting level of its objects' fields.

    If the response is nested too deeply, the deep parts are pruned, because the type may not read
    them. That is an error for an object that is requested as plain JSON.
    """
    kind: Any = decode
    decoder = _decoder(kind)
    try:
        answer: T
        try:
            answer = decoder.decode(body)
        except RecursionError as fault:
            if level is None and not _may_be_partial(kind):
                raise _unread(decode, TOO_DEEP, title=title) from fault
            answer = decoder.decode(pruned(body, level=level or 1))
    except UNREADABLE as fault:
        raise _unread(decode, fault, title=title) from fault
    return answer


def _may_be_partial(kind: Any) -> bool:
    """Whether the type can be decoded from pruned JSON: structs, and raw JSON, whose reader
    detects the pruned parts."""
    return issubclass(get_origin(kind) or kind, msgspec.Struct | msgspec.Raw)


def _unread(decode: type[T], fault: object, *, title: str) -> errors.ApiError:
    return errors.ServerTimeout(
        f"the response cannot be decoded as {decode.__name__} ({fault}); "
        "the request may or may not have been executed",
        request=title,
    )


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
