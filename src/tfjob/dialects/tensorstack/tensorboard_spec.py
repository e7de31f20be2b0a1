"""Reads and converts tensorboardSpec: the image and log sources of a TensorBoard.

Log sources have two equivalent spellings: a list of URLs, and the newer `logDir`. A conversion
keeps the image and the folders of claims; other sources are lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.dialects.base import BeyondHub, LogFolder
from tfjob.dialects.conversion_base import Fields, Losses

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


def take_tensorboard(spec: Fields, losses: Losses) -> Board | None:
    """Take the TensorBoard of a job; None if it has none, or if the target cannot have one."""
    path, given = spec.take("tensorboardSpec")
    if losses.is_for_hub or not given:
        if given:
            losses.note(
                path,
                f"{losses.target} has no such field; no TensorBoard is started; run one separately",
            )
        return None
    board = read_board(given)
    if board is None:
        return None
    fields = spec.enter_item(given, path)
    fields.take("image")
    filesets, folder = fields.take("trainingLogFilesets"), fields.take("logDir")
    if board.elsewhere:
        losses.note(
            folder.path if filesets.value is None else filesets.path,
            f"{losses.target} reads logs from claims only; {', '.join(board.elsewhere)}: "
            + ("left out" if board.sources else "no TensorBoard is started"),
        )
    losses.drop(fields.take("suspend"), same=(False,), instead="TensorBoard is started at once")
    losses.drop(fields.take("scheduler"), same=({},), instead="TensorBoard waits in no queue")
    losses.drop(fields.take("resources"), same=({},), instead="TensorBoard asks for none")
    return board


def tensorboard_of(beyond: BeyondHub) -> dict[str, Any]:
    return {
        "image": beyond.tensorboard_image,
        "trainingLogFilesets": [
            f"{CLAIM}{each.claim}/{each.path}" if each.path else f"{CLAIM}{each.claim}"
            for each in beyond.log_folders
        ],
    }
