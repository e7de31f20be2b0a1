"""The configuration files of a node's components, and the command lines that use them."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.support.node.machine import ADDRESS, CGROUP, DNS, NODE, PODS, Folders

Command = list[str | Path]
PAUSE = "tfjob.test/pause:1"
BRIDGE = "cni0"
_COREDNS = Path(__file__).parent / "coredns.yaml"
_CONTAINERD = """\
version = 2
root = "{root}"
state = "{run}/containerd"
[grpc]
  address = "{run}/containerd.sock"
[ttrpc]
  address = "{run}/containerd.sock.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # A root that lacks CAP_SYS_RESOURCE cannot lower it.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{packages}/usr/lib/cni"
    conf_dir = "{run}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{packages}/usr/sbin/runc"
        SystemdCgroup = false
"""


def write(folders: Folders) -> None:
    """Write every file but the kubeconfigs, which need the API server's certificate."""
    run = folders.run
    text = _CONTAINERD.format(
        root=folders.containerd, run=run, packages=folders.packages, pause=PAUSE
    )
    (run / "containerd.toml").write_text(text)
    (run / "cni").mkdir(exist_ok=True)
    (run / "cni" / "10-pods.conflist").write_text(json.dumps(_network(run)))
    (run / "resolv.conf").write_text("")
    (run / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(run)))
    (run / "kube-proxy.yaml").write_text(yaml.safe_dump(_kube_proxy(run)))


def containerd(folders: Folders) -> Command:
    return [folders.packages / "usr/bin/containerd", "-c", folders.run / "containerd.toml"]


def ctr(folders: Folders, *words: str) -> Command:
    """A command on containerd's images and containers."""
    program = folders.packages / "usr/bin/ctr"
    return [program, "-a", folders.run / "containerd.sock", "-n", "k8s.io", *words]


def kubelet(folders: Folders, binary: Path) -> Command:
    run = folders.run
    return [
        binary,
        f"--config={run}/kubelet.yaml",
        f"--kubeconfig={run}/kubelet.kubeconfig",
        f"--hostname-override={NODE}",
        f"--node-ip={ADDRESS}",
        f"--root-dir={run}/kubelet",
        f"--cert-dir={run}/kubelet/pki",
        "--v=2",
    ]


def kube_proxy(folders: Folders, binary: Path) -> Command:
    return [binary, f"--config={folders.run}/kube-proxy.yaml"]


def coredns(image: str) -> list[dict[str, Any]]:
    """The objects of the cluster's name server."""
    text = _COREDNS.read_text().format(image=image, address=DNS)
    return list(yaml.safe_load_all(text))


def _network(run: Path) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": str(run / "addresses"),
        "ranges": [[{"subnet": PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]}


def _kubelet(run: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "containerRuntimeEndpoint": f"unix://{run}/containerd.sock",
        # Nothing but this cluster is in its network namespace.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "clusterDNS": [DNS],
        "clusterDomain": "cluster.local",
        "resolvConf": str(run / "resolv.conf"),
        "podCIDR": PODS,
        "podLogsDir": str(run / "pods"),
        "failSwapOn": False,
        "oomScoreAdj": 0,
        "readOnlyPort": 0,
        "maxPods": 250,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        # No registry could give a removed image back.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    }


def _kube_proxy(run: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(run / "kube-proxy.kubeconfig")},
        "hostnameOverride": NODE,
        "clusterCIDR": PODS,
        "healthzBindAddress": "127.0.0.1:20256",
        "metricsBindAddress": "127.0.0.1:20249",
        "conntrack": {"maxPerCore": 0},
        "oomScoreAdj": 0,
    }
