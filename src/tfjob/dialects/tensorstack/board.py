"""tensorboardSpec: from which image and logs a TensorBoard is asked for, read with every fault.

Two spellings of the places exist and mean the same: a list of URLs, and the newer `logDir`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tfjob.dialects.reading import Reader
from tfjob.dialects.tensorstack import refusals, remedies, words
from tfjob.k8s import field

_PATH = "spec.tensorboardSpec"
_CLAIM = "t9k://pvc/"


class Source(msgspec.Struct, frozen=True):
    """A folder of a PersistentVolumeClaim; an empty path is all of it."""

    claim: str
    path: str


class Board(msgspec.Struct, frozen=True):
    image: str
    sources: Sequence[Source] = ()
    elsewhere: Sequence[str] = ()
    """Places that are no volumes: only the vendor's own TensorBoard reads them."""
    is_suspended: bool = False
    queue: str = ""
    resources: Mapping[str, Any] = {}
    given: Mapping[str, Any] = {}
    """The block as the user wrote it."""


def read_board(reader: Reader, value: object) -> Board | None:
    if value is None:
        return None
    given = reader.mapping(value, _PATH)
    image = reader.text(given.get("image"), f"{_PATH}.image")
    if not image:
        rule, remedy = refusals.NO_IMAGE, remedies.NO_IMAGE_OF_BOARD
        reader.note(field.required(f"{_PATH}.image", rule, remedy=remedy))
    filesets = list(_filesets(reader, given.get("trainingLogFilesets")))
    folders, elsewhere = _read_log_dir(reader, given.get("logDir"))
    return Board(
        image=image,
        sources=[*filter(None, map(_source_of, filesets)), *folders],
        elsewhere=[*(each for each in filesets if _source_of(each) is None), *elsewhere],
        is_suspended=reader.boolean(given.get("suspend"), f"{_PATH}.suspend"),
        queue=_read_queue(reader, given.get("scheduler")),
        resources=reader.mapping(given.get("resources"), f"{_PATH}.resources"),
        given=given,
    )


def _filesets(reader: Reader, value: object) -> Iterator[str]:
    path = f"{_PATH}.trainingLogFilesets"
    reader.texts(value, path)
    for place, each in enumerate(reader.sequence(value, path)):
        if not isinstance(each, str):
            continue
        if re.fullmatch(words.FILESET, each) is None:
            rule, remedy = refusals.FILESET, remedies.FILESET
            reader.note(field.invalid(f"{path}[{place}]", each, rule, remedy=remedy))
            continue
        yield each


def _source_of(fileset: str) -> Source | None:
    if not fileset.startswith(_CLAIM):
        return None
    claim, _, path = fileset.removeprefix(_CLAIM).partition("/")
    return Source(claim=claim, path=path.strip("/"))


def _read_log_dir(reader: Reader, value: object) -> tuple[list[Source], list[str]]:
    path = f"{_PATH}.logDir"
    given = reader.mapping(value, path)
    sources: list[Source] = []
    for own_path, entry in reader.objects(given.get("pvc"), f"{path}.pvc"):
        claim = reader.text(entry.get("name"), f"{own_path}.name")
        if not claim:
            reader.note(field.required(f"{own_path}.name", refusals.REQUIRED))
        folders = _texts(reader, entry.get("subPath"), f"{own_path}.subPath") or [""]
        sources += [Source(claim=claim, path=folder.strip("/")) for folder in folders]
    bucket = reader.mapping(given.get("s3"), f"{path}.s3")
    pages = reader.mapping(given.get("http"), f"{path}.http")
    places = _texts(reader, bucket.get("uri"), f"{path}.s3.uri")
    return sources, [*places, *_texts(reader, pages.get("url"), f"{path}.http.url")]


def _texts(reader: Reader, value: object, path: str) -> list[str]:
    reader.texts(value, path)
    return [each for each in reader.sequence(value, path) if isinstance(each, str)]


def _read_queue(reader: Reader, value: object) -> str:
    path = f"{_PATH}.scheduler"
    scheduler = reader.mapping(value, path)
    given = reader.mapping(scheduler.get("t9kScheduler"), f"{path}.t9kScheduler")
    return reader.text(given.get("queue"), f"{path}.t9kScheduler.queue")
