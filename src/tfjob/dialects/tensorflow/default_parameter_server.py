"""The default parameter server of a TfJob: its container, program and command.

A PS gets it if its template has no training container. A container that was added here earlier is
recognised by the volume it mounts.
"""

import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.core.job import TRAINING_CONTAINER, Companion, ReplicaType
from tfjob.dialects.tensorflow import api
from tfjob.dialects.tensorflow.names import Names
from tfjob.dialects.tensorflow.template import (
    containers,
    has_training_container,
    pod_spec,
    with_spec,
    with_volumes,
)

FILE = "grpc_tensorflow_server.py"
FOLDER = "/ps-server"
VOLUME = "ps-config-volume"
RESTART_POLICY = "OnFailure"
SOURCE = (pkgutil.get_data(__package__, f"scripts/{FILE}") or b"").decode()
"""The program that runs unless the administrator configures another."""


def is_default(template: Mapping[str, Any] | None) -> bool:
    if not has_training_container(template):
        return True
    return any(_is_ours(each) for each in containers(template))


def with_server(template: Mapping[str, Any] | None, *, image: str) -> Mapping[str, Any]:
    """The template with the container of the server, as it is stored."""
    if has_training_container(template):
        return template or {}
    container = {
        "name": TRAINING_CONTAINER,
        "image": image,
        "volumeMounts": [{"name": VOLUME, "mountPath": FOLDER}],
    }
    policy = pod_spec(template).get("restartPolicy") or RESTART_POLICY
    return with_spec(template, containers=[*containers(template), container], restartPolicy=policy)


def mounted(template: Mapping[str, Any], *, config_map: str) -> Mapping[str, Any]:
    """The template with the volume of the program."""
    return with_volumes(template, [{"name": VOLUME, "configMap": {"name": config_map}}])


def config_map(names: Names, *, source: str) -> Companion:
    """The ConfigMap with the program, which the pods mount."""
    return Companion(
        kind="ConfigMap",
        name=names.config_map,
        manifest={
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": names.config_map, "labels": names.labels},
            "data": {FILE: source},
        },
    )


def commands(replicas: Sequence[ReplicaType], *, count: int) -> list[list[str]]:
    """The command of each server: the cluster and its own task index."""
    start = ["python", f"{FOLDER}/{FILE}", "--cluster_spec", _cluster(replicas)]
    own = ["--job_name", api.PS.lower(), "--task_id"]
    return [[*start, *own, str(index)] for index in range(count)]


def _cluster(replicas: Sequence[ReplicaType]) -> str:
    """The addresses by type in the format of the program, which accepts no empty types."""
    return ",".join(
        f"{each.task}|{';'.join(each.address(index) for index in range(each.count))}"
        for each in sorted(replicas, key=lambda replica: replica.task)
        if each.count
    )


def _is_ours(container: Mapping[str, Any]) -> bool:
    if container.get("name") != TRAINING_CONTAINER or container.get("command"):
        return False
    mounts = container.get("volumeMounts") or ()
    return any(each.get("name") == VOLUME for each in mounts)
