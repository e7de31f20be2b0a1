"""A diagnosis: the dominant cause of a job's state, and the incidents so far.

It is stored in the job's status and fits into 4 KiB: texts are cut by bytes of UTF-8, control
characters are replaced, and of many incidents the first and the latest are kept.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from tfjob.core import indexes
from tfjob.core.diagnosis.causes import CATALOGUE, Cause
from tfjob.k8s import time

MAX_BYTES: Final = 4096
MAX_INCIDENTS: Final = 5
"""The first incident and the latest ones."""
MAX_LINES_BYTES: Final = 1024
_MAX_MESSAGE: Final = 400
_MAX_DETAIL: Final = 160
_MAX_NAME: Final = 96
_MAX_KEY: Final = 128
"""A UID, the name of a container and the number of its run."""
_MAX_TYPES: Final = 5
_ELLIPSIS: Final = "…"
_VISIBLE: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((0x7F, *range(0x80, 0xA0), 0x2028, 0x2029), "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"),
}
_ONE_LINE: Final = {**_VISIBLE, ord("\n"): " ", ord("\t"): " "}

Replicas = Mapping[str, frozenset[int]]
"""Indexes by the label of the replica type."""


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One failure with a cause of its own, and its consequences.

    `key` is the UID of the pod and the number of the container's run, so that a failure is the
    same incident however often it is observed.
    """

    key: str
    cause: Cause
    kind: str
    index: int
    at: datetime
    node: str = ""
    exit_code: int | None = None
    reason: str = ""
    detail: str = ""
    until: datetime | None = None
    """When the last of the consequences ended."""
    consequences: Replicas = {}
    alike: Replicas = {}
    """Replicas that failed for the same cause at about the same time."""
    alike_until: datetime | None = None
    """When the last of them failed."""

    @property
    def replica(self) -> str:
        return f"{self.kind}-{self.index}"

    @property
    def lost_until(self) -> datetime:
        """When the last replica was lost that is not a consequence."""
        return self.at if self.alike_until is None else max(self.at, self.alike_until)

    @property
    def last_loss(self) -> datetime:
        return self.lost_until if self.until is None else max(self.lost_until, self.until)

    @property
    def sentence(self) -> str:
        """`worker-1 was killed: out of memory (limit 200Mi), exit code 137, on node n3`."""
        text = f"{self.replica} {CATALOGUE[self.cause].text}"
        if self.detail:
            text += f" ({self.detail})"
        if self.exit_code:
            text += f", exit code {self.exit_code}"
        return f"{text}, on node {self.node}" if self.node else text


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    cause: Cause
    message: str
    since: datetime
    replica: str = ""
    node: str = ""
    reason: str = ""
    exit_code: int | None = None
    last_lines: str = ""
    incidents: tuple[Incident, ...] = ()
    incident_count: int = 0

    @property
    def remedy(self) -> str:
        return CATALOGUE[self.cause].remedy

    @property
    def forgotten_until(self) -> datetime | None:
        """Unknown failures up to this time may belong to incidents that are no longer kept."""
        if self.incident_count <= len(self.incidents) or not self.incidents:
            return None
        return self.incidents[min(1, len(self.incidents) - 1)].at

    def forgotten_until_on(self, node: str) -> datetime | None:
        """The same, in the time of one node's clock; None if no incident on that node is kept."""
        if self.forgotten_until is None:
            return None
        kept = self.incidents[1:] or self.incidents
        return min((each.at for each in kept if each.node == node), default=None)

    @property
    def latest(self) -> Incident | None:
        return self.incidents[-1] if self.incidents else None


def cut(text: str, limit: int) -> str:
    """The text in one line without control characters, at most `limit` bytes of UTF-8."""
    return _cut(text.translate(_ONE_LINE).strip(), limit)


def last_lines(text: str) -> str:
    """The end of a text without control characters, from the start of a line where possible."""
    shown = text.translate(_VISIBLE).strip("\n")
    encoded = shown.encode("utf-8", "replace")
    if len(encoded) <= MAX_LINES_BYTES:
        return shown
    end = encoded[-MAX_LINES_BYTES:].decode("utf-8", "ignore")
    _, newline, whole = end.partition("\n")
    return (whole if newline and whole else end).lstrip("\n")


