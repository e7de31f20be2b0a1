"""Holds the node's namespaces, and cleans up when they end; it outlives whoever started it.

With `--lifeline` the node ends as soon as the standard input does, so that it does not outlive a
test run that was killed. Without, it ends on SIGTERM.
"""

import ctypes
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from tests.support.node.leftovers import leftovers, make_control_groups, remove_control_groups
from tests.support.node.machine import Folders, folders

_NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_PARENT_DEATH_SIGNAL = 1
_POLL_SECONDS = 0.05


def main(arguments: list[str]) -> int:
    """Run a node until it is told to end; 0 if nothing of it is left."""
    place = folders()
    make_control_groups()
    node = _start(place)
    signal.signal(signal.SIGTERM, lambda number, frame: _end(node, number, frame))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if "--lifeline" in arguments:
        threading.Thread(target=_wait_for_the_end_of_input, args=(node,), daemon=True).start()
    node.wait()
    return clean_up(place)


def clean_up(place: Folders) -> int:
    """Remove what the kernel does not remove by itself, and say what is left."""
    started = time.monotonic()
    remove_control_groups()
    found = leftovers(place)
    for each in ("kubelet", "etcd-data", "volumes", "containerd", "ready", "pid", "held"):
        path = place.run / each
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    for line in found:
        print(f"[e2e] LEFT BEHIND: {line}", flush=True)
    if not found:
        print(
            "[e2e] torn down: no process, mount, link, control group or firewall rule is left "
            f"({time.monotonic() - started:.1f} s)",
            flush=True,
        )
    return 1 if found else 0


def _start(place: Folders) -> "subprocess.Popen[bytes]":
    libc = ctypes.CDLL(None)

    def die_with_me() -> None:
        libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    node = subprocess.Popen(
        [*_NAMESPACES, sys.executable, "-m", "tests.support.node.first_process"],
        stdin=subprocess.DEVNULL,
        preexec_fn=die_with_me,  # noqa: PLW1509 - no thread has been started yet
    )
    children = Path(f"/proc/{node.pid}/task/{node.pid}/children")
    while node.poll() is None and not children.read_text().strip():
        time.sleep(_POLL_SECONDS)
    place.first_process.write_text(children.read_text().strip() if node.poll() is None else "")
    return node


def _end(node: "subprocess.Popen[bytes]", number: int, frame: FrameType | None) -> None:
    # --kill-child then ends the first process of the namespace, and the kernel all the others.
    node.kill()


def _wait_for_the_end_of_input(node: "subprocess.Popen[bytes]") -> None:
    sys.stdin.buffer.read()
    node.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
