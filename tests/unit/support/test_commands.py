"""Command lines listen on loopback only and disable what would disturb a fake kubelet."""

from pathlib import Path

import pytest

from tests.support.controlplane import commands
from tests.support.controlplane.commands import Command, Site

_NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
SITE = Site(
    binaries={name: Path("bin", name) for name in _NAMES},
    folder=Path("folder"),
    etcd_port=20001,
    peer_port=20002,
    secure_port=20003,
    feature_gates=("A=true", "B=false"),
)
COMMANDS = {
    "etcd": commands.etcd(SITE),
    "kube-apiserver": commands.apiserver(SITE, ["--profiling=false"]),
    "kube-controller-manager": commands.controller_manager(SITE, has_kubelets=False),
    "kube-scheduler": commands.scheduler(SITE),
    "kwok": commands.kwok(SITE, Path("stages.yaml")),
}


def flags(command: Command) -> dict[str, str]:
    pairs = (str(word).partition("=") for word in command[1:])
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize("name", _NAMES)
def test_command_starts_the_binary_of_its_name(name: str) -> None:
    assert COMMANDS[name][0] == Path("bin", name)


@pytest.mark.parametrize(
    ("name", "flag", "value"),
    [
        ("etcd", "--listen-client-urls", "http://127.0.0.1:20001"),
        ("etcd", "--listen-peer-urls", "http://127.0.0.1:20002"),
        ("kube-apiserver", "--bind-address", "127.0.0.1"),
        ("kube-controller-manager", "--secure-port", "0"),
        ("kube-scheduler", "--secure-port", "0"),
        ("kwok", "--node-port", "0"),
    ],
)
def test_process_listens_on_loopback_or_not_at_all(name: str, flag: str, value: str) -> None:
    assert flags(COMMANDS[name])[flag] == value


def test_api_server_asks_rbac() -> None:
    assert "RBAC" in flags(COMMANDS["kube-apiserver"])["--authorization-mode"]


def test_flags_of_the_caller_come_last_so_that_they_win() -> None:
    assert COMMANDS["kube-apiserver"][-1] == "--profiling=false"


@pytest.mark.parametrize("name", ["kube-apiserver", "kube-controller-manager", "kube-scheduler"])
def test_feature_gates_reach_every_component(name: str) -> None:
    assert flags(COMMANDS[name])["--feature-gates"] == "A=true,B=false"


def test_nodes_are_watched_only_where_something_plays_their_kubelets() -> None:
    alone = flags(commands.controller_manager(SITE, has_kubelets=False))
    watched = flags(commands.controller_manager(SITE, has_kubelets=True))
    assert "-node-lifecycle-controller" in alone["--controllers"]
    assert watched["--controllers"] == "*"
