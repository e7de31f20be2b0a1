"""A local cluster in a process of its own, for a program that runs jobs on this machine.

The options of its node are its arguments. It ends as soon as its standard input is written to or
closed: by the program, or by the kernel when the program is killed. No replica outlives it. It
prints one line of JSON when it is up or cannot start.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from tfjob.local import data_folder
from tfjob.local.cluster import LocalCluster
from tfjob.local.node.overcommit import Overcommit
from tfjob.local.node.restart_policy import Backoff
from tfjob.sdk.jobs import stored_dialects
from tfjob.sdk.local_process import FIT, SHARE_GPUS
from tfjob.sdk.local_startup import STARTUP_ERRORS, logging_to, startup_error_text

RESTART_BACKOFF: Final = Backoff(base=1.0)
"""Shorter than a kubelet's, because a person waits for the first restart."""


def main(options: Collection[str]) -> int:
    data_folder.remove_stale(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=data_folder.RUN_PREFIX) as folder:
        try:
            asyncio.run(_serve(Path(folder), options))
        except STARTUP_ERRORS as error:
            _print_json(error=startup_error_text(error, Path(folder)))
            return 1
    return 0


async def _serve(folder: Path, options: Collection[str]) -> None:
    cluster = LocalCluster(
        folder,
        workdir=Path.cwd(),
        dialects=stored_dialects(),
        environ=os.environ,
        backoff=RESTART_BACKOFF,
        python=Path(sys.executable),
        overcommit=Overcommit(requests=FIT in options, gpus=SHARE_GPUS in options),
    )
    with logging_to(folder):
        async with cluster:
            _print_json(kubeconfig=str(cluster.kubeconfig))
            ends = [_closed(), cluster.failure(), cluster.report_disk(_warn)]
            tasks = [asyncio.ensure_future(each) for each in ends]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _closed() -> None:
    """Wait until standard input gets data or is closed."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _print_json(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    sys.stderr.write(f"tfjob: warning: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
