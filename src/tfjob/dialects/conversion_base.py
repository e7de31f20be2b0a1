"""Shared parts of the conversions between dialects, which all go through the hub, kubeflow.org/v1.

A conversion takes fields one by one, and every field that it does not take is reported as a loss.
Null is the same as absent. Of the dialects, this module knows only the hub.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.base import Loss, Manifest
from tfjob.dialects.kubeflow import api
from tfjob.dialects.kubeflow.conversion import up

HUB = api.API_VERSION
HUB_MANAGER = api.MANAGER
"""The manager of a hub job without managedBy."""
_SPECS = "spec.tfReplicaSpecs"


class Taken(NamedTuple):
    """A field's path and value; the value is None if the field is absent."""

    path: str
    value: Any


class Fields:
    """The fields of an object that are not converted yet, with those of entered sub-objects."""

    def __init__(self, value: object, path: str, *, folds_case: bool = False) -> None:
        self.path = path
        self._folds_case = folds_case
        given = value if isinstance(value, Mapping) else {}
        self._left = {str(key): each for key, each in given.items() if each is not None}
        self._entered: list[Fields] = []

    def take(self, *spellings: str) -> Taken:
        """Take a field under its usual spelling, given first, or an alternative one."""
        usual = spellings[0]
        found = sorted(self._spelt(spellings), key=lambda key: (key != usual, key))
        if not found:
            return Taken(f"{self.path}.{usual}", None)
        return Taken(f"{self.path}.{found[0]}", self._left.pop(found[0]))

    def enter(self, *spellings: str) -> "Fields":
        """Take a field and return its own fields; what they leave unconverted counts here too."""
        path, value = self.take(*spellings)
        return self.enter_item(value, path)

    def enter_item(self, value: object, path: str) -> "Fields":
        inner = Fields(value, path, folds_case=self._folds_case)
        self._entered.append(inner)
        return inner

    def unconverted(self) -> Iterator[str]:
        """Paths of the fields that were not taken."""
        yield from (f"{self.path}.{key}" for key in self._left)
        for inner in self._entered:
            yield from inner.unconverted()

    def _spelt(self, spellings: Sequence[str]) -> list[str]:
        if not self._folds_case:
            return [key for key in self._left if key in spellings]
        folded = {each.lower() for each in spellings}
        return [key for key in self._left if key.lower() in folded]


class Losses:
    """Collects what a target cannot express."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.found: list[Loss] = []

    @property
    def is_for_hub(self) -> bool:
        """The target behaves as the hub does: it is the hub, or another version of its API."""
        return self.target.partition("/")[0] == api.GROUP

    def note(self, path: str, message: str) -> None:
        self.found.append(Loss(path, message))

    def drop(self, field: Taken, *, same: Sequence[object], instead: str) -> None:
        """Drop a field. It is no loss if its value is in `same`, which equals its absence."""
        if field.value is not None and field.value not in same:
            self.note(field.path, f"{self.target} has no such field; {instead}")

    def drop_unconverted(self, fields: Fields) -> None:
        for path in fields.unconverted():
            self.note(path, f"{self.target} has no such field; it is left out")


class HubReplica(msgspec.Struct, frozen=True):
    """One entry of a hub job's replica specs."""

    type: str
    path: str
    count: int
    restart: Taken
    template: Mapping[str, Any]
    fields: dict[str, Any]
    """Fields that both dialects spell alike."""


class HubJob:
    """A hub job to be converted to another dialect: its replicas, and its remaining fields."""

    def __init__(self, manifest: Manifest) -> None:
        given = up(manifest)
        self.metadata = given["metadata"]
        self.spec = Fields(given["spec"], "spec")
        self.policy = self.spec.enter("runPolicy")
        specs = self.spec.take("tfReplicaSpecs").value
        self.replicas = [self._replica(key, each) for key, each in specs.items()]

    def _replica(self, key: str, value: object) -> HubReplica:
        path = f"{_SPECS}[{key}]"
        given = self.spec.enter_item(value, path)
        count, template = given.take("replicas"), given.take("template")
        shared = {"replicas": count.value}
        return HubReplica(
            type=api.BY_LOWER_CASE[key.lower()],
            path=path,
            count=1 if count.value is None else count.value,
            restart=given.take("restartPolicy"),
            template=template.value,
            fields={name: each for name, each in shared.items() if each is not None},
        )

    @property
    def decisive_replica(self) -> HubReplica | None:
        """The replica type whose success ends the job; types without replicas do not count."""
        for kind in (*api.DECISIVE_TYPES, "Worker", "PS"):
            for each in self.replicas:
                if each.type == kind and each.count:
                    return each
        return None

    @property
    def total(self) -> int:
        return sum(each.count for each in self.replicas)


def hub_manifest(manifest: Manifest, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The hub job with the metadata of `manifest` and this spec, without its empty fields."""
    filled = {key: value for key, value in spec.items() if value}
    return as_kind(manifest["metadata"], api_version=HUB, kind=api.KIND, spec=filled)


def as_kind(
    metadata: Mapping[str, Any], *, api_version: str, kind: str, spec: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": dict(metadata),
        "spec": dict(spec),
    }


def hub_path(kind: str) -> str:
    return f"{_SPECS}[{kind}]"


def training_index(template: Mapping[str, Any]) -> int | None:
    """The index of the training container."""
    named = (place for place, each in objects(_containers(template)) if _trains(each))
    return next(named, None)


def hub_port(template: Mapping[str, Any]) -> Taken | None:
    """The path and number of the TensorFlow port in a hub template."""
    place = training_index(template)
    if place is None:
        return None
    for index, port in objects(_containers(template)[place].get("ports")):
        if _is_address(port):
            path = f"template.spec.containers[{place}].ports[{index}].containerPort"
            return Taken(path, port.get("containerPort"))
    return None


def with_hub_port(template: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """The template with this TensorFlow port; the hub's default is not written."""
    named, place = hub_port(template), training_index(template)
    if place is None or number == (api.PORT if named is None else named.value):
        return template
    container = _containers(template)[place]
    given = container.get("ports")
    ports = list(given) if isinstance(given, list) else []
    for index, port in objects(ports):
        if _is_address(port):
            ports[index] = {**port, "containerPort": number}
    if named is None:
        ports.append({"name": api.PORT_NAME, "containerPort": number})
    return with_container(template, place, {**container, "ports": ports})


def with_container(
    template: Mapping[str, Any], place: int, container: Mapping[str, Any]
) -> Mapping[str, Any]:
    containers = [*_containers(template)]
    containers[place : place + 1] = [container]
    return {**template, "spec": {**(template.get("spec") or {}), "containers": containers}}


def objects(value: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a list with their indexes; the API server rejects other items."""
    for place, each in enumerate(value if isinstance(value, list) else ()):
        if isinstance(each, Mapping):
            yield place, each


def _trains(container: Mapping[str, Any]) -> bool:
    return container.get("name") == TRAINING_CONTAINER


def _is_address(port: Mapping[str, Any]) -> bool:
    return port.get("name") == api.PORT_NAME


def _containers(template: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = (template.get("spec") or {}).get("containers") or ()
    return found
