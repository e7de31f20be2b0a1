"""Runs a program that a test calls as a user does."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.patience import PATIENCE


def output_of(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    fails: bool = False,
) -> str:
    """What the program prints; it must succeed, or fail if `fails` is set."""
    done = subprocess.run(
        command,
        env=env,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    name = Path(command[0]).name
    words = " ".join(map(str, command[1:]))
    assert (done.returncode != 0) == fails, f"{name} {words}:\n{done.stdout}"
    return done.stdout
