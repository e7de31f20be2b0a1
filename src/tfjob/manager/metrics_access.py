"""Who may read the metrics: the API server reviews the bearer token of each request.

A reader needs the permission to get the URL `/metrics`. Results are cached for a short time, and
few reviews run at once, so that requests for metrics cannot overload the API server.
"""

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec

from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.client.resource import Resource

TOKEN_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", namespaced=False)
ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", namespaced=False
)
CACHE_SECONDS: Final = 60.0
MAX_CACHED: Final = 100
_MAX_CONCURRENT: Final = 4
_MAX_TOKEN_LENGTH: Final = 16_384
_SCHEME: Final = "bearer "

T = TypeVar("T")


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


class MetricsAccess:
    """Reviews the readers of the metrics. `api` may write whether or not the operator leads."""

    def __init__(self, api: Api, *, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock
        self._known: dict[bytes, tuple[float, int]] = {}
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def status_for(self, authorization: str) -> int:
        """The HTTP status for a reader with this Authorization header; 200 if it may read."""
        token = authorization[len(_SCHEME) :].strip()
        is_bearer = authorization.lower().startswith(_SCHEME)
        if not is_bearer or not token or len(token) > _MAX_TOKEN_LENGTH:
            return HTTPStatus.UNAUTHORIZED
        # Cached by digest, so that no token stays in memory.
        key = sha256(token.encode("utf-8", "replace")).digest()
        async with self._slots:
            at, known = self._known.get(key, (float("-inf"), HTTPStatus.SERVICE_UNAVAILABLE))
            if self._clock() - at < CACHE_SECONDS:
                return known
            try:
                found = await self._review(token)
            except ApiError:
                return HTTPStatus.SERVICE_UNAVAILABLE
        self._keep(key, found)
        return found

    async def _review(self, token: str) -> int:
        body = {"spec": {"token": token}}
        reviewed = await self._create(TOKEN_REVIEWS, "TokenReview", body, _TokenReview)
        if not reviewed.status.authenticated:
            return HTTPStatus.UNAUTHORIZED
        user = reviewed.status.user
        spec: Mapping[str, Any] = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
        kind = "SubjectAccessReview"
        access = await self._create(ACCESS_REVIEWS, kind, {"spec": spec}, _AccessReview)
        return HTTPStatus.OK if access.status.allowed else HTTPStatus.FORBIDDEN

    async def _create(
        self, resource: Resource, kind: str, body: Mapping[str, Any], decode: type[T]
    ) -> T:
        version = f"{resource.group}/{resource.version}"
        whole = {"apiVersion": version, "kind": kind, **body}
        return await self._api.create(resource.collection(), whole, decode=decode)

    def _keep(self, key: bytes, status: int) -> None:
        self._known.pop(key, None)
        if len(self._known) >= MAX_CACHED:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock(), status)
