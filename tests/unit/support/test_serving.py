"""The cluster of a test ends with its context, even in the middle of a handshake."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.local_apiserver.serving import api_server_in_thread
from tests.support.patience import PATIENCE


def test_caller_that_never_agreed_on_tls_is_hung_up_on(tmp_path: Path) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        address = urlsplit(cluster.endpoint.server)
        caller = socket.create_connection((address.hostname, address.port), timeout=PATIENCE)
        cluster.job_names()  # whoever calls later is served, so the one before was let in
    with caller:
        assert caller.recv(1) == b""
