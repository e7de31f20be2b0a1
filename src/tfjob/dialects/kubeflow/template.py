"""Reads the pod template of a replica and adds the TensorFlow port if it is missing.

Templates are otherwise passed on as written. Only the fields that services and TF_CONFIG depend on
are read: the metadata, and the name, image, ports and env of each container.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER, ServicePort
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.kubeflow import api, hints, validation_messages
from tfjob.k8s import field


class Template(msgspec.Struct, frozen=True):
    """A template with its TensorFlow port, and what was read of it."""

    body: Mapping[str, Any] = {}
    port: int = api.PORT
    ports: Sequence[ServicePort] = ()
    has_restart_policy: bool = False


def read_template(reader: Reader, given: Mapping[str, Any], path: str) -> Template:
    """Read a template that matches the schema."""
    spec = given.get("spec") or {}
    containers = spec.get("containers") or ()
    place = _check_containers(reader, containers, f"{path}.spec.containers")
    if place is None or reader.faults:
        return Template()
    return _with_port(given, spec, containers, place)


def _check_containers(reader: Reader, containers: Sequence[Any], path: str) -> int | None:
    """The index of the training container; all faults of the list are reported."""
    if not containers:
        reader.note(
            field.required(path, validation_messages.NO_CONTAINERS, remedy=hints.NO_CONTAINERS)
        )
    for place, container in enumerate(containers):
        if not container.get("image"):
            own, rule = f"{path}[{place}].image", validation_messages.REQUIRED
            reader.note(field.required(own, rule, remedy=hints.NO_IMAGE))
    names = [container.get("name") for container in containers]
    if TRAINING_CONTAINER in names:
        return names.index(TRAINING_CONTAINER)
    remedy = hints.NO_TRAINING_CONTAINER if containers else hints.NO_CONTAINERS
    reader.note(field.required(path, validation_messages.NO_TRAINING_CONTAINER, remedy=remedy))
    return None


def _with_port(
    given: Mapping[str, Any], spec: Mapping[str, Any], containers: Sequence[Any], place: int
) -> Template:
    container = containers[place]
    ports = list(container.get("ports") or ())
    named = [port for port in ports if port.get("name") == api.PORT_NAME]
    body = given
    if not named:
        named = [{"name": api.PORT_NAME, "containerPort": api.PORT}]
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
    """Each (port, protocol) once, with a unique name; the TensorFlow port keeps its name."""
    given: dict[tuple[int, str], tuple[str, str]] = {}
    for port in ports:
        name, protocol = port.get("name") or "", port.get("protocol") or ""
        place = (int(port["containerPort"]), protocol or "TCP")
        if place not in given or name == api.PORT_NAME:
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
