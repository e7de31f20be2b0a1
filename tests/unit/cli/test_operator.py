"""`tfjob operator`: an error at start is one line, with its own exit code."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command


@pytest.fixture(autouse=True)
def _outside_of_any_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBEFLOW_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_unknown_scheme_is_a_start_up_error(command: Command) -> None:
    done = command("operator", "--enable-scheme", "nosuch")
    assert done == (2, "", "tfjob operator: scheme nosuch is not supported yet\n")


def test_missing_kubeconfig_is_named(command: Command, tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    done = command("operator", "--kubeconfig", absent)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tfjob operator: ")
    assert absent in done.err
    assert "Traceback" not in done.err


def test_a_missing_cluster_configuration_is_reported(command: Command) -> None:
    done = command("operator")
    assert done.code == 2
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("words", [["-leader-elect=maybe"], ["--leader-elect=maybe"]])
def test_flags_with_one_dash_are_checked_like_those_with_two(
    command: Command, words: list[str]
) -> None:
    done = command("operator", *words)
    assert done.code == 2
    assert "'maybe' is neither true nor false" in done.err


def test_an_unknown_flag_is_rejected(command: Command) -> None:
    done = command("operator", "--threadiness=4")
    assert done.code == 2
    assert "unrecognized arguments: --threadiness=4" in done.err


def test_version_is_printed(command: Command) -> None:
    done = command("operator", "--version")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("tfjob ")


_LARGE_BUFFERS = """
import ctypes
from tfjob.cli import operator

NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()

class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES]

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.mallinfo2.restype = Mallinfo
operator._keep_heap_compact()
for _ in range(3):
    before = libc.mallinfo2().hblks
    buffers = [libc.malloc(256 * 1024) for _ in range(64)]
    # A few may fit into what is free in the heap.
    assert libc.mallinfo2().hblks - before > 32
    for buffer in buffers:
        libc.free(buffer)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have no mallopt")
def test_large_buffers_never_enter_the_heap_not_even_after_one_was_freed() -> None:
    subprocess.run([sys.executable, "-c", _LARGE_BUFFERS], check=True)
