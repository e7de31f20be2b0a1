"""Why a command could not be started, in words and in the exit code a shell would give.

Its law: 127 for what is not there, 126 for what cannot be run, 128 for a missing folder. One
process per container loads this, so it rests on cheap parts of the standard library alone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # every import is paid for once per container, typing more than most
if TYPE_CHECKING:
    from typing import Any

ENOENT, EINVAL = 2, 22


class StartError(Exception):
    """The command could not be started: the exit code a shell would give, and why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def start_error(number: int, *, step: str, spec: dict[str, Any]) -> StartError:
    why = os.strerror(number)
    if step == "chdir":
        folder = f'working directory "{spec["cwd"]}": {why}'
        return StartError(128, f"{folder}; it must exist here, because images are not run")
    command, path = spec["argv"][0], spec["env"].get("PATH", "")
    if not is_there(command, path=path, cwd=spec["cwd"]):
        return StartError(127, f'command "{command}" was not found on this machine (PATH={path})')
    if number == ENOENT:
        why = "the interpreter that its first line names was not found"
    return StartError(126, f'command "{command}" cannot be executed: {why}')


def is_there(command: str, *, path: str, cwd: str) -> bool:
    """Whether a file of this name is where a shell would look; a closed folder has none."""
    folders = [""] if "/" in command else path.split(os.pathsep)
    return any(
        os.path.exists(os.path.join(cwd, folder, command))  # noqa: PTH110, PTH118 - cheap start-up
        for folder in folders
    )
