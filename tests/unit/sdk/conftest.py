"""A local API server and a client of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer, api_server_in_thread
from tfjob.sdk.client import Client, connect


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ThreadedApiServer]:
    with api_server_in_thread(tmp_path / "data") as found:
        yield found


@pytest.fixture
def client(server: ThreadedApiServer) -> Iterator[Client]:
    with connect(server.kubeconfig) as found:
        yield found
