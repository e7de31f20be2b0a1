"""Answers what clients ask about their rights: the holder of the token may do everything."""

from typing import Any

Json = dict[str, Any]
PATHS = {
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": "SelfSubjectRulesReview",
}
_EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


def find(path: str) -> Json | None:
    """The review that a path asks for, or None."""
    kind = PATHS.get(path)
    if kind is None:
        return None
    head = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {}}
    if kind == "SelfSubjectAccessReview":
        return {**head, "status": {"allowed": True}}
    rules = {"resourceRules": [_EVERYTHING], "nonResourceRules": [], "incomplete": False}
    return {**head, "status": rules}
