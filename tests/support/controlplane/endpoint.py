"""How to reach an API server: address, token, certificate; as kubeconfig, or by blocking calls."""

import base64
import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.support.patience import PATIENCE

MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """The server answered with something other than success."""

    def __init__(self, request: str, *, status: int, body: bytes) -> None:
        self.status = status
        self.reason, message = _reason_and_message(body)
        super().__init__(f"{request}: {status} {self.reason}: {message}")


class _ClosingSocket(ssl.SSLSocket):
    """Closes itself when it is forgotten.

    The ssl module leaves a socket open whose peer resets the connection before the handshake. Its
    warning would fail whichever test happens to run then.
    """

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One server as seen by one identity."""

    server: str
    token: str
    certificate: str | None = None

    def ssl_context(self) -> ssl.SSLContext | None:
        """What verifies the server, or None where it speaks plain HTTP."""
        if self.certificate is None:
            return None
        context = ssl.create_default_context(cadata=self.certificate)
        context.sslsocket_class = _ClosingSocket
        return context

    def headers(self, content_type: str = "application/json") -> dict[str, str]:
        """The identity and the kind of body."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        timeout: float = PATIENCE,
    ) -> Any:
        """Send one request and decode the answer; raises ApiError unless it is 2xx."""
        connection = self._connection(timeout)
        try:
            content_type = MERGE_PATCH if method == "PATCH" else "application/json"
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, body=payload, headers=self.headers(content_type))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise ApiError(f"{method} {path}", status=response.status, body=content)
        is_json = response.headers.get_content_type() == "application/json"
        return json.loads(content) if is_json else content.decode()

    def kubeconfig(self) -> str:
        """A self-contained kubeconfig for this identity."""
        cluster: dict[str, str] = {"server": self.server}
        if self.certificate is not None:
            cluster["certificate-authority-data"] = base64.b64encode(
                self.certificate.encode()
            ).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        return yaml.safe_dump(document, sort_keys=False)

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        address = urlsplit(self.server)
        host, port = address.hostname or "", address.port
        context = self.ssl_context()
        if context is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)


def _reason_and_message(body: bytes) -> tuple[str, str]:
    try:
        status = json.loads(body)
    except ValueError:
        status = None
    if not isinstance(status, dict):
        return "", body.decode(errors="replace")
    return str(status.get("reason", "")), str(status.get("message", ""))
