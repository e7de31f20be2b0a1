"""Errors of commands that cannot be started."""

import errno
from pathlib import Path

import pytest

from tfjob.local.node.supervisor import start_error


@pytest.mark.parametrize(
    ("command", "step", "number", "code", "words"),
    [
        (
            "none",
            "exec",
            errno.ENOENT,
            127,
            "was not found on this machine: it is in no folder of PATH",
        ),
        ("./none", "exec", errno.ENOENT, 127, "was not found"),
        ("none", "exec", errno.EACCES, 127, "was not found"),
        ("train", "exec", errno.EACCES, 126, "cannot be executed: Permission denied"),
        ("./train", "exec", errno.EACCES, 126, "cannot be executed"),
        ("train", "exec", errno.ENOEXEC, 126, "Exec format error"),
        ("train", "exec", errno.ENOENT, 126, "interpreter that its first line names"),
        ("train", "chdir", errno.ENOENT, 128, "it must exist on this machine"),
    ],
)
def test_each_start_error_has_its_exit_code(
    tmp_path: Path, command: str, step: str, number: int, code: int, words: str
) -> None:
    (tmp_path / "train").touch()
    spec = {"argv": [command], "cwd": str(tmp_path), "env": {"PATH": f"/no/bin:{tmp_path}"}}
    error = start_error(number, step=step, spec=spec)
    assert error.code == code
    assert words in error.message
    assert "/no/bin" not in error.message  # PATH is too long for a message
