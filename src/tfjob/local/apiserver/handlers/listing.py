"""list: all objects of a kind at one revision, whole or in pages.

The resourceVersion of a list is the revision of its snapshot; all pages show the same snapshot.
"""

import base64
import binascii
from functools import partial
from typing import Any

import msgspec

from tfjob.k8s.nesting import UNREADABLE
from tfjob.local.apiserver import responses, selection_predicate, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.store import Compacted, StoredObject

Json = dict[str, Any]
_BATCH = 500


class Token(msgspec.Struct, frozen=True):
    """The continue token."""

    revision: int
    namespace: str
    name: str
    version: str = "tfjob/v1"

    def render(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def list_(backend: Backend, request: Request) -> Answer:
    token, moment = _moment(backend, request)
    limit = whole_number(request, "limit")
    try:
        items, following = _collect(backend, request, token=token, at=moment, limit=limit)
    except Compacted as error:
        raise _expired(error, has_token=token is not None) from error
    meta: Json = {"resourceVersion": str(moment)}
    if request.kind.is_custom and not responses.wants_table(request):
        meta["continue"] = ""
    if following:
        last = items[-1]
        meta["continue"] = Token(moment, last.namespace, last.name).render()
        if not selection_predicate.has_selector(request.query):
            meta["remainingItemCount"] = following - 1
    return responses.list_response(backend, request, items, meta=meta)


def _moment(backend: Backend, request: Request) -> tuple[Token | None, int]:
    text = request.query.get("continue", "")
    asked = revision_asked(request)
    match = request.query.get("resourceVersionMatch", "")
    if text:
        if asked:
            raise status.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        token = _parse(text)
        return token, token.revision
    _check_match(match, asked)
    now = backend.store.revision
    if asked is not None and asked > now:
        raise too_large(asked, now)
    if match == "Exact" and asked:
        return None, asked
    return None, now


def _check_match(match: str, asked: int | None) -> None:
    why = ""
    if match and asked is None:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match == "Exact" and asked == 0:
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    if why:
        finding = status.FieldError(
            "resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {why}"
        )
        raise status.invalid("ListOptions.meta.k8s.io", "", [finding])


def _collect(
    backend: Backend, request: Request, *, token: Token | None, at: int, limit: int
) -> tuple[list[StoredObject], int]:
    """The items of a page, and 1 + how many follow it (0: none)."""
    matches = selection_predicate.matcher(request)
    after = (token.namespace, token.name) if token else ("", "")
    namespace = selection_predicate.namespace_asked(request)
    page = partial(backend.store.page, request.kind.resource, namespace=namespace, at=at)
    if not limit:
        rows = page(after=after)
        return _matching(rows, matches), 0
    items: list[StoredObject] = []
    while True:
        rows = page(after=after, limit=max(limit + 1, _BATCH))
        items += _matching(rows, matches)
        if len(items) > limit or len(rows) < max(limit + 1, _BATCH):
            break
        after = (rows[-1].namespace, rows[-1].name)
    if len(items) <= limit:
        return items, 0
    last = items[limit - 1]
    rest = page(after=(last.namespace, last.name))
    return items[:limit], 1 + len(rest)


def _matching(
    rows: list[StoredObject], matches: selection_predicate.Matches | None
) -> list[StoredObject]:
    if matches is None:
        return rows
    return [row for row in rows if matches(row.namespace, row.name, row.object())]


def _parse(text: str) -> Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(raw, type=Token)
    except (binascii.Error, ValueError, *UNREADABLE) as error:
        raise status.bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from error


def _expired(error: Compacted, *, has_token: bool) -> status.StatusError:
    if has_token:
        return status.expired(
            "The provided continue parameter is too old to display a consistent list result. "
            "You can start a new list without the continue parameter."
        )
    return status.expired(f"The resourceVersion for the provided list is too old. {error}")


def revision_asked(request: Request) -> int | None:
    """The resourceVersion of the query; None if absent."""
    text = request.query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isdecimal():
        raise status.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def whole_number(request: Request, name: str) -> int:
    text = request.query.get(name, "")
    if not text:
        return 0
    if not text.lstrip("-").isdecimal():
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return max(int(text), 0)


def too_large(asked: int, now: int) -> status.StatusError:
    message = f"Timeout: Too large resource version: {asked}, current: {now}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return status.StatusError(504, "Timeout", message, details=details)
