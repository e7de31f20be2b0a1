"""watch: the current state, if requested, then every change until the timeout.

No change of a matching object is missed, repeated or out of order. A compacted position ends the
watch with `410 Expired`.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from tfjob.local.apiserver import responses, selection_predicate, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.handlers import listing
from tfjob.local.apiserver.request import Request, Stream
from tfjob.local.apiserver.store import Change, Compacted
from tfjob.local.apiserver.watchers import Watch

Json = dict[str, Any]
BOOKMARK_SECONDS = 50.0
_LONGEST_SECONDS = 3600
_SHORTEST_DEFAULT_SECONDS = 1800
# All watches together write at most about 4,000 times a second.
_COALESCE_SECONDS_PER_WATCH = 0.00025
_LONGEST_COALESCE_SECONDS = 0.1

_encode = msgspec.json.Encoder().encode


def watch(backend: Backend, request: Request) -> Stream:
    plan = _plan(backend, request)
    return Stream(chunks=_Feed(backend, request, plan).lines())


class _Plan(msgspec.Struct, frozen=True):
    after: int
    has_state: bool
    has_marker: bool
    has_bookmarks: bool
    seconds: float


def _plan(backend: Backend, request: Request) -> _Plan:
    try:
        asked = listing.revision_asked(request)
    except status.StatusError as error:
        # kube-apiserver has another message for watches.
        message = error.message.removeprefix("invalid resource version: ")
        raise status.StatusError(500, "", message) from error
    wants_state = request.flag("sendInitialEvents")
    _check_initial_events(request, wants_state=wants_state)
    now = backend.store.revision
    if asked is not None and asked > now and wants_state:
        raise listing.too_large(asked, now)
    has_state = not asked or wants_state
    is_unwanted = "sendInitialEvents" in request.query and not wants_state
    if is_unwanted:
        has_state = False
    seconds = listing.whole_number(request, "timeoutSeconds")
    spread = secrets.randbelow(_LONGEST_SECONDS - _SHORTEST_DEFAULT_SECONDS)
    return _Plan(
        after=now if has_state or not asked else min(asked, now),
        has_state=has_state,
        has_marker=wants_state and request.flag("allowWatchBookmarks"),
        has_bookmarks=request.flag("allowWatchBookmarks"),
        seconds=float(seconds or _SHORTEST_DEFAULT_SECONDS + spread),
    )


def _check_initial_events(request: Request, *, wants_state: bool) -> None:
    match = request.query.get("resourceVersionMatch", "")
    if "sendInitialEvents" in request.query and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        finding = status.FieldError(
            "resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {detail}"
        )
        raise status.invalid("ListOptions.meta.k8s.io", "", [finding])
    if match and "sendInitialEvents" not in request.query and not wants_state:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        finding = status.FieldError(
            "resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {detail}"
        )
        raise status.invalid("ListOptions.meta.k8s.io", "", [finding])


class _Feed:
    """Turns a watch into lines."""

    def __init__(self, backend: Backend, request: Request, plan: _Plan) -> None:
        self._backend = backend
        self._request = request
        self._plan = plan
        self._form = responses.negotiated_form(request.accept)
        self._is_first = True
        self._matches = selection_predicate.matcher(request)
        # Opened before the state is read, without a switch to other tasks between: no gap.
        self._watch = backend.watches.open(
            request.kind.resource, after=plan.after, matches=self._matches
        )
        self._state = self._initial() if plan.has_state else []

    async def lines(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._plan.seconds
        try:
            if self._state:
                yield b"".join(self._state)
                self._state = []
            bookmark_at = loop.time() + BOOKMARK_SECONDS
            while not self._backend.is_closing:
                left = min(end, bookmark_at) - loop.time()
                if await self._watch.wait(max(left, 0)):
                    chunk = self._take()
                    if chunk:
                        yield chunk
                        # Sends a burst of changes together.
                        await asyncio.sleep(self._pause())
                if loop.time() >= bookmark_at:
                    bookmark_at = loop.time() + BOOKMARK_SECONDS
                    if self._plan.has_bookmarks:
                        yield self._bookmark()
                if loop.time() >= end:
                    return
        except Compacted as error:
            refusal = status.expired(str(error))
            yield b'{"type":"ERROR","object":' + _encode(refusal.body()) + b"}\n"
        finally:
            self._backend.watches.close(self._watch)

    def _pause(self) -> float:
        pause = _COALESCE_SECONDS_PER_WATCH * self._backend.watches.count
        return min(pause, _LONGEST_COALESCE_SECONDS)

    def _initial(self) -> list[bytes]:
        namespace = selection_predicate.namespace_asked(self._request)
        rows = self._backend.store.page(self._request.kind.resource, namespace=namespace)
        lines = [
            self._line("ADDED", row.body)
            for row in rows
            if self._matches is None or self._matches(row.namespace, row.name, row.object())
        ]
        if self._plan.has_marker:
            lines.append(self._bookmark(annotations={"k8s.io/initial-events-end": "true"}))
        return lines

    def _take(self) -> bytes:
        return b"".join([self._event(type_, change) for type_, change in self._watch.take()])

    def _event(self, type_: str, change: Change) -> bytes:
        face = (type_, self._request.kind.api_version, self._form)
        if type_ == "DELETED" and change.type != "DELETED":
            return self._line(type_, _as_left(change))
        if self._form == responses.TABLE:
            return self._line(type_, change.body)
        line = change.lines.get(face)
        if line is None:
            line = change.lines[face] = self._line(type_, change.body)
        return line

    def _line(self, type_: str, body: bytes) -> bytes:
        shown = responses.event_object(
            self._backend, self._request, body, form=self._form, is_first=self._is_first
        )
        self._is_first = False
        return b'{"type":"' + type_.encode() + b'","object":' + shown + b"}\n"

    def _bookmark(self, annotations: Json | None = None) -> bytes:
        kind = self._request.kind
        meta: Json = {"resourceVersion": str(_settled(self._watch, self._backend))}
        if annotations:
            meta["annotations"] = annotations
        if self._form == responses.TABLE:
            body = _encode({"metadata": meta})
            return self._line("BOOKMARK", body)
        shown = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        if self._form == responses.PARTIAL:
            shown |= {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        elif kind.resource == "pods":
            shown |= {"spec": {"containers": None}, "status": {}}
        return b'{"type":"BOOKMARK","object":' + _encode(shown) + b"}\n"


def _as_left(change: Change) -> bytes:
    """An object that left the selection, as it was, with the revision at which it left."""
    left = dict(change.object_before)
    left["metadata"] = {**left["metadata"], "resourceVersion": str(change.revision)}
    return _encode(left)


def _settled(watch: Watch, backend: Backend) -> int:
    """The newest revision that this watch has completely delivered."""
    return watch.position if watch.has_more else backend.store.revision
