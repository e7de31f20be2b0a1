"""Records of the pods on this node, and their storage on disk for a restarted agent.

Records are immutable and replaced as a whole. A record file is written atomically; one that cannot
be read is renamed, neither trusted nor deleted.
"""

from pathlib import Path

import msgspec

from tfjob.k8s.nesting import UNREADABLE
from tfjob.local.data_folder import make_folder, write_file


class Waiting(msgspec.Struct, frozen=True, tag="waiting"):
    """Not running, and why."""

    reason: str
    message: str = ""


class Running(msgspec.Struct, frozen=True, tag="running"):
    """Running."""

    started_at: str


class Terminated(msgspec.Struct, frozen=True, kw_only=True, tag="terminated"):
    """Terminated, and how."""

    exit_code: int
    reason: str
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    container_id: str = ""


State = Waiting | Running | Terminated


class ContainerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One container across its restarts; `pid` and `start_time` identify its supervisor."""

    name: str
    state: State = Waiting("PodInitializing")
    last: Terminated | None = None
    restarts: int = 0
    crashes: int = 0
    retry_at: float = 0.0
    pid: int = 0
    start_time: str = ""

    @property
    def instance(self) -> int:
        """The number of the current run, which also names its log file."""
        return self.restarts

    def marker(self, uid: str) -> str:
        """The value that marks all processes of the current run, given the UID of the pod."""
        return f"{uid}.{self.name}.{self.instance}"


class PodFailure(msgspec.Struct, frozen=True):
    """The pod failed as a whole, whatever its containers did."""

    reason: str
    message: str


class PodRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One pod on this node."""

    namespace: str
    name: str
    uid: str
    started_at: str
    init: tuple[ContainerRecord, ...] = ()
    containers: tuple[ContainerRecord, ...] = ()
    gpus: tuple[str, ...] = ()
    verdict: PodFailure | None = None

    @property
    def all_containers(self) -> tuple[ContainerRecord, ...]:
        return self.init + self.containers

    def container(self, name: str) -> ContainerRecord:
        return next(found for found in self.all_containers if found.name == name)

    def with_container(self, changed: ContainerRecord) -> "PodRecord":
        """A copy with one container's record replaced."""

        def swapped(group: tuple[ContainerRecord, ...]) -> tuple[ContainerRecord, ...]:
            return tuple(changed if old.name == changed.name else old for old in group)

        init, containers = swapped(self.init), swapped(self.containers)
        return msgspec.structs.replace(self, init=init, containers=containers)


_FILE = "record.json"


def pod_folder(root: Path, uid: str) -> Path:
    """The folder of a pod's files."""
    return root / safe_name(uid)


def container_folder(root: Path, uid: str, container: str) -> Path:
    """The folder of a container's logs and exit records."""
    return pod_folder(root, uid) / "containers" / safe_name(container)


def safe_name(name: str) -> str:
    """The name, if it is a single path segment."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"name {name!r}: must be one path segment; nothing was done")
    return name


def save(root: Path, record: PodRecord) -> None:
    """Write the record of a pod."""
    folder = pod_folder(root, record.uid)
    make_folder(folder)
    write_file(folder / _FILE, msgspec.json.encode(record))


def load(root: Path, uid: str) -> PodRecord | None:
    """The record of one pod, if it is on this node."""
    try:
        return msgspec.json.decode((pod_folder(root, uid) / _FILE).read_bytes(), type=PodRecord)
    except (OSError, *UNREADABLE):
        return None


def load_all(root: Path) -> dict[str, PodRecord]:
    """The records of all pods, by UID."""
    found = {}
    for path in sorted(root.glob(f"*/{_FILE}")):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=PodRecord)
        except UNREADABLE:
            path.rename(path.with_suffix(".unreadable"))
            continue
        found[record.uid] = record
    return found
