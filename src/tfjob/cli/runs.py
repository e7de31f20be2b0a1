"""`tfjob runs`: the runs of `tfjob run` that this machine has kept, newest first."""

import argparse
import sys
from typing import Final

from tfjob.cli import printing
from tfjob.k8s import time
from tfjob.sdk.kept_runs import KEPT, KeptRun, kept_runs, runs_folder

_HEAD: Final = ("RUN", "JOB", "STARTED", "TOOK", "OUTCOME", "FILE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        f"The newest {KEPT} runs are kept in {runs_folder()}. `tfjob logs --run RUN` prints the"
        " logs of one."
    )


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001 - the interface of a command
    found = kept_runs()
    if not found:
        sys.stderr.write(f"No runs are kept in {runs_folder()}.\n")
        return 0
    sys.stdout.write(printing.table(_HEAD, [_row(each) for each in found]) + "\n")
    return 0


def _row(found: KeptRun) -> tuple[str, ...]:
    record = found.record
    started, finished = time.parse(record.started), time.parse(record.finished)
    took = time.age(started, finished) if started and finished else "-"
    return record.name, record.job, record.started, took, found.state, record.file
