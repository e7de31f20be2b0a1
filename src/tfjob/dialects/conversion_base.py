"""What every translation of a job needs: fields taken one by one, and the losses on the way.

Law: a field that nobody takes is a loss, so that nothing is lost in silence. Null is the same as
absent. It knows what a job of the hub, `kubeflow.org/v1`, looks like, and no other dialect.
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
"""Who runs a job of the hub that names nobody."""
_SPECS = "spec.tfReplicaSpecs"


class Taken(NamedTuple):
    """A field as it was written; where it is absent, the place where it would stand."""

    path: str
    value: Any


class Fields:
    """The fields of one object and of the objects inside that were entered."""

    def __init__(self, value: object, path: str, *, folds_case: bool = False) -> None:
        self.path = path
        self._folds_case = folds_case
        given = value if isinstance(value, Mapping) else {}
        self._left = {str(key): each for key, each in given.items() if each is not None}
        self._entered: list[Fields] = []

    def take(self, *spellings: str) -> Taken:
        """The field under its usual spelling, which comes first, or under another one."""
        usual = spellings[0]
        found = sorted(self._spelt(spellings), key=lambda key: (key != usual, key))
        if not found:
            return Taken(f"{self.path}.{usual}", None)
        return Taken(f"{self.path}.{found[0]}", self._left.pop(found[0]))

    def enter(self, *spellings: str) -> "Fields":
        """The object of a field; what is left in it is left in this one, too."""
        path, value = self.take(*spellings)
        return self.enter_item(value, path)

    def enter_item(self, value: object, path: str) -> "Fields":
        inner = Fields(value, path, folds_case=self._folds_case)
        self._entered.append(inner)
        return inner

    def unconverted(self) -> Iterator[str]:
        """The paths of what nobody took."""
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

    def note(self, path: str, message: str) -> None:
        self.found.append(Loss(path, message))

    def drop(self, field: Taken, *, same: Sequence[object], instead: str) -> None:
        """Leave a field out; values that mean the same as its absence are no loss."""
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
    """What both sides write alike, as it was written."""


class HubJob:
    """A job of the hub, read for another dialect: replicas first, then field by field."""

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
        """Whose success ends the job; a type without replicas counts as absent."""
        for kind in (*api.DECISIVE_TYPES, "Worker", "PS"):
            for each in self.replicas:
                if each.type == kind and each.count:
                    return each
        return None

    @property
    def total(self) -> int:
        return sum(each.count for each in self.replicas)


def hub_manifest(manifest: Manifest, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The same object as a job of the hub; parts that say nothing are left out."""
    said = {key: value for key, value in spec.items() if value}
    return as_kind(manifest["metadata"], api_version=HUB, kind=api.KIND, spec=said)


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
    """Where the container that trains stands."""
    named = (place for place, each in objects(_containers(template)) if _trains(each))
    return next(named, None)


def hub_port(template: Mapping[str, Any]) -> Taken | None:
    """The address port as a template of the hub names it: its place and number."""
    place = training_index(template)
    if place is None:
        return None
    for index, port in objects(_containers(template)[place].get("ports")):
        if _is_address(port):
            path = f"template.spec.containers[{place}].ports[{index}].containerPort"
            return Taken(path, port.get("containerPort"))
    return None


def with_hub_port(template: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """The template with its address port; the hub's own number needs no word."""
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
    """The objects of a list with their places; what is none is for an API server to refuse."""
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
