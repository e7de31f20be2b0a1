"""The commands behind `make e2e`, `make e2e-up` and `make e2e-down`.

`test` brings a cluster up if there is none, runs the cases inside its namespaces and tears it down,
unless it was there before or KEEP is set. Where no cluster can run, one line says so.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.controlplane.toolchain import BuildError, Toolchain, Unavailable
from tests.support.node import machine
from tests.support.node.images import images
from tests.support.node.inside import BINARIES
from tests.support.node.leftovers import remove_control_groups
from tests.support.node.machine import Folders
from tests.support.node.packages import provide_packages
from tests.support.node.supervisor import clean_up
from tools.images.builder import ImageError

_CASES = Path("tests", "e2e_node")
_ALONE = _CASES / "alone"
_BESIDE = os.environ.get("E2E_JOBS", "4")
_NOTHING_CHOSEN = 5
"""The exit code of pytest if no case has the name in ONLY."""
_POLL_SECONDS = 0.2
_TOOLS = (*BINARIES, "kubectl", "helm")


def main(arguments: Sequence[str]) -> int:
    """Run one command: up, down, test or run."""
    verb, rest = arguments[0], list(arguments[1:])
    why_not = machine.obstacle()
    if why_not:
        say(f"SKIPPED, nothing was tested: {why_not}")
        return 0
    place = machine.folders()
    place.home.mkdir(parents=True, exist_ok=True)
    try:
        with _only_one(place):
            return {"up": _up, "down": _down, "test": _test, "run": _run}[verb](place, rest)
    except Unavailable as missing:
        say(f"SKIPPED, nothing was tested: {missing}")
        return 0
    except (BuildError, ImageError) as fault:
        say(str(fault))
        return 1


def _up(place: Folders, rest: list[str]) -> int:
    if _is_up(place):
        say("the cluster is up already")
    else:
        _prepare(place)
        with (place.home / "supervisor.log").open("wb") as log:
            supervisor = _start(place, log=log.fileno())
        if not _wait_until_ready(place, supervisor):
            print((place.home / "supervisor.log").read_text())
            return 1
    say(f"kubeconfig: {place.kubeconfig}; the cluster has a network of its own, so enter it:")
    print(" ".join([*_enter(place), "env", f"KUBECONFIG={place.kubeconfig}", "kubectl", "get"]))
    return 0


def _down(place: Folders, rest: list[str]) -> int:
    pid = place.run / "supervisor.pid"
    if pid.exists() and Path("/proc", pid.read_text()).exists():
        os.kill(int(pid.read_text()), signal.SIGTERM)
        while Path("/proc", pid.read_text()).exists():
            time.sleep(_POLL_SECONDS)
    pid.unlink(missing_ok=True)
    return clean_up(place)


def _test(place: Folders, rest: list[str]) -> int:
    was_up = _is_up(place)
    supervisor = None
    if not was_up:
        _prepare(place)
        keeps = bool(os.environ.get("KEEP"))
        supervisor = _start(place, lifeline=not keeps)
        if not _wait_until_ready(place, supervisor):
            return supervisor.wait() or 1
        supervisor = None if keeps else supervisor
    code = 1
    try:
        code = _run_cases(place, rest)
    except KeyboardInterrupt:
        say("interrupted")
    finally:
        if supervisor is not None and supervisor.stdin is not None:
            say("tearing the cluster down")
            supervisor.stdin.close()
            code = supervisor.wait() or code
    return code


def _run_cases(place: Folders, rest: list[str]) -> int:
    """The cases that can run side by side, then those that need the cluster for themselves."""
    options = ("-v", "-p", "no:cacheprovider", "--durations=5", "--durations-min=1")
    pytest = [sys.executable, "-m", "pytest", *options, *rest]
    beside = _run(place, [*pytest, "-n", _BESIDE, f"--ignore={_ALONE}", str(_CASES)])
    alone = _run(place, [*pytest, str(_ALONE)])
    codes = [code for code in (beside, alone) if code != _NOTHING_CHOSEN]
    return max(codes, default=_NOTHING_CHOSEN)


def _run(place: Folders, command: list[str]) -> int:
    """A command inside the namespaces of the cluster that is up."""
    environment = {**os.environ, "KUBECONFIG": str(place.kubeconfig)}
    return subprocess.run([*_enter(place), *command], env=environment, check=False).returncode


def _enter(place: Folders) -> list[str]:
    target = f"--target={place.first_process.read_text()}"
    return ["nsenter", target, "--net", "--mount", "--pid", "env", f"--chdir={Path.cwd()}"]


def _prepare(place: Folders) -> None:
    """Build and download everything; the cluster itself has no way out of its network."""
    provide_packages(place.packages, say=say)
    toolchain = Toolchain(os.environ, say=say)
    binaries = {name: toolchain.provide(name) for name in _TOOLS}
    found = images(binaries)
    total = sum(layer.size for layer in {each for image in found for each in image.layers})
    say(f"{len(binaries)} binaries and {len(found)} images ({total / 1e6:.0f} MB) are there")
    place.is_ready.unlink(missing_ok=True)
    remove_control_groups()  # of a cluster whose supervisor was killed
    place.run.mkdir(parents=True, exist_ok=True)
    for folder in (place.held, place.volumes):
        folder.mkdir(exist_ok=True)
    for log in place.run.glob("*.log"):
        log.unlink()


def _start(
    place: Folders, *, lifeline: bool = False, log: int | None = None
) -> "subprocess.Popen[bytes]":
    words = ["--lifeline"] if lifeline else []
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "tests.support.node.supervisor", *words],
        stdin=subprocess.PIPE if lifeline else subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    (place.run / "supervisor.pid").write_text(str(supervisor.pid))
    return supervisor


def _wait_until_ready(place: Folders, supervisor: "subprocess.Popen[bytes]") -> bool:
    while supervisor.poll() is None:
        if place.is_ready.exists():
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _is_up(place: Folders) -> bool:
    return place.is_ready.exists() and Path("/proc", place.first_process.read_text()).exists()


@contextmanager
def _only_one(place: Folders) -> Iterator[None]:
    with (place.home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for the run that uses the cluster")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    print(f"[e2e] {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
