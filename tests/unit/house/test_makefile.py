"""The verbs of the house do what they promise, and no guard is left out of `make check`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # Under `make test` the outer make hands its own flags down; they are not part of the claim.
    outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_verb_that_has_a_sentence() -> None:
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    described = {line.split(":")[0] for line in lines if " ## " in line and ":" in line}
    assert {"setup", "check", "test", "format", "generate", "lock", "mutate"} <= listed
    assert listed == described


def test_make_alone_is_help() -> None:
    assert make().stdout == make("help").stdout


@pytest.mark.parametrize(
    "guard",
    [
        "ruff format --check",
        "ruff check",
        "mypy",
        "lint-imports",
        "vulture",
        "tools.sizes",
        "tools.mirror",
        "tools.words",
        "tools.prose",
        "tools.generate --check",
        "tools.seeds",
        "tools.scenarios",
    ],
)
def test_check_runs_every_guard(guard: str) -> None:
    assert guard in make("-n", "check").stdout


@pytest.mark.parametrize("folder", ["src", "tests", "tools"])
def test_types_are_checked_everywhere(folder: str) -> None:
    (line,) = [each for each in make("-n", "types").stdout.splitlines() if "/mypy" in each]
    assert folder in line.split()


def test_units_are_tested_first() -> None:
    (line,) = [each for each in make("-n", "test").stdout.splitlines() if "pytest" in each]
    folders = [word for word in line.split() if word.startswith("tests/")]
    assert folders[0] == "tests/unit"


def test_an_older_python_is_told_so_before_anything_is_made(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "requirements/build.txt", "requirements/dev.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    old = tmp_path / "python3.10"
    pretence = "import sys; sys.version_info = (3, 10, 1); exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{pretence}" "$2"\n')
    old.chmod(0o755)
    done = make("setup", f"PYTHON={old}", folder=tmp_path)
    assert done.returncode != 0
    assert f"tfjob needs Python 3.11 or newer, and {old} is 3.10." in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_every_test_of_parsing_exists() -> None:
    paths = re.findall(r"tests/\S+", make("-n", "test-parsing").stdout)
    assert paths
    assert [each for each in paths if not (ROOT / each).exists()] == []
