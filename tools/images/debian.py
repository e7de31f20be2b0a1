"""The base image: a minimal Debian with Python, from the distribution's packages.

It stands in for the PYTHON_IMAGE of the Dockerfile where no registry is used. It is built once with
mmdebstrap and kept in the store of the images.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.images.builder import ImageError

NAME = "debian"
# The release of Debian by the version of its Python.
_RELEASES = {(3, 11): "bookworm", (3, 13): "trixie"}
_PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates"
_LEFT_OUT = ("doc", "man", "locale")


def release() -> str | None:
    """The Debian release whose Python is of the running version, if there is one."""
    return _RELEASES.get(sys.version_info[:2])


def base(store: Path, name: str, *, say: Callable[[str], None]) -> Path:
    """The folder of the base image, built if it is not there yet."""
    if name != NAME:
        raise ImageError(f"{name}: the only base image that can be built is {NAME}")
    suite = release()
    if suite is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in _RELEASES)
        version = "{}.{}".format(*sys.version_info[:2])
        raise ImageError(f"Python {version} is in no Debian release; use one of {known}")
    command = _command(suite)
    step = store / hashlib.sha256("\0".join(command).encode()).hexdigest()[:24]
    if not (step / "layer.tar").exists():
        say(f"installing a minimal Debian ({suite}) with Python, once")
        _build(command, step)
    return step


def _command(suite: str) -> list[str]:
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={_PACKAGES}",
        *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in _LEFT_OUT),
        '--aptopt=APT::Sandbox::User "root"',
        # The name servers of this machine are none of the image's business.
        '--customize-hook=echo > "$1/etc/resolv.conf"; echo > "$1/etc/hostname"',
        suite,
    ]


def _build(command: list[str], step: Path) -> None:
    shutil.rmtree(step, ignore_errors=True)
    (step / "files").mkdir(parents=True)
    archive = step / f"layer.{os.getpid()}.tar"
    done = subprocess.run([*command, archive], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"mmdebstrap failed:\n{done.stderr[-2000:]}")
    # Device files are of no use in a layer: engines mount their own /dev.
    unpack = ["tar", "-C", str(step / "files"), "--exclude=./dev/*", "-xf", str(archive)]
    subprocess.run(unpack, check=True)
    archive.rename(step / "layer.tar")
