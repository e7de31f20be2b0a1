"""Reads the pod template of a replica, and adds volumes and containers to it.

Templates are never modified in place. An entry whose name the template already has is not added.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.field_reader import Reader

Json = Mapping[str, Any]


def check_template(reader: Reader, value: object, path: str) -> Json:
    """Check a template for what a pod cannot have."""
    given = reader.mapping(value, path)
    reader.pod_metadata(given.get("metadata"), f"{path}.metadata")
    spec = reader.mapping(given.get("spec"), f"{path}.spec")
    reader.text(spec.get("restartPolicy"), f"{path}.spec.restartPolicy")
    _check_names(reader, spec.get("volumes"), f"{path}.spec.volumes")
    _check_containers(reader, spec.get("containers"), f"{path}.spec.containers")
    return given


def pod_spec(template: Json | None) -> Json:
    return (template or {}).get("spec") or {}


def containers(template: Json | None) -> Sequence[Json]:
    return pod_spec(template).get("containers") or ()


def has_training_container(template: Json | None) -> bool:
    return any(each.get("name") == TRAINING_CONTAINER for each in containers(template))


def with_spec(template: Json | None, **fields: Any) -> dict[str, Any]:
    """The template with fields of its pod's spec replaced."""
    return {**(template or {}), "spec": {**pod_spec(template), **fields}}


def with_volumes(template: Json, volumes: Iterable[Json]) -> Json:
    given = pod_spec(template).get("volumes") or ()
    joined = added(given, volumes)
    return template if len(joined) == len(given) else with_spec(template, volumes=joined)


def with_training_container(template: Json, change: Callable[[Json], Json]) -> Json:
    """The template with its training container changed."""
    changed = [
        change(each) if each.get("name") == TRAINING_CONTAINER else each
        for each in containers(template)
    ]
    return with_spec(template, containers=changed)


def added(given: Iterable[Json], more: Iterable[Json]) -> list[Json]:
    """The list with `more` appended, except entries whose name it already has."""
    found = list(given)
    for each in more:
        if all(other.get("name") != each["name"] for other in found):
            found.append(each)
    return found


def _check_containers(reader: Reader, value: object, path: str) -> None:
    for own_path, container in reader.objects(value, path):
        _check_container(reader, container, own_path)


def _check_container(reader: Reader, container: Json, path: str) -> None:
    reader.text(container.get("name"), f"{path}.name")
    _check_names(reader, container.get("env"), f"{path}.env")
    _check_names(reader, container.get("volumeMounts"), f"{path}.volumeMounts")
    resources = reader.mapping(container.get("resources"), f"{path}.resources")
    for key in ("limits", "requests"):
        reader.mapping(resources.get(key), f"{path}.resources.{key}")


def _check_names(reader: Reader, value: object, path: str) -> None:
    for own_path, each in reader.objects(value, path):
        reader.text(each.get("name"), f"{own_path}.name")
