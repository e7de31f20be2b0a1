"""Readiness and addresses of servers."""

import socket
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tests.unit.local.node.fake_api import FakeApi, Pod, pod, until
from tests.unit.local.node.whole_node import finished
from tfjob.local.node.readiness import (
    URL,
    containers_not_listening,
    is_server,
    shown_port,
    shown_url,
    url_of,
    without_ephemeral_ports,
)
from tfjob.local.node.sockets import Address

SERVER = """
import http.server, pathlib, sys, time
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
while not pathlib.Path("go").exists(): time.sleep(0.005)
where = (options["--host"], int(options["--port"]))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(str(where).encode())
http.server.HTTPServer(where, Handler).serve_forever()
"""

LATECOMER = """
import pathlib, sys, time
port, asked = sys.argv[sys.argv.index("--port") + 1], pathlib.Path("asked")
if not asked.exists():
    pathlib.Path("asked.new").write_text(port)
    pathlib.Path("asked.new").rename(asked)
    while not pathlib.Path("taken").exists(): time.sleep(0.005)
    sys.exit(1)
"""


def board(name: str, *, kind: str = "ReplicaSet") -> Pod:
    """A pod of a ReplicaSet that listens on every address, as its container would."""
    one = pod(name, "true", policy="Always", terminationGracePeriodSeconds=0)
    words = [sys.executable, "-c", SERVER, "--host", "0.0.0.0", "--port", "6006"]  # noqa: S104 - that is the point
    one["spec"]["containers"][0] |= {"command": words, "ports": [{"containerPort": 6006}]}
    owner = {"kind": kind, "name": "rs", "uid": "u", "controller": True}
    one["metadata"] |= {"labels": {"app": "board"}, "ownerReferences": [owner]}
    return one


def is_ready(api: FakeApi, name: str) -> bool:
    conditions = api.pods[name]["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def asked(api: FakeApi, name: str) -> str:
    url = shown_url(api.pods[name])
    assert url is not None
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - a server of this test
        return str(answer.read().decode())


async def test_a_server_is_ready_and_has_an_address_when_it_listens(
    api: FakeApi, tmp_path: Path
) -> None:
    api.create(board("b"))
    await until(lambda: api.phase("b") == "Running")
    assert not is_ready(api, "b")
    assert shown_url(api.pods["b"]) is None
    (tmp_path / "go").touch()
    await until(lambda: is_ready(api, "b"))
    assert asked(api, "b") == str(("127.0.0.1", shown_port(api.pods["b"])))


async def test_two_servers_with_the_same_port_both_listen(api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    api.create(board("a"))
    api.create(board("b"))
    await until(lambda: is_ready(api, "a") and is_ready(api, "b"))
    assert {asked(api, "a"), asked(api, "b")} == {
        str(("127.0.0.1", shown_port(api.pods[name]))) for name in ("a", "b")
    }
    assert shown_url(api.pods["a"]) != shown_url(api.pods["b"])


async def test_the_address_is_removed_when_the_process_ends(api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    one = board("b")
    one["spec"]["restartPolicy"] = "Never"
    one["spec"]["activeDeadlineSeconds"] = 3600
    api.create(one)
    await until(lambda: is_ready(api, "b"))
    api.pods["b"]["spec"]["activeDeadlineSeconds"] = 0
    api.relist()
    assert await finished(api, "b") == "Failed"
    await until(lambda: shown_url(api.pods["b"]) is None)
    assert not is_ready(api, "b")


async def test_a_server_whose_port_was_taken_gets_another(api: FakeApi, tmp_path: Path) -> None:
    one = board("b")
    container = one["spec"]["containers"][0]
    python, flag, server, *options = container["command"]
    container["command"] = [python, flag, LATECOMER + server, *options]
    api.create(one)
    asked = tmp_path / "asked"
    await until(asked.exists)
    with socket.create_server(("127.0.0.1", int(asked.read_text()))):
        for name in ("taken", "go"):
            (tmp_path / name).touch()
        await until(lambda: is_ready(api, "b"))
        assert shown_port(api.pods["b"]) != int(asked.read_text())


async def test_an_outdated_address_is_removed(api: FakeApi) -> None:
    one = board("b")
    one["metadata"]["annotations"] = {URL: "http://127.0.0.1:6006/", "kept": "yes"}
    api.create(one)
    await until(lambda: api.phase("b") == "Running")
    await until(lambda: shown_url(api.pods["b"]) is None)
    assert api.pods["b"]["metadata"]["annotations"] == {"kept": "yes"}


async def test_peers_reach_a_server_by_its_service(api: FakeApi, tmp_path: Path) -> None:
    spec = {"selector": {"app": "board"}, "ports": [{"port": 80, "targetPort": 6006}]}
    api.service_list = [{"metadata": {"namespace": "ns", "name": "board"}, "spec": spec}]
    (tmp_path / "go").touch()
    api.create(board("b"))
    await until(lambda: is_ready(api, "b"))
    peer = pod("p", "echo $BOARD > url")
    peer["spec"]["containers"][0]["env"] = [{"name": "BOARD", "value": "http://board:80/"}]
    api.create(peer)
    assert await finished(api) == "Succeeded"
    assert (tmp_path / "url").read_text().strip() == shown_url(api.pods["b"])


async def test_a_pod_that_is_not_a_server_is_ready_when_it_runs(api: FakeApi) -> None:
    api.create(board("b", kind="TFJob"))
    await until(lambda: is_ready(api, "b"))
    assert shown_url(api.pods["b"]) is None


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment"])
def test_pods_of_deployments_and_replica_sets_are_servers(kind: str) -> None:
    assert is_server(board("b", kind=kind))


def test_other_pods_are_not_servers() -> None:
    assert not is_server(board("b", kind="Job"))
    assert not is_server(pod("p", "true"))


def test_only_containers_that_declare_ports_must_listen() -> None:
    one: dict[str, Any] = {"name": "a", "ports": [{"containerPort": 1}]}
    meant = {"spec": {"containers": [one, {"name": "b"}]}}
    assert containers_not_listening(meant, {}) == {"a"}
    assert containers_not_listening(meant, {"a": [Address("127.0.0.1", 1)]}) == frozenset()


def test_assigned_ports_come_first() -> None:
    listening_on = {
        "a": [Address("127.0.0.1", 7), Address("127.0.0.1", 5)],
        "b": [Address("::1", 9)],
    }
    assert url_of(listening_on, preferred=[]) == "http://127.0.0.1:7/"
    assert url_of(listening_on, preferred=[9, 5]) == "http://[::1]:9/"
    assert url_of({"a": ()}, preferred=[5]) is None


def test_ports_that_the_system_assigned_are_not_an_address() -> None:
    helper, own = Address("127.0.0.1", 40000), Address("127.0.0.1", 50000)
    listening_on = {"a": [helper, own]}
    assert without_ephemeral_ports(listening_on, preferred=[50000], first_chosen=32768) == {
        "a": [own]
    }


@pytest.mark.parametrize(
    ("url", "port"), [("http://127.0.0.1:6006/", 6006), ("http://[::1]:7/", 7), ("odd", None)]
)
def test_the_port_of_an_address_is_read_back(url: str, port: int | None) -> None:
    assert shown_port({"metadata": {"annotations": {URL: url}}}) == port
