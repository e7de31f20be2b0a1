"""Writes the operator's image from the Dockerfile, without a container engine.

The image is one file in the OCI layout, which `podman load`, `ctr images import` and
`skopeo copy oci-archive:` read. Its base is a minimal Debian with the Python that runs this.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.images import debian
from tools.images.builder import Builder, ImageError
from tools.images.oci import Image

ROOT = Path(__file__).parents[1]
NEEDED = ("mmdebstrap", "unshare", "chroot")


def image_store(environ: Mapping[str, str]) -> Path:
    """Where the steps of images are kept between builds."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tfjob" / "images"


def obstacle() -> str | None:
    """Why no image can be built here, with the remedy; None if one can."""
    if os.geteuid() != 0:
        return "images are built as root; use sudo"
    if "overlay" not in Path("/proc/filesystems").read_text():
        return "the kernel has no overlay file system; `modprobe overlay` loads it"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} is not installed; on Debian: apt-get install mmdebstrap"
    if debian.release() is None:
        version = "{}.{}".format(*sys.version_info[:2])
        return f"no Debian release has Python {version}; use PYTHON=python3.11 or python3.13"
    return None


def builder(folders: Mapping[str, Path] | None = None) -> Builder:
    """The builder of the project's images; `folders` are what `COPY --from=` can name."""
    store = image_store(os.environ)
    return Builder(
        store,
        context=ROOT,
        bases=lambda name: debian.base(store, name, say=say),
        folders=folders,
        say=say,
    )


def operator_image(name: str) -> Image:
    """The operator's image, under a name such as tfjob:0.1.0."""
    return builder().build(ROOT / "Dockerfile", name, arguments={"PYTHON_IMAGE": debian.NAME})


def say(line: str) -> None:
    print(f"[image] {line}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Write the image named by the second argument to the file named by the first."""
    path, name = Path(arguments[0]), arguments[1]
    why_not = obstacle()
    if why_not:
        say(f"SKIPPED: {why_not}")
        return 0
    try:
        image = operator_image(name)
    except ImageError as fault:
        say(str(fault))
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as target:
        image.write(target)
    say(f"{path}: {name}, {path.stat().st_size / 1e6:.0f} MB, {image.digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
