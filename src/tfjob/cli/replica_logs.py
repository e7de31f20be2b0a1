"""Passes the log lines of a job's replicas to the screen and to a record.

It keeps the last lines of each.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from tfjob.cli.run_output import Screen
from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import Pod
from tfjob.sdk.job_logs import log_lines

_LAST_LINES: Final = 20
_DRAIN_TIMEOUT: Final = 1.0

_Run = tuple[str, int]
"""The UID of a pod, and how often its training container was restarted before."""


class ReplicaLogs:
    """One reader per run of a training container."""

    def __init__(
        self, api: Api, screen: Screen, *, wanted: str, record: Callable[[str, str], None]
    ) -> None:
        self._api = api
        self._screen = screen
        self._wanted = wanted
        self._record = record
        self._readers: dict[_Run, asyncio.Task[None]] = {}
        self._last: dict[str, list[str]] = {}
        self._lines = 0
        self._quiet_since: dict[_Run, float] = {}
        """When the last line arrived of each run that is behind."""
        self._is_closed = False

    def last_lines(self, replica: str) -> list[str]:
        """The last lines of the newest run that wrote any."""
        return self._last.get(replica, [])

    def follow(self, pod: Pod, replica: str) -> None:
        """Read the log of the pod's current run, unless a reader does so already."""
        status = pod.container_status(TRAINING_CONTAINER)
        if status is None or not (status.state.running or status.state.terminated):
            return
        run = (pod.metadata.uid, status.restart_count)
        if run not in self._readers and not self._is_closed:
            self._readers[run] = asyncio.create_task(self._read(pod, replica, run))

    def is_behind(self, pod: Pod) -> bool:
        """Whether the container has ended and its last lines may still arrive."""
        status = pod.container_status(TRAINING_CONTAINER)
        if status is None or status.state.running:
            return False
        run = (pod.metadata.uid, status.restart_count)
        reader = self._readers.get(run)
        if reader is None or reader.done():
            return False
        now = asyncio.get_running_loop().time()
        return now - self._quiet_since.setdefault(run, now) < _DRAIN_TIMEOUT

    async def drain(self, uids: Collection[str]) -> None:
        """Wait for the last lines of these pods, which have ended, as long as lines arrive."""
        late = {reader for (uid, _), reader in self._readers.items() if uid in uids}
        read = -1
        while late and read != self._lines:
            read = self._lines
            _, late = await asyncio.wait(late, timeout=_DRAIN_TIMEOUT)

    async def close(self) -> None:
        """End all readers; nothing is read after this, so that the verdict comes last."""
        self._is_closed = True
        for reader in self._readers.values():
            reader.cancel()
        await asyncio.gather(*self._readers.values(), return_exceptions=True)

    async def _read(self, pod: Pod, replica: str, run: _Run) -> None:
        params = {"container": TRAINING_CONTAINER, "follow": "true"}
        is_wanted = self._wanted in {"all", replica, replica.rpartition("-")[0]}

        def show_progress(text: str) -> None:
            if is_wanted:
                self._screen.progress(replica, text)

        last: list[str] = []
        try:
            async for line in log_lines(self._api, pod, params, on_progress=show_progress):
                self._lines += 1
                if run in self._quiet_since:
                    self._quiet_since[run] = asyncio.get_running_loop().time()
                del last[: -_LAST_LINES + 1]
                last.append(line)
                self._last[replica] = last
                self._record(replica, line)
                if is_wanted:
                    self._screen.log(replica, line)
        except ApiError as error:
            if is_wanted:
                self._screen.log(replica, f"(log ended: {error.message})")
