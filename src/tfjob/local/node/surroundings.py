"""What a command finds in a container that runs: its variables, working directory and mounts.

They are stored in the container's folder at each start, readable by their owner alone, so that
another process can run a command beside the container's own. They are removed when it ends: its
variables may hold secrets.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from tfjob.k8s.nesting import UNREADABLE
from tfjob.local.data_folder import write_file
from tfjob.local.node import checkpoint
from tfjob.local.node.checkpoint import Running, container_folder
from tfjob.local.node.mount_namespace import Namespaces
from tfjob.local.node.process import MARKER, ProcessIdentity
from tfjob.local.node.process_tree import descendants, parents
from tfjob.local.node.translate import Mount

_FILE: Final = "surroundings.json"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    env: dict[str, str]
    cwd: str
    mounts: tuple[Mount, ...] = ()


class RunningContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a container; `supervisor` is alive as long as it runs."""

    surroundings: Surroundings
    supervisor: ProcessIdentity
    marker: str

    @property
    def env(self) -> dict[str, str]:
        """The variables, with the marker by which the node finds all processes of the run."""
        return {**self.surroundings.env, MARKER: self.marker}

    @contextmanager
    def namespaces(self) -> Iterator[Namespaces | None]:
        """Those of the first process, for a child to join; None if they are this process's own."""
        first = descendants(self.supervisor.pid, parents())[:1]
        found = Namespaces(first[0]) if first else None
        try:
            yield found or None
        finally:
            if found is not None:
                found.close()


def save(folder: Path, found: Surroundings) -> None:
    """Store them in the folder of the container."""
    write_file(folder / _FILE, msgspec.json.encode(found))


def remove(folder: Path) -> None:
    """Forget them; the container has ended."""
    with suppress(OSError):  # the end is reported even if the folder cannot be written
        (folder / _FILE).unlink(missing_ok=True)


def load(pods_folder: Path, uid: str, container: str) -> RunningContainer | None:
    """The current run of a pod's container; None if it does not run on this node."""
    record = checkpoint.load(pods_folder, uid)
    if record is None:
        return None
    own = next((each for each in record.all_containers if each.name == container), None)
    if own is None or not isinstance(own.state, Running) or not own.pid:
        return None
    supervisor = ProcessIdentity(pid=own.pid, start_time=own.start_time)
    path = container_folder(pods_folder, uid, container) / _FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Surroundings)
    except (OSError, *UNREADABLE):
        return None
    if not supervisor.is_alive():
        return None
    return RunningContainer(surroundings=found, supervisor=supervisor, marker=own.marker(uid))
