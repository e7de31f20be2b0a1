"""What runs here, on disk, so that a restarted agent knows what it left behind.

Its law: a record is on disk whole or as it was before; a file that cannot be read is set aside, not
trusted and not deleted. It must not know what a record means.
"""

from pathlib import Path

import msgspec

from tfjob.local.data_folder import make_folder, write_file
from tfjob.local.node.record import PodRecord

_FILE = "record.json"


def pod_folder(root: Path, uid: str) -> Path:
    """The folder of everything a pod leaves on this machine."""
    return root / safe_name(uid)


def container_folder(root: Path, uid: str, container: str) -> Path:
    """The folder of a container's logs and exit records."""
    return pod_folder(root, uid) / "containers" / safe_name(container)


def safe_name(name: str) -> str:
    """The name itself, if it is one step of a path and no more."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"name {name!r}: must be one path segment; nothing was done")
    return name


def save(root: Path, record: PodRecord) -> None:
    """Writes the record of one pod."""
    folder = pod_folder(root, record.uid)
    make_folder(folder)
    write_file(folder / _FILE, msgspec.json.encode(record))


def load_all(root: Path) -> dict[str, PodRecord]:
    """The records of all pods that were here, by UID."""
    found = {}
    for path in sorted(root.glob(f"*/{_FILE}")):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=PodRecord)
        except msgspec.DecodeError:
            path.rename(path.with_suffix(".unreadable"))
            continue
        found[record.uid] = record
    return found
