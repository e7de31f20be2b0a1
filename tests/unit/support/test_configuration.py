"""The configuration of a real node, as far as it can be judged without one."""

import json
import tomllib
from pathlib import Path

import yaml

from tests.support.node import configuration
from tests.support.node.machine import CGROUP, DNS, Folders


def test_every_component_finds_its_file(tmp_path: Path) -> None:
    place = Folders(tmp_path)
    place.run.mkdir()
    configuration.write(place)
    runtime = tomllib.loads((place.run / "containerd.toml").read_text())
    kubelet = yaml.safe_load((place.run / "kubelet.yaml").read_text())
    assert kubelet["containerRuntimeEndpoint"] == f"unix://{runtime['grpc']['address']}"
    assert kubelet["cgroupRoot"] == f"/{CGROUP}"
    assert runtime["root"] == str(place.containerd)
    network = json.loads((place.run / "cni" / "10-pods.conflist").read_text())
    assert [each["type"] for each in network["plugins"]] == ["bridge", "portmap"]
    for command in (
        configuration.containerd(place),
        configuration.kubelet(place, Path("kubelet")),
        configuration.kube_proxy(place, Path("kube-proxy")),
    ):
        files = [Path(str(word).rpartition("=")[2]) for word in command]
        assert any(file.exists() for file in files)


def test_name_server_has_the_address_that_pods_ask(tmp_path: Path) -> None:
    place = Folders(tmp_path)
    place.run.mkdir()
    configuration.write(place)
    objects = configuration.coredns("image:1")
    [service] = [each for each in objects if each["kind"] == "Service"]
    assert service["spec"]["clusterIP"] == DNS
    kubelet = yaml.safe_load((place.run / "kubelet.yaml").read_text())
    assert kubelet["clusterDNS"] == [DNS]
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "image:1"
