"""What a node has left on the machine: processes, mounts, links, firewall rules, control groups."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.node.configuration import BRIDGE
from tests.support.node.machine import CGROUP, CGROUPS, Folders

_SECONDS = 60
_SHARES = 8 * 1024
"""All pods together count like eight processes of a busy host, not like one."""
_POLL_SECONDS = 0.2


def make_control_groups() -> None:
    """Make the node's control group in every hierarchy of this machine."""
    for root in _hierarchies():
        (root / CGROUP).mkdir(exist_ok=True)
        shares = root / CGROUP / "cpu.shares"
        if shares.exists():
            shares.write_text(str(_SHARES))


def remove_control_groups() -> None:
    """Remove the node's control groups, once the kernel has ended the processes in them."""
    deadline = time.monotonic() + _SECONDS
    while any(_control_groups()) and time.monotonic() < deadline:
        for top in _control_groups():
            _remove(top)
        time.sleep(_POLL_SECONDS)


def leftovers(place: Folders) -> list[str]:
    """One line for each thing of a node that is still there; none after a clean end."""
    return [
        *(f"process {pid}: {words}" for pid, words in _processes(place)),
        *(f"mount {path}" for path in _mounts(place)),
        *(f"link {name}" for name in ("node0", BRIDGE) if Path("/sys/class/net", name).exists()),
        *(f"control group {path}" for path in _control_groups()),
        *(f"firewall rule {rule}" for rule in _rules()),
    ]


def _processes(place: Folders) -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(place.run) in words:
            yield int(entry.name), words[:100]


def _mounts(place: Folders) -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [path for path in (line.split()[1] for line in lines) if path.startswith(str(place.run))]


def _rules() -> list[str]:
    done = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if "KUBE-" in line or "CNI-" in line]


def _hierarchies() -> list[Path]:
    """The one hierarchy of version 2, or one for each controller of version 1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [each for each in sorted(CGROUPS.iterdir()) if (each / "cgroup.procs").exists()]


def _control_groups() -> list[Path]:
    return [root / CGROUP for root in _hierarchies() if (root / CGROUP).exists()]


def _remove(top: Path) -> None:
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:
            return
