"""Mapping of HTTP responses to errors."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.client import errors


def answer(code: int, **status: object) -> errors.ApiError:
    body = {"kind": "Status", "code": code, **status}
    return errors.from_response(code, msgspec.json.encode(body), request="POST /x")


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.Transient),
        (500, "ServerTimeout", errors.ServerTimeout),
        (503, "ServiceUnavailable", errors.Transient),
        (504, "Timeout", errors.ServerTimeout),
        (418, "Teapot", errors.ApiError),
    ],
)
def test_each_answer_has_its_class(code: int, reason: str, kind: type[errors.ApiError]) -> None:
    assert type(answer(code, reason=reason)) is kind


def test_a_terminating_namespace_is_recognised_by_its_cause() -> None:
    causes = [{"reason": "NamespaceTerminating", "message": "namespace x is being terminated"}]
    error = answer(403, reason="Forbidden", details={"causes": causes})
    assert isinstance(error, errors.NamespaceTerminating)
    assert isinstance(error, errors.Forbidden)


def test_message_keeps_the_servers_words_and_the_text_adds_the_request() -> None:
    error = answer(409, reason="AlreadyExists", message='pods "w-0" already exists')
    assert error.message == 'pods "w-0" already exists'
    assert str(error) == 'POST /x: 409 AlreadyExists: pods "w-0" already exists'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "HTTP 502 with an empty body"),
        (b"<html>bad gateway</html>", "<html>bad gateway</html>"),
        (
            b"Too many requests, please try again later.\n",
            "Too many requests, please try again later.",
        ),
        (b'{"kind":"Pod"}', '{"kind":"Pod"}'),
        (b'{"kind":"Status","details":7}', '{"kind":"Status","details":7}'),
        (b"[1]", "[1]"),
    ],
)
def test_bodies_that_are_no_status_are_quoted(body: bytes, message: str) -> None:
    error = errors.from_response(502, body)
    assert type(error) is errors.Transient
    assert error.message == message


def test_retry_after_comes_from_the_body_or_the_header() -> None:
    details = {"retryAfterSeconds": 7}
    in_body = answer(429, details=details)
    in_header = errors.from_response(429, b"", retry_after="3")
    neither = errors.from_response(429, b"", retry_after="Wed, 21 Oct 2026 07:28:00 GMT")
    waits = [
        e.retry_after
        for e in (in_body, in_header, neither)
        if isinstance(e, errors.TooManyRequests)
    ]
    assert waits == [7.0, 3.0, None]


@given(code=st.integers(300, 599), body=st.binary(max_size=200))
def test_any_answer_gives_an_error_and_never_an_exception(code: int, body: bytes) -> None:
    error = errors.from_response(code, body, retry_after="x")
    assert error.status == code
    assert error.message


def test_only_the_transient_family_is_worth_sending_again() -> None:
    retryable = {kind for kind in _all(errors.ApiError) if kind.is_retryable}
    assert retryable == {errors.Transient, *_all(errors.Transient)}


def _all(kind: type[errors.ApiError]) -> set[type[errors.ApiError]]:
    return {sub for child in kind.__subclasses__() for sub in {child, *_all(child)}}


def test_message_that_repeats_a_huge_value_is_cut() -> None:
    body = msgspec.json.encode({"kind": "Status", "code": 422, "message": "x" * 500_000})
    assert len(errors.from_response(422, body, request="create pods").message) == 4096
