"""This machine as a node: its capacity, its folders and its Node object.

Everything about the machine is read once, here, and passed on as settings.
"""

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tfjob.k8s import quantity
from tfjob.k8s.quantity import Quantity
from tfjob.k8s.resource_usage import ZERO
from tfjob.local.data_folder import make_folder
from tfjob.local.node.cluster_access import ClusterAccess
from tfjob.local.node.devices import gpus_of_machine
from tfjob.local.node.overcommit import ANNOTATION as OVERCOMMIT
from tfjob.local.node.overcommit import Overcommit
from tfjob.local.node.resource_fit import GPU
from tfjob.local.node.restart_policy import Backoff

MOST_PODS = 500
DATA_FOLDER = "tfjob.dev/data-folder"
"""The annotation of the Node that names the folder of the node's files."""
_DROPPED = ("PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME")
_PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY")


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the node; `data` holds all it writes, commands start in `workdir`."""

    data: Path
    workdir: Path
    name: str = "local"
    allocatable: Mapping[str, str] = {}
    gpus: tuple[str, ...] = ()
    environ: Mapping[str, str] = {}
    access: ClusterAccess | None = None
    overcommit: Overcommit = Overcommit()
    has_real_mounts: bool = True
    backoff: Backoff = Backoff()
    retry_seconds: float = 2.0
    memory_interval: float = 0.5
    log_limit: int = 10 * 1024 * 1024
    log_files: int = 5

    @property
    def pods_folder(self) -> Path:
        return self.data / "pods"

    @property
    def claims_folder(self) -> Path:
        return self.data / "volumes"

    @property
    def amounts(self) -> dict[str, Quantity]:
        """The allocatable resources as quantities."""
        return {name: quantity.parse(text) or ZERO for name, text in self.allocatable.items()}


def settings_of_machine(  # noqa: PLR0913 - one value for each thing a person may choose
    data: Path,
    *,
    workdir: Path,
    environ: Mapping[str, str],
    backoff: Backoff | None = None,
    python: Path | None = None,
    overcommit: Overcommit = Overcommit(),  # noqa: B008 - immutable
    has_real_mounts: bool = True,
) -> NodeSettings:
    """Settings that offer the whole machine to pods; `python` is the Python that they find."""
    python_folder = (python or Path(sys.executable)).parent
    make_folder(data)
    gpus = gpus_of_machine(environ)
    return NodeSettings(
        data=data.resolve(),
        workdir=workdir.resolve(),
        gpus=gpus,
        allocatable=allocatable_of_machine(data, gpus=len(gpus)),
        environ=base_environment(environ, python_folder=str(python_folder)),
        backoff=backoff or Backoff(),
        overcommit=overcommit,
        has_real_mounts=has_real_mounts,
    )


def allocatable_of_machine(data: Path, *, gpus: int) -> dict[str, str]:
    """Allocatable CPU, memory, disk and GPUs."""
    sizes = {
        "cpu": str(_cpus()),
        "memory": f"{_memory_kib()}Ki",
        "ephemeral-storage": f"{shutil.disk_usage(data).free // 1024}Ki",
        "pods": str(MOST_PODS),
    }
    return sizes | ({GPU: str(gpus)} if gpus else {})


def base_environment(environ: Mapping[str, str], *, python_folder: str) -> dict[str, str]:
    """The caller's environment for containers: this Python first in PATH, no proxy for loopback."""
    base = {name: value for name, value in environ.items() if name not in _DROPPED}
    base["PATH"] = with_first_folder(environ.get("PATH", os.defpath), python_folder)
    base.setdefault("PYTHONUNBUFFERED", "1")
    if any(environ.get(name) for name in _PROXIES):
        exempt = [environ.get("no_proxy") or environ.get("NO_PROXY") or "", "127.0.0.1,localhost"]
        base["no_proxy"] = base["NO_PROXY"] = ",".join(filter(None, exempt))
    return base


def with_first_folder(path: str, folder: str) -> str:
    """A PATH that begins with this folder."""
    rest = [part for part in path.split(os.pathsep) if part and part != folder]
    return os.pathsep.join([folder, *rest])


def node_object(settings: NodeSettings, *, now: str) -> dict[str, Any]:
    """The Node object."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "pods run as processes of this machine",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    system = {
        "operatingSystem": platform.system().lower(),
        "architecture": platform.machine(),
        "kernelVersion": platform.release(),
        "osImage": platform.platform(),
        "containerRuntimeVersion": "process://1",
        "kubeletVersion": "v1.36.0-tfjob",
    }
    labels = {
        "kubernetes.io/hostname": settings.name,
        "kubernetes.io/os": platform.system().lower(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": settings.name,
            "labels": labels,
            "annotations": {
                DATA_FOLDER: str(settings.data),
                OVERCOMMIT: settings.overcommit.annotation,
            },
        },
        "status": {
            "capacity": dict(settings.allocatable),
            "allocatable": dict(settings.allocatable),
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "conditions": [ready],
            "nodeInfo": system,
        },
    }


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has CPU affinity
        return os.cpu_count() or 1


def _memory_kib() -> int:
    page_size, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return page_size * pages // 1024
