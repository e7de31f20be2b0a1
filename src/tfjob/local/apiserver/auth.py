"""Authentication of requests, and reviews of rights: the holder of the token may do everything.

Requests with a Host that is not loopback (a rebound DNS name) or an Origin other than this server
(a web page) are refused before the token is compared, which takes constant time.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from tfjob.local.apiserver import status

Json = dict[str, Any]
_REVIEWS = {
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": "SelfSubjectRulesReview",
}
_EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})


def check(headers: Mapping[str, str], *, path: str, token: str) -> None:
    """Refuse a request that is not from loopback or lacks the token."""
    _check_host(headers.get("Host", ""))
    _check_origin(headers.get("Origin", ""))
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    is_known = scheme.lower() == "bearer" and secrets.compare_digest(
        given.strip().encode(), token.encode()
    )
    if not is_known and path.rstrip("/") not in _OPEN_PATHS:
        raise status.unauthorized()


def _check_host(host: str) -> None:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if name.lower() not in _LOOPBACK:
        raise status.forbidden(
            f"Host {host!r}: this server answers to 127.0.0.1, localhost and [::1] only; "
            "the request was refused"
        )


def _check_origin(origin: str) -> None:
    if not origin:
        return
    name = origin.partition("://")[2]
    host = name.rpartition(":")[0] if ":" in name else name
    if host.lower() not in _LOOPBACK:
        raise status.forbidden(
            f"Origin {origin!r}: requests from web pages are not answered; the request was refused"
        )


def review(path: str) -> Json | None:
    """The answer to a SelfSubject review: everything is allowed. None for any other path."""
    kind = _REVIEWS.get(path)
    if kind is None:
        return None
    head = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {}}
    if kind == "SelfSubjectAccessReview":
        return {**head, "status": {"allowed": True}}
    rules = {"resourceRules": [_EVERYTHING], "nonResourceRules": [], "incomplete": False}
    return {**head, "status": rules}
