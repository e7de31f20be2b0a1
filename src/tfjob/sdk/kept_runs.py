"""The runs of `tfjob run` that are kept on this machine: which there are, and their logs.

The newest ones are kept, and every one that still runs.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tfjob.k8s.nesting import UNREADABLE
from tfjob.local import data_folder
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.run_folder import LOG, OLDER, RECORD, RunRecord

KEPT: Final = 20
"""How many runs are kept."""
_SILENT: Final = 600.0
_SILENT_ELSEWHERE: Final = 7 * 24 * 3600.0


class KeptRun(msgspec.Struct, frozen=True):
    path: Path
    record: RunRecord

    @property
    def state(self) -> str:
        if self.record.outcome:
            up = ", cluster up" if self.record.has_cluster else ""
            return f"{self.record.outcome}{up}"
        if self.record.is_elsewhere:
            return f"runs on host {self.record.host}"
        return "running" if self.record.is_running else "killed"

    @property
    def written(self) -> float:
        """When its newest file was written; 0 if the folder is gone."""
        times = [0.0]
        with suppress(OSError):  # another process may remove it meanwhile
            for each in (self.path, *self.path.iterdir()):
                with suppress(OSError):  # it was rotated
                    times.append(each.stat().st_mtime)
        return max(times)

    @property
    def doubt(self) -> float:
        """Seconds without a new line until it has surely ended.

        A run of another machine that was killed looks as if it went on.
        """
        if self.record.outcome:
            return 0
        return _SILENT_ELSEWHERE if self.record.is_elsewhere else _SILENT

    def replicas(self) -> list[str]:
        """The replicas that have written something, workers in the order of their numbers."""
        names = {each.name.removesuffix(OLDER) for each in self.path.glob(f"*{LOG}*")}
        return sorted((name.removesuffix(LOG) for name in names), key=_place)

    def lines(self, replica: str) -> Iterator[str]:
        """What a replica has written, oldest first."""
        newest = self.path / f"{replica}{LOG}"
        for path in (newest.with_name(newest.name + OLDER), newest):
            if path.exists():
                with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
                    for line in file:
                        yield line.removesuffix("\n")


def runs_folder() -> Path:
    """Where the runs of this user are."""
    return data_folder.state_folder() / "runs"


def kept_runs(parent: Path | None = None) -> list[KeptRun]:
    """All runs, the newest first."""
    found = [_read(path.parent) for path in (parent or runs_folder()).glob(f"*/{RECORD}")]
    runs = [each for each in found if each is not None]
    return sorted(runs, key=lambda each: (each.record.started, each.record.name), reverse=True)


def find_run(wanted: str) -> KeptRun:
    """The run of this name or folder, or the newest of this job; the newest of all if empty.

    A folder has a separator in its path: one that happens to have the name of a run is not meant.
    """
    runs = kept_runs()
    if not wanted and runs:
        return runs[0]
    if os.sep in wanted:
        return _run_in(Path(wanted))
    for key in ("name", "job"):
        for each in runs:
            if getattr(each.record, key) == wanted:
                return each
    what = f"no run {wanted!r} is kept" if wanted else "no run is kept"
    remedy = "`tfjob runs` lists those that are" if runs else "`tfjob run` keeps the newest runs"
    raise TFJobError(what, remedy=remedy)


def _run_in(folder: Path) -> KeptRun:
    found = _read(folder)
    if found is None:
        raise TFJobError(
            f"{folder} is not the folder of a run: it has no readable {RECORD}",
            remedy="`tfjob runs` lists the runs that are kept",
        )
    return found


def prune(parent: Path, *, keep: int = KEPT) -> None:
    """Remove the oldest runs that have ended, as far as it goes."""
    now = time.time()
    for each in kept_runs(parent)[keep:]:
        if not each.record.has_cluster and now - each.written >= each.doubt:
            shutil.rmtree(each.path, ignore_errors=True)


def running_run(job: str = "", *, namespace: str = "") -> KeptRun | None:
    """The newest run whose cluster is up on this machine, of this job if one is given.

    A record of an older version does not know the namespace of its job.

    A kubeconfig can name commands to execute, so nobody else may have written any of it.
    """
    runs = (each for each in kept_runs() if each.record.has_cluster and each.record.kubeconfig)
    wanted = (each for each in runs if not job or _is_of(each.record, job, namespace))
    return next(filter(_is_own, wanted), None)


def _is_of(record: RunRecord, job: str, namespace: str) -> bool:
    return record.job == job and (not namespace or record.namespace in {"", namespace})


def _is_own(run: KeptRun) -> bool:
    try:
        for folder in (run.path.parent, run.path, Path(run.record.kubeconfig).parent):
            data_folder.check(folder)
    except (OSError, data_folder.DataFolderError):
        return False
    return True


def _read(path: Path) -> KeptRun | None:
    try:
        record = msgspec.json.decode((path / RECORD).read_bytes(), type=RunRecord)
    except (OSError, *UNREADABLE):
        return None
    return KeptRun(path, record)


def _place(replica: str) -> tuple[str, int]:
    kind, _, index = replica.rpartition("-")
    return kind, int(index) if index.isdecimal() else 0
