"""This machine as a node."""

import os
import sys
from pathlib import Path

import pytest

from tfjob.k8s import quantity
from tfjob.local.node.machine import (
    NodeSettings,
    base_environment,
    node_object,
    settings_of_machine,
    with_first_folder,
)


def test_the_node_offers_the_whole_machine(tmp_path: Path) -> None:
    environ = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0,1"}
    found = settings_of_machine(tmp_path / "data", workdir=tmp_path, environ=environ)
    assert found.allocatable["nvidia.com/gpu"] == "2"
    assert found.amounts["cpu"].nano >= 10**9
    assert found.amounts["memory"].nano > 0
    assert found.amounts["ephemeral-storage"].nano > 0
    assert found.environ["PATH"] == f"{Path(sys.executable).parent}:/bin"
    assert found.pods_folder == tmp_path.resolve() / "data" / "pods"


def test_a_machine_without_gpus_offers_none(tmp_path: Path) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": ""}
    found = settings_of_machine(tmp_path, workdir=tmp_path, environ=environ)
    assert "nvidia.com/gpu" not in found.allocatable


def test_this_python_is_found_first_and_output_is_not_buffered() -> None:
    base = base_environment({"PATH": "/bin:/py/bin", "PWD": "/x"}, python_folder="/py/bin")
    assert base == {"PATH": "/py/bin:/bin", "PYTHONUNBUFFERED": "1"}
    assert base_environment({}, python_folder="/p")["PATH"] == with_first_folder(os.defpath, "/p")
    kept = base_environment({"PYTHONUNBUFFERED": ""}, python_folder="/p")
    assert kept["PYTHONUNBUFFERED"] == ""


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"http_proxy": "http://p"}, "127.0.0.1,localhost"),
        ({"https_proxy": "http://p", "no_proxy": "corp"}, "corp,127.0.0.1,localhost"),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "corp"}, "corp,127.0.0.1,localhost"),
    ],
)
def test_peers_are_never_reached_through_a_proxy(environ: dict[str, str], expected: str) -> None:
    base = base_environment(environ, python_folder="/p")
    assert (base["no_proxy"], base["NO_PROXY"]) == (expected, expected)


def test_without_a_proxy_no_exception_is_set() -> None:
    assert "no_proxy" not in base_environment({}, python_folder="/p")


def test_the_node_is_ready_and_shows_its_size(tmp_path: Path) -> None:
    sizes = {"cpu": "2", "memory": "1Gi"}
    settings = NodeSettings(data=tmp_path, workdir=tmp_path, name="here", allocatable=sizes)
    node = node_object(settings, now="2026-01-01T00:00:00Z")
    assert node["metadata"]["name"] == "here"
    assert node["status"]["allocatable"] == sizes
    assert node["status"]["conditions"][0]["status"] == "True"
    assert settings.amounts["cpu"] == quantity.parse("2")
