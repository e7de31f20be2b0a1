"""Ports are reserved for one user until they are released."""

import socket
from pathlib import Path

import pytest

from tests.support.controlplane import ports as ports_module
from tests.support.controlplane.ports import LOOPBACK, Ports


def test_port_is_below_the_kernels_own_range(tmp_path: Path) -> None:
    ports = Ports(tmp_path)
    assert 1024 < ports.take() < 32768
    ports.release()


def test_reserved_port_is_rejected_to_others_until_released(tmp_path: Path) -> None:
    mine, yours = Ports(tmp_path), Ports(tmp_path)
    port = mine.take()
    assert not yours.reserve(port)
    mine.release()
    assert yours.reserve(port)
    yours.release()


def test_port_on_which_somebody_listens_is_rejected(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        assert not Ports(tmp_path).reserve(listener.getsockname()[1])


def test_exhaustion_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setattr(ports_module, "_FIRST", port)
        monkeypatch.setattr(ports_module, "_LAST", port)
        with pytest.raises(OSError, match=f"ports {port} to {port} on 127.0.0.1"):
            Ports(tmp_path).take()
