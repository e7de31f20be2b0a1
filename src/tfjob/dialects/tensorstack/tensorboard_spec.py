"""Reads tensorboardSpec: the image and log sources of a TensorBoard.

Log sources have two equivalent spellings: a list of URLs, and the newer `logDir`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.dialects.base import LogFolder

CLAIM = "t9k://pvc/"


class Board(msgspec.Struct, frozen=True):
    image: str
    sources: Sequence[LogFolder] = ()
    elsewhere: Sequence[str] = ()
    """Sources that are not volumes, which only the vendor's TensorBoard can read."""
    is_suspended: bool = False
    queue: str = ""
    resources: Mapping[str, Any] = {}
    given: Mapping[str, Any] = {}
    """The field as written by the user."""


def read_board(given: Mapping[str, Any] | None) -> Board | None:
    """Read a valid tensorboardSpec."""
    if given is None:
        return None
    filesets = given.get("trainingLogFilesets") or ()
    folders, elsewhere = _log_dir(given.get("logDir") or {})
    scheduler = given.get("scheduler") or {}
    return Board(
        image=given["image"],
        sources=[*filter(None, map(_source_of, filesets)), *folders],
        elsewhere=[*(each for each in filesets if _source_of(each) is None), *elsewhere],
        is_suspended=bool(given.get("suspend")),
        queue=(scheduler.get("t9kScheduler") or {}).get("queue") or "",
        resources=given.get("resources") or {},
        given=given,
    )


def _source_of(fileset: str) -> LogFolder | None:
    if not fileset.startswith(CLAIM):
        return None
    claim, _, path = fileset.removeprefix(CLAIM).partition("/")
    return LogFolder(claim=claim, path=path.strip("/"))


def _log_dir(given: Mapping[str, Any]) -> tuple[list[LogFolder], list[str]]:
    sources = [
        LogFolder(claim=entry.get("name") or "", path=folder.strip("/"))
        for entry in given.get("pvc") or ()
        for folder in entry.get("subPath") or [""]
    ]
    bucket, pages = given.get("s3") or {}, given.get("http") or {}
    return sources, [*(bucket.get("uri") or ()), *(pages.get("url") or ())]
