"""The folder that keeps a run of `tfjob run`: its record, and one log file per replica.

Files are readable by their owner alone. If they cannot be written, the run goes on without them. A
log file that grows too large is renamed once, so that the newest lines are always kept.
"""

import os
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, Self

import msgspec

from tfjob.k8s import time
from tfjob.local import data_folder
from tfjob.local.node.checkpoint import safe_name
from tfjob.local.node.process import ProcessIdentity, boot_id, start_time_of

RECORD: Final = "run.json"
LOG: Final = ".log"
OLDER: Final = ".1"
"""Added to the name of a log file whose lines come before those of the newer one."""
SUCCEEDED: Final = "succeeded"
"""The outcome of a run whose job has succeeded."""
FILE_LIMIT: Final = 50 * 1024 * 1024
_BUFFER_LIMIT: Final = 1024 * 1024


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run; `outcome` is empty while it runs, or if it was killed.

    With `keeps_cluster`, its process keeps the cluster up although the job has ended.

    Several machines may share the folder, and `process` means something only on its own `host`
    since its `boot`.
    """

    name: str
    job: str
    file: str
    started: str
    process: ProcessIdentity
    host: str = ""
    boot: str = ""
    kubeconfig: str = ""
    namespace: str = ""
    """Where the job is; empty in records of older versions."""
    finished: str = ""
    outcome: str = ""
    keeps_cluster: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it goes on, on this machine."""
        return not self.outcome and self._has_process

    @property
    def has_cluster(self) -> bool:
        """Whether its cluster is up on this machine."""
        return self.is_running or (self.keeps_cluster and self._has_process)

    @property
    def is_elsewhere(self) -> bool:
        """Whether only another machine can say if it goes on."""
        is_other = self.host not in {"", socket.gethostname()}
        return not self.outcome and is_other and not self.is_running

    @property
    def _has_process(self) -> bool:
        return self._is_of_this_boot and self.process.is_alive()

    @property
    def _is_of_this_boot(self) -> bool:
        if not self.host:
            return True  # of an older version, which stored neither
        if self.boot or boot_id():
            return self.boot == boot_id()
        return self.host == socket.gethostname()


class RunFolder:
    """Keeps the current run; lines reach the disk at `flush`."""

    def __init__(
        self,
        path: Path,
        record: RunRecord,
        *,
        on_trouble: Callable[[str], None],
        limit: int = FILE_LIMIT,
    ) -> None:
        self.path, self._record, self._limit = path, record, limit
        self.on_trouble = on_trouble
        self._lines: dict[str, list[bytes]] = {}
        self._waiting = 0
        self._is_lost = False

    @classmethod
    def create(
        cls,
        parent: Path,
        *,
        job: str,
        file: str,
        now: datetime,
        kubeconfig: Path | None = None,
        namespace: str = "",
    ) -> Self:
        """A new folder; raises OSError if it cannot be made."""
        stem = f"{safe_name(job)}-{now:%Y%m%d-%H%M%S}"
        name, number = stem, 1
        data_folder.make_folder(parent)
        while True:
            try:
                (parent / name).mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                name = f"{stem}-{number}"
            else:
                break
        process = ProcessIdentity(os.getpid(), start_time_of(os.getpid()) or "")
        record = RunRecord(
            name=name,
            job=job,
            file=file,
            started=time.render(now),
            process=process,
            host=socket.gethostname(),
            boot=boot_id(),
            kubeconfig=str(kubeconfig or ""),
            namespace=namespace,
        )
        found = cls(parent / name, record, on_trouble=lambda _: None)
        found._save()
        return found

    def log(self, replica: str, line: str) -> None:
        data = line.encode(errors="replace") + b"\n"
        self._lines.setdefault(replica, []).append(data)
        self._waiting += len(data)
        if self._waiting > _BUFFER_LIMIT:
            self.flush()

    def flush(self) -> None:
        """Write the lines that have arrived."""
        lines, self._lines, self._waiting = self._lines, {}, 0
        if self._is_lost:
            return
        try:
            for replica, parts in lines.items():
                self._append(self.path / f"{safe_name(replica)}{LOG}", b"".join(parts))
        except OSError as error:
            self._lose(error)

    def finish(self, outcome: str, *, now: datetime, keeps_cluster: bool = False) -> None:
        """Write what is left, how the run ended, and whether the cluster stays up."""
        self.flush()
        self._record = msgspec.structs.replace(
            self._record,
            outcome=outcome,
            finished=time.render(now),
            keeps_cluster=keeps_cluster,
        )
        try:
            self._save()
        except OSError as error:
            self._lose(error)

    def _append(self, path: Path, data: bytes) -> None:
        # No file stays open: a large job has more replicas than a process may have open files.
        handle = data_folder.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(handle, "ab", buffering=0) as file:
            size = file.tell()
            while data:
                data = data[file.write(data) or 0 :]
        if size > self._limit:
            path.replace(path.with_name(path.name + OLDER))

    def _save(self) -> None:
        data_folder.write_file(self.path / RECORD, msgspec.json.encode(self._record))

    def _lose(self, error: OSError) -> None:
        if not self._is_lost:
            self._is_lost = True
            self.on_trouble(f"{self.path}: cannot be written: {error.strerror}; logs are not kept")
