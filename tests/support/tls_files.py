"""Certificates for these tests only: an authority, a server, a client.

The authority's key is thrown away, so nothing more can be signed by it. The server is known as
127.0.0.1, localhost and api.test.
"""

import ssl
from pathlib import Path

_FOLDER = Path(__file__).parent / "tls"

AUTHORITY = _FOLDER / "ca.crt"
CLIENT = _FOLDER / "client.crt"
CLIENT_KEY = _FOLDER / "client.key"


def server_context(*, asks_for_client: bool = False) -> ssl.SSLContext:
    """The TLS context of a server, with or without client certificates."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=AUTHORITY)
    context.load_cert_chain(_FOLDER / "server.crt", _FOLDER / "server.key")
    if asks_for_client:
        context.verify_mode = ssl.CERT_REQUIRED
    return context
