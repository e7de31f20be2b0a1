"""Serves requests for container logs.

The query becomes options, or a message that says what is wrong with it. A container that has not
started has no log; the message says what it waits for.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tfjob.k8s import time
from tfjob.local.node.checkpoint import container_folder
from tfjob.local.node.log_reader import LogMissingError, LogOptions, log_file, read

Json = Mapping[str, Any]


def _now() -> datetime:
    return datetime.now(UTC)


class PodLogs:
    """The logs below the node's folder of pods."""

    def __init__(self, pods_folder: Path, *, clock: Callable[[], datetime] = _now) -> None:
        self._root, self._clock = pods_folder, clock

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        """The requested lines; LookupError says why there are none."""
        name = str(options.get("container", ""))
        wanted = log_options(options, now=self._clock())
        try:
            folder = container_folder(self._root, str(pod["metadata"]["uid"]), name)
            path = log_file(folder, previous=wanted.previous)
        except (LogMissingError, ValueError) as fault:
            raise LogMissingError(_why_missing(pod, name, previous=wanted.previous)) from fault
        async for chunk in read(path, wanted):
            yield chunk


def log_options(query: Mapping[str, str], *, now: datetime) -> LogOptions:
    """The options in a request's query."""
    since = None
    seconds = _number(query, "sinceSeconds", least=1)
    if seconds is not None:
        since = now - timedelta(seconds=seconds)
    if query.get("sinceTime"):
        since = time.parse(query["sinceTime"])
        if since is None:
            raise LogMissingError(
                f"sinceTime: must be an RFC 3339 time, got {query['sinceTime']!r}"
            )
    return LogOptions(
        follow=_is_true(query, "follow"),
        previous=_is_true(query, "previous"),
        timestamps=_is_true(query, "timestamps"),
        tail_lines=_number(query, "tailLines", least=0),
        limit_bytes=_number(query, "limitBytes", least=1),
        since=since,
    )


def _is_true(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")


def _number(query: Mapping[str, str], name: str, *, least: int) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdecimal() or int(text) < least:
        raise LogMissingError(f"{name}: must be a whole number of at least {least}, got {text!r}")
    return int(text)


def _why_missing(pod: Json, container: str, *, previous: bool) -> str:
    name = pod["metadata"].get("name")
    if previous:
        return f'previous terminated container "{container}" in pod "{name}" not found'
    status = pod.get("status") or {}
    known = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for one in known:
        waiting = (one.get("state") or {}).get("waiting")
        if one.get("name") == container and waiting:
            why = waiting.get("reason", "")
            return f'container "{container}" in pod "{name}" is waiting to start: {why}'
    return f'container "{container}" in pod "{name}" is not available'
