"""A control plane that does not come up says which process failed and where the logs are."""

from pathlib import Path

import pytest

from tests.support.controlplane.cluster import ControlPlane, StartError


def _binary(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def broken_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An etcd that refuses to start, and others that never answer."""
    _binary(tmp_path, "etcd", "echo the disk is full; exit 1")
    for name in ("kube-apiserver", "kube-controller-manager"):
        _binary(tmp_path, name, "exec sleep 60")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))


@pytest.mark.usefixtures("broken_binaries")
def test_failed_start_names_the_process_and_keeps_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "plane"
    folder.mkdir()
    with pytest.raises(StartError) as fault:
        ControlPlane(folder=folder).start()
    assert "etcd ended by itself" in str(fault.value)
    assert "the disk is full" in str(fault.value)
    assert str(folder) in str(fault.value)
    assert (folder / "etcd.log").read_text() == "the disk is full\n"


@pytest.mark.usefixtures("broken_binaries")
def test_failed_start_ends_what_it_had_started(tmp_path: Path) -> None:
    plane = ControlPlane(folder=tmp_path)
    with pytest.raises(StartError):
        plane.start()
    assert plane.pids() == {}
