"""Adds the configured volumes, mounts and variables to pods that request an accelerator.

Only the training container gets them. Entries whose name the template already has are not added.
Requests for the GPUs of old clusters are translated, unless the administrator switches that off.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects import legacy_gpu
from tfjob.dialects.base import Settings
from tfjob.dialects.tensorflow.config import Accelerator, config_of
from tfjob.dialects.tensorflow.spec import Entry
from tfjob.dialects.tensorflow.template import (
    added,
    containers,
    with_training_container,
    with_volumes,
)

Json = Mapping[str, Any]
FLAG = "translate-legacy-gpu"
LEGACY_GPU = "LegacyGPU"
"""The reason of the event about a request for the GPUs of old clusters."""


def template_of(entry: Entry, settings: Settings) -> Json:
    """The template of a replica type with its accelerators."""
    found = accelerated(entry.template or {}, config_of(settings).accelerators)
    return legacy_gpu.translated(found) if _translates(settings) else found


def warnings(entries: Sequence[Entry], settings: Settings) -> list[tuple[str, str]]:
    """Reasons and messages of events about requests for the GPUs of old clusters."""
    outcome = (
        f"the pods ask for {legacy_gpu.CURRENT} instead"
        if _translates(settings)
        else "the pods stay Pending"
    )
    return [
        (LEGACY_GPU, f"{entry.type}: {legacy_gpu.warning(path, outcome=outcome)}")
        for entry in entries
        for path in legacy_gpu.requests_in(entry.template or {})
    ]


def _translates(settings: Settings) -> bool:
    return bool(settings.options.get(FLAG, "true") == "true")


def accelerated(template: Json, known: Mapping[str, Accelerator]) -> Json:
    """The template with the configuration of all accelerators that it requests."""
    wanted = [known[name] for name in sorted(known) if _asks(template, name)]
    if not wanted:
        return template
    volumes = [volume for each in wanted for volume in each.volumes]
    env = [variable for each in wanted for variable in each.env]
    hosted = with_volumes(
        template,
        [{"name": each["name"], "hostPath": {"path": each["hostPath"]}} for each in volumes],
    )
    return with_training_container(hosted, lambda container: _equipped(container, volumes, env))


def _asks(template: Json, resource: str) -> bool:
    for container in containers(template):
        if container.get("name") != TRAINING_CONTAINER:
            continue
        resources = container.get("resources") or {}
        if any(resource in (resources.get(key) or ()) for key in ("limits", "requests")):
            return True
    return False


def _equipped(container: Json, volumes: Sequence[Json], env: Sequence[Json]) -> Json:
    mounts = [{"name": each["name"], "mountPath": each["mountPath"]} for each in volumes]
    changed = dict(container)
    for key, more in (("volumeMounts", mounts), ("env", env)):
        joined = added(container.get(key) or (), more)
        if joined:
            changed[key] = joined
    return changed
