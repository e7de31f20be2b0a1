"""An endpoint speaks as one identity and tells refusals apart."""

import gc
import json
import socket
import struct
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from tests.support.controlplane.endpoint import ApiError, Endpoint
from tfjob.local.apiserver.credentials import load_certificate

TOKEN = "-".join(("test", "token"))


class _Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked; refuses whatever lies under /refused."""

    def do_PATCH(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        seen = {
            "body": json.loads(self.rfile.read(size)),
            "as": self.headers["Authorization"],
            "kind": self.headers["Content-Type"],
        }
        self._answer(200, "application/json", json.dumps(seen))

    def do_GET(self) -> None:
        if self.path == "/refused":
            status = {"kind": "Status", "reason": "Forbidden", "message": "not you"}
            self._answer(403, "application/json", json.dumps(status))
        elif self.path == "/broken":
            self._answer(502, "text/plain", "no upstream")
        else:
            self._answer(200, "text/plain", "ok")

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""

    def _answer(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with HTTPServer(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Endpoint(server=f"http://127.0.0.1:{server.server_port}", token=TOKEN)
        server.shutdown()
        thread.join()


def test_request_carries_identity_and_body(endpoint: Endpoint) -> None:
    seen = endpoint.request("PATCH", "/x", {"a": 1})
    assert seen == {
        "body": {"a": 1},
        "as": f"Bearer {TOKEN}",
        "kind": "application/merge-patch+json",
    }


def test_answer_that_is_not_json_is_text(endpoint: Endpoint) -> None:
    assert endpoint.request("GET", "/readyz") == "ok"


def test_refusal_has_the_servers_reason(endpoint: Endpoint) -> None:
    with pytest.raises(ApiError, match="GET /refused: 403 Forbidden: not you") as refusal:
        endpoint.request("GET", "/refused")
    assert (refusal.value.status, refusal.value.reason) == (403, "Forbidden")


def test_failure_that_is_no_status_is_shown_as_it_is(endpoint: Endpoint) -> None:
    with pytest.raises(ApiError, match="502 : no upstream"):
        endpoint.request("GET", "/broken")


def test_kubeconfig_needs_no_other_file() -> None:
    endpoint = Endpoint(server="https://127.0.0.1:20003", token=TOKEN, certificate="PEM")
    config = yaml.safe_load(endpoint.kubeconfig())
    assert config["current-context"] == "test"
    assert config["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:20003",
        "certificate-authority-data": "UEVN",
    }
    assert config["users"][0]["user"] == {"token": TOKEN}


def test_plain_server_has_no_certificate_in_its_kubeconfig(endpoint: Endpoint) -> None:
    config = yaml.safe_load(endpoint.kubeconfig())
    assert config["clusters"][0]["cluster"] == {"server": endpoint.server}


def test_socket_of_a_server_that_dies_before_the_handshake_is_closed(tmp_path: Path) -> None:
    """The ssl module forgets such a socket, and whichever test runs next would be blamed."""
    certificate, _ = load_certificate(tmp_path, now=datetime.now(UTC))
    endpoint = Endpoint(server="https://x", token=TOKEN, certificate=certificate.read_text())
    context = endpoint.ssl_context()
    assert context is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller = socket.create_connection(server.getsockname())
        answering, _ = server.accept()
        answering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        answering.close()
        with pytest.raises(OSError, match="reset"):
            context.wrap_socket(caller, server_hostname="127.0.0.1")
    # Here pytest would report a socket that nobody has closed.
    gc.collect()
