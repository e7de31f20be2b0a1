import argparse
import os
import sys
from pathlib import Path

import pytest

from tfjob.cli.python_choice import choose, python_path


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_activated_environment_comes_before_the_python_of_tfjob(tmp_path: Path) -> None:
    python = executable(tmp_path / "bin" / "python")
    assert choose(None, {"VIRTUAL_ENV": str(tmp_path)}).path == python
    assert choose(None, {"VIRTUAL_ENV": str(tmp_path / "none")}).path == Path(sys.executable)
    assert choose(None, {}).path == Path(sys.executable)


def test_the_option_comes_before_the_activated_environment(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "python")
    named = executable(tmp_path / "other" / "python")
    choice = choose(named, {"VIRTUAL_ENV": str(tmp_path)})
    assert str(choice) == f"{named} (--python)"


def test_an_environment_or_an_executable_of_it_can_be_named(tmp_path: Path) -> None:
    python = executable(tmp_path / "bin" / "python")
    os.link(python, tmp_path / "bin" / "python3")
    assert python_path(str(tmp_path)) == python
    assert python_path(str(tmp_path / "bin" / "python3")) == python


@pytest.mark.parametrize("name", ["none", "bin/python3"])
def test_a_python_that_containers_would_not_find_is_rejected(tmp_path: Path, name: str) -> None:
    executable(tmp_path / "bin" / "python3")
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not an exec|is another Python"):
        python_path(str(tmp_path / name))
