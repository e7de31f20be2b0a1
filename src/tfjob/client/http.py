"""The verbs of an API server: paths and bodies in, typed answers out.

Answers are decoded straight into the type the caller names; what that type does not name costs
nothing. A create without an answer raises ServerTimeout and is never sent again: only the caller
can find out whether it happened. Every failure is an ApiError.
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from copy import copy
from functools import cache
from typing import Any, Final, Literal, Self, TypeVar, get_origin

import msgspec

from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.request import ClientConfig, Request, query
from tfjob.client.streams import Stream
from tfjob.client.throttle import TokenBucket
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
"""The level at which the fields of an object stand in a list."""


class Stored(msgspec.Struct, frozen=True):
    """Any object of which only the metadata matters: the cheapest answer to a write."""

    metadata: ObjectMeta = ObjectMeta()


class Api:
    """One API server."""

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
        """The same server over the same connections; each attempt of a write asks first.

        A write that may no longer be sent raises NotLeadingError. Reads and watches go on.
        """
        found = copy(self)
        found._may_write = may_write  # noqa: SLF001 - a copy of itself
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections; open streams break."""
        await self._transport.close()

    async def read(self, path: str, *, params: Params | None = None) -> bytes:
        """A body as it is, such as a log."""
        request = Request(verb="get", method="GET", path=path, query=query(params or {}))
        return await self._transport.send(request)

    async def get(self, path: str, *, decode: type[T], params: Params | None = None) -> T:
        """One object."""
        return _decoded(await self.read(path, params=params), decode, title=f"GET {path}")

    async def list_page(self, path: str, *, decode: type[T], params: Params | None = None) -> T:
        """One page of a collection; `params` carry the limit, the token and the selectors."""
        request = Request(verb="list", method="GET", path=path, query=query(params or {}))
        return _decoded(
            await self._transport.send(request), decode, title=request.title, level=_IN_A_LIST
        )

    async def create(
        self,
        path: str,
        body: object,
        *,
        decode: type[T],
        field_validation: Literal["Strict", "Warn", "Ignore"] | None = None,
        dry_run: bool = False,
    ) -> T:
        """Create an object; after ServerTimeout it may exist."""
        params = _given({"fieldValidation": field_validation, "dryRun": "All" if dry_run else None})
        request = Request(
            verb="create",
            method="POST",
            path=path,
            query=query(params),
            body=_encoded(body),
            is_repeatable=False,
            may_send=self._may_write,
        )
        return await self._typed(request, decode)

    async def replace(self, path: str, body: object, *, decode: type[T]) -> T:
        """Store a whole object; the resourceVersion in it is the precondition."""
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
        """Change a part of an object."""
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
        """Ask for the deletion of an object, if it still is the one that is meant."""
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
        """An answer that goes on, such as a watch or a log that is followed."""
        verb = "watch" if params and "watch" in params else "get"
        request = Request(verb=verb, method="GET", path=path, query=query(params or {}))
        return self._transport.open(request, idle=idle)

    async def _typed(self, request: Request, decode: type[T]) -> T:
        return _decoded(await self._transport.send(request), decode, title=request.title)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _encoded(body: object) -> bytes:
    """JSON of anything; bytes are taken to be JSON already."""
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def _decoded(body: bytes, decode: type[T], *, title: str, level: int | None = None) -> T:
    """The answer as the type that is asked for; `level` is where the fields of its objects are.

    Of an answer that is nested too deeply, what a type reads may still be shallow. One object
    that is asked for as plain JSON is wanted whole, and then there is no answer.
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
    """Types that name what they read, and raw JSON, whose reader looks for what is missing."""
    return issubclass(get_origin(kind) or kind, msgspec.Struct | msgspec.Raw)


def _unread(decode: type[T], fault: object, *, title: str) -> errors.ApiError:
    return errors.ServerTimeout(
        f"the answer cannot be read as {decode.__name__} ({fault}); "
        "it may or may not have been carried out",
        request=title,
    )


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
