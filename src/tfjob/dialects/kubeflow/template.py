"""A replica's pod template: what must be read of it, and the one port it is given.

The template passes through as the user wrote it. Only the training container's name, image,
ports and env are looked at, because names, services and TF_CONFIG follow from them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER, ServicePort
from tfjob.dialects.kubeflow import words
from tfjob.dialects.reading import Reader
from tfjob.k8s import field


class Template(msgspec.Struct, frozen=True):
    """A template with its training port, and what was read of it."""

    body: Mapping[str, Any] = {}
    port: int = words.PORT
    ports: Sequence[ServicePort] = ()
    has_restart_policy: bool = False


def read_template(reader: Reader, value: object, path: str) -> Template:
    given = reader.mapping(value, path)
    _check_metadata(reader, given.get("metadata"), f"{path}.metadata")
    spec = reader.mapping(given.get("spec"), f"{path}.spec")
    containers_path = f"{path}.spec.containers"
    containers = reader.sequence(spec.get("containers"), containers_path)
    place = _check_containers(reader, containers, containers_path)
    if place is None or reader.faults:
        return Template()
    return _with_port(given, spec, containers, place)


def _check_metadata(reader: Reader, value: object, path: str) -> None:
    metadata = reader.mapping(value, path)
    reader.labels(metadata.get("labels"), f"{path}.labels")
    reader.labels(metadata.get("annotations"), f"{path}.annotations")
    reader.sequence(metadata.get("finalizers"), f"{path}.finalizers")


def _check_containers(reader: Reader, containers: Sequence[Any], path: str) -> int | None:
    """Where the training container stands, with all that is wrong with the list noted."""
    if not containers:
        reader.note(field.required(path, "must be specified"))
    found: int | None = None
    for place, value in enumerate(containers):
        own_path = f"{path}[{place}]"
        container = reader.mapping(value, own_path)
        if not reader.text(container.get("image"), f"{own_path}.image"):
            reader.note(field.required(f"{own_path}.image", "must be required"))
        if container.get("name") == TRAINING_CONTAINER and found is None:
            found = place
            _check_training_container(reader, container, own_path)
    if found is None:
        rule = f"must have at least one container with name {TRAINING_CONTAINER}"
        reader.note(field.required(path, rule))
    return found


def _check_training_container(reader: Reader, container: Mapping[str, Any], path: str) -> None:
    for place, value in enumerate(reader.sequence(container.get("env"), f"{path}.env")):
        reader.mapping(value, f"{path}.env[{place}]")
    for place, value in enumerate(reader.sequence(container.get("ports"), f"{path}.ports")):
        own_path = f"{path}.ports[{place}]"
        port = reader.mapping(value, own_path)
        reader.text(port.get("name"), f"{own_path}.name")
        reader.text(port.get("protocol"), f"{own_path}.protocol")
        number_path = f"{own_path}.containerPort"
        if port.get("containerPort") is None:
            reader.note(field.required(number_path, "must be a port number from 1 to 65535"))
        reader.integer(port.get("containerPort"), number_path, at_least=1, at_most=65535)


def _with_port(
    given: Mapping[str, Any], spec: Mapping[str, Any], containers: Sequence[Any], place: int
) -> Template:
    container = containers[place]
    ports = list(container.get("ports") or ())
    named = [port for port in ports if port.get("name") == words.PORT_NAME]
    body = given
    if not named:
        named = [{"name": words.PORT_NAME, "containerPort": words.PORT}]
        ports += named
        changed = [*containers]
        changed[place] = {**container, "ports": ports}
        body = {**given, "spec": {**spec, "containers": changed}}
    return Template(
        body=body,
        port=named[0]["containerPort"],
        ports=_service_ports(ports),
        has_restart_policy=bool(spec.get("restartPolicy")),
    )


def _service_ports(ports: Sequence[Mapping[str, Any]]) -> list[ServicePort]:
    """Each (port, protocol) once and under a name; the training port always keeps its own."""
    found: dict[tuple[int, str], ServicePort] = {}
    for port in ports:
        number, protocol = port["containerPort"], port.get("protocol") or ""
        name = port.get("name") or f"port-{number}"
        place = (number, protocol or "TCP")
        if place not in found or name == words.PORT_NAME:
            found[place] = ServicePort(name=name, port=number, protocol=protocol)
    return list(found.values())
