"""The program of parameter servers without a template serves with real TensorFlow."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.controlplane.ports import LOOPBACK, Ports
from tfjob.dialects import tensorflow

SCRIPT = Path(tensorflow.__file__).parent / "scripts" / "grpc_tensorflow_server.py"
STARTS_WITHIN = 120.0
pytestmark = pytest.mark.timeout(300, func_only=True)


def is_open(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex((LOOPBACK, port)) == 0


@pytest.mark.scenario("A-34")
def test_server_with_tf_config_alone_listens_on_its_own_port() -> None:
    ports = Ports()
    port, other = ports.take(), ports.take()
    cluster = {"ps": [f"{LOOPBACK}:{other}", f"{LOOPBACK}:{port}"]}
    task = {"cluster": cluster, "task": {"type": "ps", "index": 1}}
    environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
    server = subprocess.Popen([sys.executable, str(SCRIPT)], env=environment)
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not is_open(port):
            assert server.poll() is None, "the server ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert not is_open(other)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) in {-signal.SIGTERM, 128 + signal.SIGTERM}
    finally:
        server.kill()
        server.wait()
        ports.release()
