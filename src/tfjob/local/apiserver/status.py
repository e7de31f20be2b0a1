"""Kubernetes' Status answers: one exception that carries code, reason, words and details.

Every refusal of this server is built here, so that its words are those of a real API server.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from tfjob.k8s.field import Fault, FaultKind

_CAUSES = {
    FaultKind.INVALID: "FieldValueInvalid",
    FaultKind.REQUIRED: "FieldValueRequired",
    FaultKind.FORBIDDEN: "FieldValueForbidden",
    FaultKind.UNSUPPORTED: "FieldValueNotSupported",
    FaultKind.DUPLICATE: "FieldValueDuplicate",
    FaultKind.NOT_FOUND: "FieldValueNotFound",
}


class Finding(msgspec.Struct, frozen=True):
    """A wrong field whose cause has no name among the ordinary faults."""

    path: str
    cause: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.path}: {self.message}"


class Refusal(Exception):  # noqa: N818 - an answer, not a fault of ours
    """A request that is answered with a Status of failure."""

    def __init__(
        self, code: int, reason: str, message: str, *, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            answer["reason"] = self.reason
        if self.details is not None:
            answer["details"] = self.details
        return {**answer, "code": self.code}


def success(details: dict[str, Any]) -> dict[str, Any]:
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**head, "details": details}


def done(code: int) -> dict[str, Any]:
    """The answer to an action that has no object to show."""
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**head, "code": code}


def _about(resource: str, name: str, **more: Any) -> dict[str, Any]:
    plural, _, group = resource.partition(".")
    named = {"name": name} if name else {}
    return {**named, **({"group": group} if group else {}), "kind": plural, **more}


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(message: str) -> Refusal:
    return Refusal(403, "Forbidden", message)


def no_such_path() -> Refusal:
    message = "the server could not find the requested resource"
    return Refusal(404, "NotFound", message, details={})


def not_found(resource: str, name: str) -> Refusal:
    details = _about(resource, name)
    return Refusal(404, "NotFound", f'{resource} "{name}" not found', details=details)


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def not_supported(what: str, *, hint: str) -> Refusal:
    """Something a real server has and this one leaves out by name; `hint` says what to do."""
    message = f"{what} is not supported by the local API server of tfjob: {hint}"
    return Refusal(501, "NotImplemented", message, details={})


def already_exists(resource: str, name: str) -> Refusal:
    details = _about(resource, name)
    return Refusal(409, "AlreadyExists", f'{resource} "{name}" already exists', details=details)


def conflict(resource: str, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=_about(resource, name))


def modified(resource: str, name: str) -> Refusal:
    why = (
        "the object has been modified; "
        "please apply your changes to the latest version and try again"
    )
    return conflict(resource, name, why)


def invalid(group_kind: str, name: str, faults: Iterable[Fault | Finding]) -> Refusal:
    """All faults of an object in one answer. `group_kind` reads `Pod` or `TFJob.kubeflow.org`."""
    listed = list(faults)
    causes = [_cause(fault) for fault in listed]
    texts = list(dict.fromkeys(fault.text for fault in listed))
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {**_about(group_kind, name), "causes": causes}
    message = f'{group_kind} "{name}" is invalid: {summary}'
    return Refusal(422, "Invalid", message, details=details)


def _cause(fault: Fault | Finding) -> dict[str, str]:
    if isinstance(fault, Finding):
        return {"reason": fault.cause, "message": fault.message, "field": fault.path}
    message = fault.text.removeprefix(f"{fault.path}: ")
    return {"reason": _CAUSES[fault.kind], "message": message, "field": fault.path}


def too_large() -> Refusal:
    message = "Request entity too large: limit is 3145728"
    return Refusal(413, "RequestEntityTooLarge", message, details={})


def unsupported_media(message: str) -> Refusal:
    return Refusal(415, "UnsupportedMediaType", message)


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)


def unavailable(message: str) -> Refusal:
    return Refusal(503, "ServiceUnavailable", message)


def internal(message: str) -> Refusal:
    return Refusal(500, "InternalError", f"Internal error occurred: {message}")


def terminating(resource: str, name: str, namespace: str) -> Refusal:
    what = "unable to create new content in namespace"
    message = f'{resource} "{name}" is forbidden: {what} {namespace} because it is being terminated'
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return Refusal(403, "Forbidden", message, details=_about(resource, name, causes=[cause]))
