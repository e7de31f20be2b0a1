"""What a machine must have to run a real node, and where the node's files are on it."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import image

ADDRESS = "10.240.0.1"
"""The node's address, on an interface of its own network namespace."""
NODE = "node-0"
PODS = "10.244.0.0/24"
SERVICES = "10.96.0.0/16"
DNS = "10.96.0.10"
CGROUP = "tfjob-e2e"
"""The control group of all pods, at the root of each hierarchy."""
CGROUPS = Path("/sys/fs/cgroup")
_NEEDED = ("apt-get", "dpkg", "ip", "iptables", "nsenter", "unshare")
_BYTES = 12 << 30


@dataclass(frozen=True)
class Folders:
    """The folder of the node: what is kept between runs, and `run`, which is thrown away."""

    home: Path

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def packages(self) -> Path:
        """containerd, runc and the CNI plug-ins, unpacked."""
        return self.home / "packages"

    @property
    def containerd(self) -> Path:
        """The images, imported once."""
        return self.home / "containerd"

    @property
    def kubeconfig(self) -> Path:
        return self.run / "kubeconfig"

    @property
    def volumes(self) -> Path:
        """The folder of hostPath volumes."""
        return self.run / "volumes"

    @property
    def held(self) -> Path:
        """A file of a component's name in it stops the component; removing it starts it again."""
        return self.run / "held"

    @property
    def is_ready(self) -> Path:
        """Exists once pods can run."""
        return self.run / "ready"

    @property
    def first_process(self) -> Path:
        """The process id, outside, of the first process in the node's namespaces."""
        return self.run / "pid"


def folders(environ: Mapping[str, str] = os.environ) -> Folders:
    return Folders(image.image_store(environ).parent / "node")


def obstacle() -> str | None:
    """Why no node can run here, with the remedy; None if one can."""
    if os.geteuid() != 0:
        return "a node is run by root; use sudo"
    if shutil.which("go") is None:
        return "Go is not installed, and kubelet, kube-proxy and CoreDNS are built from source"
    missing = [name for name in (*_NEEDED, *image.NEEDED) if shutil.which(name) is None]
    if missing:
        return f"missing: {', '.join(missing)}; on Debian: apt-get install iptables mmdebstrap"
    if not Path("/proc/sys/net/bridge").exists():
        return "bridged packets do not pass iptables; `modprobe br_netfilter` changes that"
    home = folders().home
    home.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(home).free < _BYTES:
        return f"{home} has less than {_BYTES >> 30} GiB of free space"
    return image.obstacle()
