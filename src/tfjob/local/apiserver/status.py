"""Kubernetes Status responses, and the exception that carries them.

All errors of this server are built here, with the messages of kube-apiserver.
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


class FieldError(msgspec.Struct, frozen=True):
    """A field error with a reason of its own."""

    path: str
    cause: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.path}: {self.message}"


class StatusError(Exception):
    """A request that is answered with a failure Status."""

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
    """The Status of an action that returns no object."""
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**head, "code": code}


def _about(resource: str, name: str, **more: Any) -> dict[str, Any]:
    plural, _, group = resource.partition(".")
    named = {"name": name} if name else {}
    return {**named, **({"group": group} if group else {}), "kind": plural, **more}


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(message: str) -> StatusError:
    return StatusError(403, "Forbidden", message)


def no_such_path() -> StatusError:
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message, details={})


def not_found(resource: str, name: str) -> StatusError:
    details = _about(resource, name)
    return StatusError(404, "NotFound", f'{resource} "{name}" not found', details=details)


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def not_supported(what: str, *, hint: str) -> StatusError:
    """Something that this server leaves out by name; `hint` says what to do instead."""
    message = f"{what} is not supported by the local API server of tfjob: {hint}"
    return StatusError(501, "NotImplemented", message, details={})


def already_exists(resource: str, name: str) -> StatusError:
    details = _about(resource, name)
    return StatusError(409, "AlreadyExists", f'{resource} "{name}" already exists', details=details)


def conflict(resource: str, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_about(resource, name))


def modified(resource: str, name: str) -> StatusError:
    why = (
        "the object has been modified; "
        "please apply your changes to the latest version and try again"
    )
    return conflict(resource, name, why)


def invalid(group_kind: str, name: str, faults: Iterable[Fault | FieldError]) -> StatusError:
    """All faults of an object. `group_kind` is like `Pod` or `TFJob.kubeflow.org`."""
    listed = list(faults)
    causes = [_cause(fault) for fault in listed]
    texts = list(dict.fromkeys(fault.text for fault in listed))
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {**_about(group_kind, name), "causes": causes}
    message = f'{group_kind} "{name}" is invalid: {summary}'
    return StatusError(422, "Invalid", message, details=details)


def _cause(fault: Fault | FieldError) -> dict[str, str]:
    if isinstance(fault, FieldError):
        return {"reason": fault.cause, "message": fault.message, "field": fault.path}
    message = fault.text.removeprefix(f"{fault.path}: ")
    return {"reason": _CAUSES[fault.kind], "message": message, "field": fault.path}


def too_large() -> StatusError:
    message = "Request entity too large: limit is 3145728"
    return StatusError(413, "RequestEntityTooLarge", message, details={})


def unsupported_media(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def internal(message: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {message}")


def terminating(resource: str, name: str, namespace: str) -> StatusError:
    what = "unable to create new content in namespace"
    message = f'{resource} "{name}" is forbidden: {what} {namespace} because it is being terminated'
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return StatusError(403, "Forbidden", message, details=_about(resource, name, causes=[cause]))
