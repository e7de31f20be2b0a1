"""runMode: the commands of containers in debug mode or after a pause.

Debug mode is applied last, so it takes precedence over the commands of a resumed job.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER

_IDLE = ("sleep", "inf")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


class Start(msgspec.Struct, frozen=True):
    """Changes to the pods of one type; an empty list keeps what the template has."""

    skips_init: bool = False
    command: Sequence[str] = ()
    args: Sequence[str] = ()


class Modes(msgspec.Struct, frozen=True):
    is_debugged: bool = False
    debug: Mapping[str, Start] = {}
    is_paused: bool = False
    resume: Mapping[str, Start] = {}


def read_modes(given: Mapping[str, Any]) -> Modes:
    """Read a valid runMode."""
    debug, pause = given.get("debug") or {}, given.get("pause") or {}
    return Modes(
        is_debugged=_is_enabled(debug),
        debug=_starts_of(debug.get("replicaSpecs") or ()),
        is_paused=_is_enabled(pause),
        resume=_starts_of(pause.get("resumeSpecs") or ()),
    )


def started(
    template: Mapping[str, Any], modes: Modes, *, kind: str, was_paused: bool
) -> Mapping[str, Any]:
    """The template from which the pods of a type are now created."""
    if was_paused and kind in modes.resume:
        template = _resumed(template, modes.resume[kind])
    if modes.is_debugged:
        template = _debugged(template, modes.debug.get(kind, Start()))
    return template


def _is_enabled(given: Mapping[str, Any]) -> bool:
    """`enable` is the older spelling, used if the newer one is absent."""
    newer = given.get("enabled")
    return bool(given.get("enable") if newer is None else newer)


def _starts_of(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Start]:
    return {
        given["type"]: Start(
            skips_init=bool(given.get("skipInitContainer")),
            command=given.get("command") or (),
            args=given.get("args") or (),
        )
        for given in entries
    }


def _resumed(template: Mapping[str, Any], start: Start) -> Mapping[str, Any]:
    changes: dict[str, Any] = {}
    if start.command:
        changes["command"] = list(start.command)
    if start.args:
        changes["args"] = list(start.args)
    return _changed(template, start, changes=changes, dropped=())


def _debugged(template: Mapping[str, Any], start: Start) -> Mapping[str, Any]:
    """The training does not start, so its probes are removed: they would fail the pod."""
    command = {"command": list(start.command or _IDLE)}
    return _changed(template, start, changes=command, dropped=("args", *_PROBES))


def _changed(
    template: Mapping[str, Any],
    start: Start,
    *,
    changes: Mapping[str, Any],
    dropped: Sequence[str],
) -> Mapping[str, Any]:
    """A copy of the template with its training container changed."""
    spec = dict(template["spec"])
    if start.skips_init:
        spec.pop("initContainers", None)
    containers = list(spec["containers"])
    names = [each.get("name") for each in containers]
    place = names.index(TRAINING_CONTAINER)
    kept = {key: value for key, value in containers[place].items() if key not in dropped}
    containers[place] = {**kept, **changes}
    return {**template, "spec": {**spec, "containers": containers}}
