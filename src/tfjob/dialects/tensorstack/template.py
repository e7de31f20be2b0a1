"""A replica's pod template: what must be read of it before pods can be built.

The template passes through as the user wrote it. Only what names and TF_CONFIG follow from is
looked at: metadata, and of each container its name, image and env.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.reading import IGNORED_METADATA, Reader
from tfjob.dialects.tensorstack import refusals, remedies
from tfjob.k8s import field

MOST_CONTAINERS = 100


def read_template(reader: Reader, value: object, path: str) -> Mapping[str, Any]:
    """The template; worth nothing when the reader has faults afterwards."""
    given = reader.mapping(value, path)
    reader.pod_metadata(given.get("metadata"), f"{path}.metadata", also=IGNORED_METADATA)
    spec = reader.mapping(given.get("spec"), f"{path}.spec")
    containers_path = f"{path}.spec.containers"
    containers = reader.sequence(spec.get("containers"), containers_path)
    _check_containers(reader, containers, containers_path)
    return given


def _check_containers(reader: Reader, containers: Sequence[Any], path: str) -> None:
    if len(containers) > MOST_CONTAINERS:
        rule = f"{path} in body should have at most {MOST_CONTAINERS} items"
        reader.note(field.invalid(path, len(containers), rule))
    found = [
        _check_container(reader, container, own_path)
        for own_path, container in reader.objects(containers, path)
    ]
    if TRAINING_CONTAINER not in found:
        rule, remedy = refusals.NO_CONTAINERS, remedies.NO_CONTAINERS
        reader.note(field.required(path, rule, remedy=remedy))


def _check_container(reader: Reader, container: Mapping[str, Any], path: str) -> str:
    """The name of the container, with all that is wrong with it noted."""
    if not reader.text(container.get("image"), f"{path}.image"):
        rule, remedy = refusals.NO_IMAGE, remedies.NO_IMAGE
        reader.note(field.required(f"{path}.image", rule, remedy=remedy))
    for own_path, variable in reader.objects(container.get("env"), f"{path}.env"):
        reader.text(variable.get("name"), f"{own_path}.name")
    return reader.text(container.get("name"), f"{path}.name")
