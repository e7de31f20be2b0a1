"""Other versions of Python are found where this machine keeps them."""

from pathlib import Path

import pytest

from tools import pythons


def install(folder: Path, version: str, *, code: int = 0) -> Path:
    folder.mkdir(parents=True)
    python = folder / f"python{version}"
    python.write_text(f"#!/bin/sh\nexit {code}\n")
    python.chmod(0o755)
    return python


def test_the_one_on_path_comes_first(tmp_path: Path) -> None:
    on_path = install(tmp_path / "bin", "3.99")
    install(tmp_path / "home/.pyenv/versions/3.99.1/bin", "3.99")
    where = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    assert pythons.found("3.99", where) == on_path


def test_a_shim_that_does_not_start_is_passed_over_for_the_newest_release(tmp_path: Path) -> None:
    install(tmp_path / "bin", "3.99", code=127)
    install(tmp_path / "root/versions/3.99.9/bin", "3.99")
    newest = install(tmp_path / "root/versions/3.99.10/bin", "3.99")
    where = {"PATH": str(tmp_path / "bin"), "PYENV_ROOT": str(tmp_path / "root")}
    assert pythons.found("3.99", where) == newest


def test_a_version_that_is_not_there_is_skipped_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert pythons.main(["3.98", "3.99", "--", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "python 3.98: SKIPPED",
        "python 3.99: SKIPPED",
    ]
