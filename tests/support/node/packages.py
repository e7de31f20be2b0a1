"""containerd, runc and the CNI plug-ins of this Debian release, unpacked beside the system's own.

No service is installed and no package script runs: `apt-get download` and `dpkg -x` do all of it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

_NAMES = ("containerd", "runc", "containernetworking-plugins")


def provide_packages(home: Path, *, say: Callable[[str], None]) -> None:
    """Fill the folder if it is not there yet."""
    if home.exists():
        return
    say(f"downloading {', '.join(_NAMES)} of this Debian release, once")
    draft = home.with_suffix(f".{os.getpid()}")
    with tempfile.TemporaryDirectory() as downloads:
        command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *_NAMES]
        subprocess.run(command, cwd=downloads, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(draft, ignore_errors=True)
        for package in sorted(Path(downloads).glob("*.deb")):
            say(f"unpacking {package.stem}")
            subprocess.run(["dpkg", "-x", package, draft], check=True)
    draft.rename(home)
