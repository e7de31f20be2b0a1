"""Reads the pod template of a replica and adds the TensorFlow port if it is missing.

Templates are otherwise passed on as written. Only the fields that services and TF_CONFIG depend on
are read: the metadata, and the name, image, ports and env of each container.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core.job import TRAINING_CONTAINER, ServicePort
from tfjob.dialects.kubeflow import api


class Template(msgspec.Struct, frozen=True):
    """A template with its TensorFlow port, and what was read of it."""

    body: Mapping[str, Any] = {}
    port: int = api.PORT
    ports: Sequence[ServicePort] = ()
    has_restart_policy: bool = False


def read_template(given: Mapping[str, Any]) -> Template:
    """Read a valid template."""
    spec = given["spec"]
    containers = spec["containers"]
    names = [container.get("name") for container in containers]
    return _with_port(given, spec, containers, names.index(TRAINING_CONTAINER))


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
