"""Encoding of HTTP requests."""

import pytest

from tfjob.client.credentials import ConfigError
from tfjob.client.request import RequestEncoder


def test_request_has_the_host_and_the_length_of_its_body() -> None:
    messages = RequestEncoder("https://me@[::1]:6443/clusters/a/", [("User-Agent", "tfjob")])
    text = messages.encode(
        "POST", "/api/v1/pods?x=1", authorization="Bearer t", content_type="a/b", body=b"{}"
    )
    assert text.decode().split("\r\n") == [
        "POST /clusters/a/api/v1/pods?x=1 HTTP/1.1",
        "Host: [::1]:6443",
        "User-Agent: tfjob",
        "Authorization: Bearer t",
        "Content-Type: a/b",
        "Content-Length: 2",
        "",
        "{}",
    ]


def test_a_request_without_a_body_ends_after_its_headers() -> None:
    text = RequestEncoder("http://a", []).encode("GET", "/version")
    assert text == b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("target", "token"), [("/api\r\nX: y", "t"), ("/api", "t\r\nX: y"), ("/api", "t\nX: y")]
)
def test_path_or_token_cannot_inject_a_header(target: str, token: str) -> None:
    messages = RequestEncoder("http://a", [])
    with pytest.raises(ConfigError, match="control characters"):
        messages.encode("GET", target, authorization=f"Bearer {token}")


def test_configured_header_cannot_inject_another_one() -> None:
    with pytest.raises(ConfigError, match="Impersonate-User"):
        RequestEncoder("http://a", [("Impersonate-User", "jane\r\nX: y")])