def fitted(found: Diagnosis) -> Diagnosis:
    """The diagnosis with all texts cut, so that it is at most MAX_BYTES as JSON. Idempotent."""
    found = msgspec.structs.replace(
        found,
        message=cut(found.message, _MAX_MESSAGE),
        replica=cut(found.replica, _MAX_NAME),
        node=cut(found.node, _MAX_NAME),
        reason=cut(found.reason, _MAX_NAME),
        last_lines=last_lines(found.last_lines),
        incidents=tuple(fitted_incident(each) for each in _kept(found.incidents, MAX_INCIDENTS)),
    )
    size = _size(found)
    while size > MAX_BYTES and len(found.incidents) > 1:
        fewer = tuple(_kept(found.incidents, len(found.incidents) - 1))
        found = msgspec.structs.replace(found, incidents=fewer)
        size = _size(found)
    while size > MAX_BYTES and found.last_lines:
        shorter = found.last_lines[(len(found.last_lines) + 1) // 2 :].lstrip("\n")
        found = msgspec.structs.replace(found, last_lines=shorter)
        size = _size(found)
    return found


def fitted_incident(each: Incident) -> Incident:
    """The incident with all texts cut. Idempotent."""
    return msgspec.structs.replace(
        each,
        key=cut(each.key, _MAX_KEY),
        node=cut(each.node, _MAX_NAME),
        reason=cut(each.reason, _MAX_NAME),
        detail=cut(each.detail, _MAX_DETAIL),
        consequences=_first_ranges(each.consequences),
        alike=_first_ranges(each.alike),
    )


def render(found: Diagnosis) -> dict[str, object]:
    """The diagnosis as it is stored; empty fields are left out."""
    shown: dict[str, object] = {
        "cause": str(found.cause),
        "message": found.message,
        "remedy": found.remedy,
        "replica": found.replica,
        "node": found.node,
        "reason": found.reason,
        "exitCode": found.exit_code,
        "since": time.render(found.since),
        "lastLines": found.last_lines,
        "incidentCount": found.incident_count,
        "incidents": [_render_incident(each) for each in found.incidents],
    }
    return {key: value for key, value in shown.items() if value}


def _render_incident(each: Incident) -> dict[str, object]:
    shown: dict[str, object] = {
        "key": each.key,
        "cause": str(each.cause),
        "replica": each.replica,
        "node": each.node,
        "exitCode": each.exit_code,
        "reason": each.reason,
        "detail": each.detail,
        "time": time.render(each.at),
        "until": None if each.until is None else time.render(each.until),
        "consequences": _ranges(each.consequences),
        "alike": _ranges(each.alike),
        "alikeUntil": None if each.alike_until is None else time.render(each.alike_until),
    }
    return {key: value for key, value in shown.items() if value}


def union(*parts: Replicas) -> Replicas:
    kinds = sorted({kind for part in parts for kind in part})
    return {
        kind: frozenset[int]().union(*(part[kind] for part in parts if kind in part))
        for kind in kinds
    }


def count(replicas: Replicas) -> int:
    return sum(len(each) for each in replicas.values())


def names(replicas: Replicas) -> list[str]:
    return [f"{kind}-{index}" for kind in sorted(replicas) for index in sorted(replicas[kind])]


def _ranges(replicas: Replicas) -> dict[str, str]:
    return {kind: indexes.render(each) for kind, each in sorted(replicas.items()) if each}


def _kept(incidents: tuple[Incident, ...], most: int) -> Iterable[Incident]:
    """The first incident and the latest ones; only the latest if there is space for one."""
    if len(incidents) <= most:
        return incidents
    return incidents[-1:] if most < 2 else (incidents[0], *incidents[1 - most :])


def _first_ranges(replicas: Replicas) -> Replicas:
    """The lowest indexes, as many as fit into the text of one name."""
    found: dict[str, frozenset[int]] = {}
    for kind in sorted(replicas)[:_MAX_TYPES]:
        text = indexes.render(replicas[kind])
        if len(text) > _MAX_NAME:
            text = text[:_MAX_NAME].rpartition(",")[0]
        found[kind] = indexes.parse(text, below=max(replicas[kind], default=0) + 1)
    return found


def _size(found: Diagnosis) -> int:
    return len(msgspec.json.encode(render(found)))


def _cut(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode()
    space = limit - len(_ELLIPSIS.encode())
    return encoded[:space].decode("utf-8", "ignore").rstrip() + _ELLIPSIS
