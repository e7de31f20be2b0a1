"""What the programs of a way need to be started on a control plane."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.ports import Ports
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import Toolchain
from tests.support.patience import PATIENCE


@dataclass(frozen=True, kw_only=True)
class Site:
    """A control plane, and where programs beside it are found, run and listen."""

    plane: ControlPlane
    processes: Processes
    ports: Ports
    toolchain: Toolchain

    def crds(self, tool: str) -> list[dict[str, Any]]:
        files = sorted(self.toolchain.module_folder(tool, "crds").glob("*.yaml"))
        return [each for path in files for each in yaml.safe_load_all(path.read_text()) if each]

    def write(self, name: str, text: str) -> Path:
        path = self.plane.folder / name
        path.write_text(text)
        return path

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until something holds; fails at once if a program has ended by itself."""
        deadline = time.monotonic() + PATIENCE
        while not _holds(holds):
            ended = self.processes.ended_by_themselves()
            if ended or time.monotonic() > deadline:
                words = self.processes.last_words(ended[0]) if ended else ""
                raise AssertionError(f"no {what}; {ended}; logs in {self.plane.folder}:\n{words}")
            time.sleep(0.1)


def _holds(holds: Callable[[], bool]) -> bool:
    """A server that starts to serve a new kind answers with an error for a moment."""
    try:
        return holds()
    except ApiError:
        return False
