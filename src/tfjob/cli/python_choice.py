"""Which Python the containers of a local cluster find as `python`.

`--python` comes first, then the activated virtual environment, then the Python that runs tfjob.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec


class PythonChoice(msgspec.Struct, frozen=True):
    path: Path
    origin: str

    def __str__(self) -> str:
        return f"{self.path} ({self.origin})"


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--python",
        type=python_path,
        metavar="PATH",
        help="the `python` that containers run, or its virtual environment"
        " (default: the activated virtual environment, else tfjob's own Python)",
    )


def python_path(text: str) -> Path:
    """Containers find `python` by PATH, so the executable must have this name."""
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        path = path / "bin" / "python"
    if not _is_executable(path):
        raise argparse.ArgumentTypeError(f"{path}: is not an executable file")
    named = path.with_name("python")
    if not _is_executable(named) or not named.samefile(path):
        raise argparse.ArgumentTypeError(
            f"{path}: {named} is another Python or missing; name an executable called `python`,"
            " such as that of a virtual environment"
        )
    return named


def choose(named: Path | None, environ: Mapping[str, str]) -> PythonChoice:
    if named is not None:
        return PythonChoice(named, "--python")
    activated = Path(environ.get("VIRTUAL_ENV") or "/nonexistent") / "bin" / "python"
    if _is_executable(activated):
        return PythonChoice(activated, "activated virtual environment")
    return PythonChoice(Path(sys.executable), "tfjob's own")


def flags(named: Path | None) -> list[str]:
    """What passes `--python` on to another process, which chooses the same Python without it."""
    return [] if named is None else ["--python", str(named)]


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
