"""Runs a whole cluster of one node; the program that runs inside the node's namespaces.

It starts every component and then keeps them running, except those that a test holds. When it ends,
for whatever reason, the kernel ends everything in its process namespace, and mounts, links and
firewall rules go with the namespaces that held them.
"""

import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.controlplane import commands
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import provide
from tests.support.node import configuration
from tests.support.node.images import COREDNS, images, import_into
from tests.support.node.machine import ADDRESS, NODE, SERVICES, Folders, folders
from tests.support.patience import PATIENCE

BINARIES = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "coredns",
    "training-operator",
)
_POLL_SECONDS = 0.1
_USERS = {
    "admin": ("admin", "system:masters"),
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
    "kube-proxy": ("system:kube-proxy", ""),
}
_NETWORK = (
    "ip link set lo up",
    "ip link add node0 type bridge",
    f"ip address add {ADDRESS}/24 dev node0",
    "ip link set node0 up",
    # The API server calls webhooks through Services; packets to these are redirected on their way.
    f"ip route add {SERVICES} dev node0",
)
_SETTINGS = ("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables")


class Node:
    """The components of the cluster, each with its log in the run folder."""

    def __init__(self, place: Folders) -> None:
        self._place = place
        self._started = time.monotonic()
        self._binaries = provide(*BINARIES)
        self._tokens = {name: secrets.token_hex(16) for name in _USERS}
        self._site = commands.Site(
            binaries=self._binaries,
            folder=place.run,
            etcd_port=2379,
            peer_port=2380,
            secure_port=6443,
            address=ADDRESS,
        )
        self._processes = Processes(place.run)
        self._commands: dict[str, configuration.Command] = {}

    def start(self) -> None:
        """Start everything; returns when pods can run and names can be resolved."""
        _network()
        configuration.write(self._place)
        rows = [f'{self._tokens[n]},{user},{n},"{group}"' for n, (user, group) in _USERS.items()]
        self._site.tokens.write_text("\n".join(rows) + "\n")
        self._run("containerd", configuration.containerd(self._place))
        self._run("etcd", commands.etcd(self._site))
        flags = (
            "--endpoint-reconciler-type=lease",
            "--kubelet-preferred-address-types=InternalIP",
        )
        self._run("kube-apiserver", commands.apiserver(self._site, flags))
        self._import_images()
        self._wait("the API server is ready", self._is_ready)
        self._write_kubeconfigs()
        self._run(
            "kube-controller-manager", commands.controller_manager(self._site, has_kubelets=True)
        )
        self._run("kube-scheduler", commands.scheduler(self._site))
        self._run("kubelet", configuration.kubelet(self._place, self._binaries["kubelet"]))
        self._run("kube-proxy", configuration.kube_proxy(self._place, self._binaries["kube-proxy"]))
        self._wait("the node is ready", lambda: _is_true(self._get(f"/nodes/{NODE}"), "Ready"))
        for each in configuration.coredns(COREDNS):
            self._create(each)
        self._wait("names can be resolved", self._resolves)
        self._place.is_ready.touch()

    def keep(self) -> None:
        """Keep every component running that no test holds, until this process is ended."""
        while True:
            for name, command in self._commands.items():
                is_held = (self._place.held / name).exists()
                is_running = name in self._processes.names()
                if is_held and is_running:
                    self._processes.end(name)
                elif not is_held and (not is_running or self._has_ended(name)):
                    self._processes.start(name, command)
            time.sleep(_POLL_SECONDS)

    def _has_ended(self, name: str) -> bool:
        return name in self._processes.ended_by_themselves()

    def _run(self, name: str, command: configuration.Command) -> None:
        self._commands[name] = command
        path = f"{self._place.packages}/usr/bin:{self._place.packages}/usr/sbin"
        self._processes.start(name, command, {"PATH": f"{path}:/usr/sbin:/usr/bin:/sbin:/bin"})

    def _import_images(self) -> None:
        version = configuration.ctr(self._place, "version")

        def answers() -> bool:
            return subprocess.run(version, capture_output=True, check=False).returncode == 0

        self._wait("containerd is ready", answers)
        import_into(self._place, images(self._binaries), say=self._say)

    def _is_ready(self) -> bool:
        path = self._site.certificate
        certificate = path.read_text() if path.exists() else ""
        if not certificate:
            return False
        self._endpoint = Endpoint(
            server=self._site.server, token=self._tokens["admin"], certificate=certificate
        )
        return self._answers("/readyz")

    def _write_kubeconfigs(self) -> None:
        self._place.kubeconfig.write_text(self._endpoint.kubeconfig())
        for name, token in self._tokens.items():
            text = replace(self._endpoint, token=token).kubeconfig()
            (self._place.run / f"{name}.kubeconfig").write_text(text)

    def _resolves(self) -> bool:
        found = self._get("/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-dns")
        return any(_is_true(each, "Ready") for each in found.get("items", []))

    def _get(self, path: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._endpoint.request("GET", f"/api/v1{path}")
        except (ApiError, OSError):
            return {}
        return found

    def _answers(self, path: str) -> bool:
        try:
            self._endpoint.request("GET", path)
        except (ApiError, OSError):
            return False
        return True

    def _create(self, body: dict[str, Any]) -> None:
        group = body["apiVersion"]
        prefix = f"/apis/{group}" if "/" in group else f"/api/{group}"
        namespace = body["metadata"].get("namespace")
        middle = f"/namespaces/{namespace}" if namespace else ""
        self._endpoint.request("POST", f"{prefix}{middle}/{body['kind'].lower()}s", body)

    def _wait(self, thing: str, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 3 * PATIENCE
        while not is_so():
            ended = self._processes.ended_by_themselves()
            if ended:
                sys.exit(f"{ended[0]} ended by itself:\n{self._processes.last_words(ended[0])}")
            if time.monotonic() > deadline:
                sys.exit(f"waited too long until {thing}; logs in {self._place.run}")
            time.sleep(_POLL_SECONDS)
        self._say(thing)

    def _say(self, line: str) -> None:
        print(f"[e2e] {time.monotonic() - self._started:5.1f} s  {line}", flush=True)


def _network() -> None:
    for line in _NETWORK:
        subprocess.run(line.split(), check=True)
    for name in _SETTINGS:
        Path("/proc/sys", name).write_text("1\n")


def _is_true(found: dict[str, Any], condition: str) -> bool:
    conditions = found.get("status", {}).get("conditions", [])
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def main() -> None:
    """Run the cluster until this process is ended."""
    node = Node(folders())
    node.start()
    node.keep()


if __name__ == "__main__":
    main()
