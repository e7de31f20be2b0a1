"""Lenient readers for stored objects: they always return a usable value and report no faults.

For data that users do not write, such as a status, and for what is needed of a job with faults.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from tfjob.core.job import Owner
from tfjob.core.status import Limit, PodRecord, RecordCause
from tfjob.k8s import time

_MAX_COUNT = 2**31 - 1
_CAUSES = {str(cause): cause for cause in RecordCause}
_LIMITS = {str(each): each for each in Limit}


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; other items are skipped."""
    entries = value if isinstance(value, list) else []
    return (each for each in entries if isinstance(each, Mapping))


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """A count, clamped to the range 0 to 2**31 - 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), _MAX_COUNT)


def metadata_of(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(manifest.get("metadata"))


def is_deleting(manifest: Mapping[str, Any]) -> bool:
    return bool(metadata_of(manifest).get("deletionTimestamp"))


def owner_of(manifest: Mapping[str, Any], *, api_version: str, kind: str) -> Owner:
    """The owner that the job's children refer to."""
    metadata = metadata_of(manifest)
    return Owner(
        api_version=api_version,
        kind=kind,
        name=text(metadata.get("name")) or text(metadata.get("generateName")),
        namespace=text(metadata.get("namespace")) or "default",
        uid=text(metadata.get("uid")),
    )


def render_time(moment: datetime | None) -> str | None:
    return None if moment is None else time.render(moment)


def render_records(read_records: Iterable[PodRecord]) -> list[dict[str, Any]]:
    return [_render_record(each) for each in read_records]


def read_records(value: object) -> tuple[PodRecord, ...]:
    """Read records as rendered above; those without a time are skipped."""
    return tuple(
        PodRecord(
            index=number(each.get("index")),
            uid=text(each.get("uid")),
            streak=number(each.get("streak")),
            at=at,
            cause=_cause(each),
            in_place=number(each.get("inPlace")),
            excused=number(each.get("excused")),
            incident=text(each.get("incident")),
        )
        for each in mappings(value)
        if (at := time.parse(each.get("time"))) is not None
    )


def read_limit(value: object) -> Limit | None:
    return _LIMITS.get(text(value))


def _render_record(restart: PodRecord) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "index": restart.index,
        "uid": restart.uid,
        "streak": restart.streak,
        "time": time.render(restart.at),
        "cause": str(restart.cause),
    }
    rest = {
        "inPlace": restart.in_place,
        "excused": restart.excused,
        "incident": restart.incident,
    }
    return {**shown, **{key: value for key, value in rest.items() if value}}


def _cause(stored: Mapping[str, Any]) -> RecordCause:
    """Older versions stored no cause; there, an entry without a streak is a removed pod."""
    former = RecordCause.FAILED if number(stored.get("streak")) else RecordCause.REMOVED
    return _CAUSES.get(text(stored.get("cause")), former)
