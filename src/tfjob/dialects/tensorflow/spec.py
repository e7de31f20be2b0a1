"""Reads the spec of a TfJob: reports wrong types and applies defaults in memory.

Keys are case-insensitive. Semantic checks are in `checks`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.dialects.base import Settings
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.tensorflow import api, default_parameter_server, key_aliases
from tfjob.dialects.tensorflow.config import config_of
from tfjob.dialects.tensorflow.template import check_template

SPECS = "spec.replicaSpecs"
_INT32 = 2**31 - 1


class Entry(msgspec.Struct, frozen=True):
    """One replica type. `given` is what the user wrote, in the usual spelling."""

    path: str
    type: str
    count: int
    port: int
    given: Mapping[str, Any]
    template: Mapping[str, Any] | None
    is_default_server: bool


class TensorBoard(msgspec.Struct, frozen=True):
    log_dir: str
    service_type: str
    volumes: Sequence[Mapping[str, Any]]
    mounts: Sequence[Mapping[str, Any]]
    given: Mapping[str, Any]


class Chief(msgspec.Struct, frozen=True):
    """The decisive replica. It is missing if terminationPolicy is given without a chief."""

    type: str = api.MASTER
    index: int = 0
    is_missing: bool = False


class Spec(msgspec.Struct, frozen=True):
    entries: Sequence[Entry]
    chief: Chief
    runtime_id: str
    image: str
    tensorboard: TensorBoard | None
    given: Mapping[str, Any]
    termination: Mapping[str, Any]


def read_spec(reader: Reader, manifest: Mapping[str, Any], settings: Settings) -> Spec:
    """Read the spec. The result is only valid if the reader has no faults."""
    given = key_aliases.normalised(reader.mapping(manifest.get("spec"), "spec"), key_aliases.SPEC)
    image = reader.text(given.get("tfImage"), "spec.tfImage")
    image = image or config_of(settings).tf_image or api.IMAGE
    termination, chief = _read_termination(reader, given.get("terminationPolicy"))
    return Spec(
        entries=[
            _read_entry(reader, each, path, image=image)
            for path, each in reader.objects(given.get("replicaSpecs"), SPECS)
        ],
        chief=chief,
        runtime_id=reader.text(given.get("RuntimeId"), "spec.RuntimeId"),
        image=image,
        tensorboard=_read_tensorboard(reader, given.get("tensorboard")),
        given=given,
        termination=termination,
    )


def usual_spelling(spec: Spec) -> Mapping[str, Any]:
    """The spec with its keys in the usual spelling, and with its defaults."""
    found: dict[str, Any] = {
        "RuntimeId": spec.runtime_id,
        "replicaSpecs": [with_defaults(each) for each in spec.entries],
        "terminationPolicy": spec.termination,
        "tfImage": spec.image,
    }
    if spec.tensorboard is not None:
        found["tensorboard"] = {**spec.tensorboard.given, "logDir": spec.tensorboard.log_dir}
    return found


def with_defaults(entry: Entry) -> dict[str, Any]:
    """An entry as it is stored."""
    return {
        **entry.given,
        "IsDefaultPS": entry.is_default_server,
        "replicas": entry.count,
        "template": entry.template,
        "tfPort": entry.port,
        "tfReplicaType": entry.type,
    }


def _read_entry(reader: Reader, value: Mapping[str, Any], path: str, *, image: str) -> Entry:
    given = key_aliases.normalised(value, key_aliases.REPLICA)
    kind = reader.text(given.get("tfReplicaType"), f"{path}.tfReplicaType") or api.MASTER
    count = reader.integer(given.get("replicas"), f"{path}.replicas", at_least=-_INT32)
    reader.boolean(given.get("IsDefaultPS"), f"{path}.IsDefaultPS")
    port = reader.integer(given.get("tfPort"), f"{path}.tfPort", at_least=-_INT32)
    template = None
    if "template" in given:
        template = check_template(reader, given["template"], f"{path}.template")
    is_served = (
        kind == api.PS and not reader.faults and default_parameter_server.is_default(template)
    )
    return Entry(
        path=path,
        type=kind,
        count=1 if count is None else count,
        port=api.PORT if port is None else port,
        given=given,
        template=default_parameter_server.with_server(template, image=image)
        if is_served
        else template,
        is_default_server=is_served,
    )


def _read_termination(reader: Reader, value: object) -> tuple[Mapping[str, Any], Chief]:
    path = "spec.terminationPolicy"
    if value is None:
        return {"chief": {"replicaName": api.MASTER, "replicaIndex": 0}}, Chief()
    policy = key_aliases.normalised(reader.mapping(value, path), key_aliases.TERMINATION)
    if "chief" not in policy:
        return policy, Chief(is_missing=True)
    path = f"{path}.chief"
    given = key_aliases.normalised(reader.mapping(policy["chief"], path), key_aliases.CHIEF)
    name = reader.text(given.get("replicaName"), f"{path}.replicaName") or api.MASTER
    index = reader.integer(given.get("replicaIndex"), f"{path}.replicaIndex", at_least=-_INT32)
    given |= {"replicaName": name, "replicaIndex": index or 0}
    return {**policy, "chief": given}, Chief(type=name, index=index or 0)


def _read_tensorboard(reader: Reader, value: object) -> TensorBoard | None:
    path = "spec.tensorboard"
    if value is None:
        return None
    given = key_aliases.normalised(reader.mapping(value, path), key_aliases.TENSORBOARD)
    return TensorBoard(
        log_dir=reader.text(given.get("logDir"), f"{path}.logDir"),
        service_type=reader.text(given.get("serviceType"), f"{path}.serviceType"),
        volumes=[each for _, each in reader.objects(given.get("volumes"), f"{path}.volumes")],
        mounts=[
            each for _, each in reader.objects(given.get("volumeMounts"), f"{path}.volumeMounts")
        ],
        given=given,
    )
