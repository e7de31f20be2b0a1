"""Starts the local cluster of this process when it is first needed, and ends it at exit.

The cluster ends with this process, because a pipe between them is then closed. It has a session of
its own, so that a Ctrl-C for this process does not reach it.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from tfjob.sdk.errors import TFJobError

FIT: Final = "fit"
"""The option that ignores requests that the machine cannot meet, and shares its GPUs."""
SHARE_GPUS: Final = "share_gpus"
_LOCK: Final = threading.Lock()
_RUNNING: Final[dict[int, "LocalProcess"]] = {}


class LocalProcess:
    def __init__(self, options: frozenset[str]) -> None:
        self._options = options | ({SHARE_GPUS} if FIT in options else set())
        self._process = subprocess.Popen(  # noqa: S603 - this program, and options of its own
            [sys.executable, "-P", "-m", "tfjob.sdk.local_host", *sorted(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # without buffers, a forked child can close the pipes whatever threads do
            start_new_session=True,
        )
        os.register_at_fork(after_in_child=self._close)
        self._owner = os.getpid()
        self.kubeconfig = Path(self._started())

    @property
    def is_alive(self) -> bool:
        """Whether it is up; in a forked child this is always true."""
        return os.getpid() != self._owner or self._process.poll() is None

    def check(self, options: frozenset[str] = frozenset()) -> None:
        """Raise an error if the cluster has ended, or its node was started without an option."""
        if not self.is_alive:
            raise TFJobError(
                "the local cluster of this client has ended, and its jobs with it",
                remedy="connect('local') starts another one",
            )
        if missing := options - self._options:
            given = " and ".join(f"{each}=True" for each in sorted(missing))
            raise TFJobError(
                f"the local cluster of this program is up already, so {given} would have no effect",
                remedy="pass it to the first run() of the program, before any connect('local')",
            )

    def stop(self) -> None:
        """Stop the cluster, and return when it and all its replicas are gone."""
        if os.getpid() != self._owner:
            return  # a forked child; the cluster is not its own
        stdin = self._process.stdin
        if stdin is not None and not stdin.closed:
            # Data ends the cluster, too: another process may still hold the pipe.
            with suppress(BrokenPipeError):
                stdin.write(b"\n")
        self._close()
        self._process.wait()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _started(self) -> str:
        line = b"" if self._process.stdout is None else self._process.stdout.readline()
        facts = json.loads(line or "{}")
        if "kubeconfig" in facts:
            return str(facts["kubeconfig"])
        self.stop()
        why = facts.get("error") or f"its process ended with code {self._process.returncode}"
        raise TFJobError(
            f"the local cluster did not start: {why}",
            remedy="$TMPDIR chooses the disk that it uses",
        )


def local_process(options: frozenset[str] = frozenset()) -> LocalProcess:
    """The local cluster of this process, started with these options if there is none."""
    with _LOCK:
        found = _RUNNING.get(os.getpid())
        if found is not None and not found.is_alive:
            sys.stderr.write(
                "tfjob: warning: the local cluster of this program has ended, and its jobs with it;"
                " another one is started\n"
            )
            found = None
        if found is None:
            found = _RUNNING[os.getpid()] = LocalProcess(options)
            atexit.register(found.stop)
        found.check(options)
        return found
