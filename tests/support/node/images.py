"""The images of the test cluster, and how they come into containerd."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.node import configuration
from tests.support.node.machine import Folders
from tfjob import __version__
from tools.image import builder, operator_image
from tools.images import debian
from tools.images.oci import Image

_DOCKERFILE = Path(__file__).parent / "Dockerfile"
_REPOSITORY = "tfjob.test"
OPERATOR = f"{_REPOSITORY}/tfjob"
PROGRAMS = f"{_REPOSITORY}/programs:1"
TENSORFLOW = f"{_REPOSITORY}/tensorflow:1"
COREDNS = f"{_REPOSITORY}/coredns:1"
PEER = f"{_REPOSITORY}/training-operator:1"
_TARGETS = {
    "pause": configuration.PAUSE,
    "programs": PROGRAMS,
    "tensorflow": TENSORFLOW,
}


def images(binaries: Mapping[str, Path]) -> list[Image]:
    """Every image; what stands in the store already is not built again."""
    found = [
        builder().build(_DOCKERFILE, name, target=target, arguments=_arguments())
        for target, name in _TARGETS.items()
    ]
    for name in (COREDNS, PEER):
        program = name.rpartition("/")[2].partition(":")[0]
        one = builder({"binaries": binaries[program].parent})
        found.append(one.build(_DOCKERFILE, name, target=program, arguments=_arguments()))
    return [*found, operator_image(f"{OPERATOR}:{__version__}")]


def import_into(folders: Folders, wanted: list[Image], *, say: Callable[[str], None]) -> None:
    """Bring images that containerd does not have yet, and forget those that they replace."""
    known = _digests(folders)
    for image in wanted:
        if known.get(image.name) != image.digest:
            say(f"importing {image.name}")
            _import(folders, image)
    digests = {image.digest for image in wanted}
    stale = [name for name, digest in _digests(folders).items() if digest not in digests]
    if stale:
        command = configuration.ctr(folders, "images", "rm", *stale)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _arguments() -> dict[str, str]:
    return {"PYTHON_IMAGE": debian.NAME}


def _digests(folders: Folders) -> dict[str, str]:
    command = configuration.ctr(folders, "images", "ls")
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in lines[1:]]
    return {row[0]: row[2] for row in rows}


def _import(folders: Folders, image: Image) -> None:
    command = configuration.ctr(folders, "images", "import", "-")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as load:
        assert load.stdin is not None
        image.write(load.stdin)
        load.stdin.close()
        assert load.wait() == 0, f"ctr cannot import {image.name}"
