"""A replica's pod template: what must be read of it, and the one port it is given.

The template passes through as the user wrote it. Only what names, services and TF_CONFIG follow
from is looked at: metadata, and of each container its name, image, ports and env.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER, ServicePort
from tfjob.dialects.kubeflow import refusals, remedies, words
from tfjob.dialects.kubeflow.schema import LONGEST_PORT, MOST_CONTAINERS
from tfjob.dialects.reading import IGNORED_METADATA, Reader
from tfjob.k8s import field


class Template(msgspec.Struct, frozen=True):
    """A template with its training port, and what was read of it."""

    body: Mapping[str, Any] = {}
    port: int = words.PORT
    ports: Sequence[ServicePort] = ()
    has_restart_policy: bool = False


def read_template(reader: Reader, value: object, path: str) -> Template:
    given = reader.mapping(value, path)
    reader.pod_metadata(given.get("metadata"), f"{path}.metadata", also=IGNORED_METADATA)
    spec = reader.mapping(given.get("spec"), f"{path}.spec")
    containers_path = f"{path}.spec.containers"
    containers = reader.sequence(spec.get("containers"), containers_path)
    place = _check_containers(reader, containers, containers_path)
    if place is None or reader.faults:
        return Template()
    return _with_port(given, spec, containers, place)


def _check_containers(reader: Reader, containers: Sequence[Any], path: str) -> int | None:
    """Where the training container stands, with all that is wrong with the list noted."""
    if not containers:
        reader.note(field.required(path, refusals.NO_CONTAINERS, remedy=remedies.NO_CONTAINERS))
    if len(containers) > MOST_CONTAINERS:
        rule = f"{path} in body should have at most {MOST_CONTAINERS} items"
        remedy = remedies.MANY_CONTAINERS
        reader.note(field.invalid(path, len(containers), rule, remedy=remedy))
    found: int | None = None
    for place, (own_path, container) in enumerate(reader.objects(containers, path)):
        name = _check_container(reader, container, own_path)
        if name == TRAINING_CONTAINER and found is None:
            found = place
    if found is None:
        remedy = remedies.NO_TRAINING_CONTAINER if containers else remedies.NO_CONTAINERS
        reader.note(field.required(path, refusals.NO_TRAINING_CONTAINER, remedy=remedy))
    return found


def _check_container(reader: Reader, container: Mapping[str, Any], path: str) -> str:
    """The name of the container, with all that is wrong with it noted."""
    if not reader.text(container.get("image"), f"{path}.image"):
        rule, remedy = refusals.REQUIRED, remedies.NO_IMAGE
        reader.note(field.required(f"{path}.image", rule, remedy=remedy))
    for own_path, variable in reader.objects(container.get("env"), f"{path}.env"):
        reader.text(variable.get("name"), f"{own_path}.name")
    for own_path, port in reader.objects(container.get("ports"), f"{path}.ports"):
        _check_port(reader, port, own_path)
    return reader.text(container.get("name"), f"{path}.name")


def _check_port(reader: Reader, port: Mapping[str, Any], path: str) -> None:
    reader.text(port.get("name"), f"{path}.name")
    reader.text(port.get("protocol"), f"{path}.protocol")
    number_path = f"{path}.containerPort"
    if port.get("containerPort") is None:
        rule = f"must be a port number from 1 to {LONGEST_PORT}"
        reader.note(field.required(number_path, rule, remedy=remedies.NO_PORT))
    reader.integer(port.get("containerPort"), number_path, at_least=1, at_most=LONGEST_PORT)


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
        port=int(named[0]["containerPort"]),
        ports=_service_ports(ports),
        has_restart_policy=bool(spec.get("restartPolicy")),
    )


def _service_ports(ports: Sequence[Mapping[str, Any]]) -> list[ServicePort]:
    """Each (port, protocol) once and under a name of its own; the training port keeps its name."""
    given: dict[tuple[int, str], tuple[str, str]] = {}
    for port in ports:
        name, protocol = port.get("name") or "", port.get("protocol") or ""
        place = (int(port["containerPort"]), protocol or "TCP")
        if place not in given or name == words.PORT_NAME:
            given[place] = (name, protocol)
    taken = {name for name, _ in given.values() if name}
    found: list[ServicePort] = []
    for (number, transport), (name, protocol) in given.items():
        shown = name or f"port-{number}"
        if not name and shown in taken:
            shown = f"{shown}-{transport.lower()}"
        taken.add(shown)
        found.append(ServicePort(name=shown, port=number, protocol=protocol))
    return found
