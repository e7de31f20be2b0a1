"""Where no real node can run, one line says why."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.node import machine
from tests.support.node.__main__ import main


def test_other_users_than_root_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert machine.obstacle() == "a node is run by root; use sudo"


@pytest.mark.parametrize(
    ("missing", "remedy"), [("go", "Go"), ("iptables", "iptables"), ("mmdebstrap", "mmdebstrap")]
)
def test_missing_program_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: str, remedy: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else f"/bin/{name}")
    said = machine.obstacle()
    assert said is not None
    assert remedy in said
    assert "\n" not in said


def test_missing_programs_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ("go", "ip", "nsenter", "unshare", "chroot")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in known else None)
    assert machine.obstacle() == (
        "missing: apt-get, dpkg, iptables, mmdebstrap; "
        "on Debian: apt-get install iptables mmdebstrap"
    )


def test_files_are_in_the_cache_of_the_user(tmp_path: Path) -> None:
    place = machine.folders({"XDG_CACHE_HOME": str(tmp_path)})
    assert place.home == tmp_path / "tfjob" / "node"
    assert place.kubeconfig.parent == place.run
    # What is imported once is outside of what is thrown away.
    assert place.run not in place.containerd.parents


@pytest.mark.parametrize("verb", ["test", "up", "down"])
def test_commands_say_in_one_line_that_nothing_was_tested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    monkeypatch.setattr(machine, "obstacle", lambda: "a node is run by root; use sudo")
    assert main([verb]) == 0
    said = capsys.readouterr().out
    assert said == "[e2e] SKIPPED, nothing was tested: a node is run by root; use sudo\n"
