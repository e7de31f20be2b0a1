"""Defaults of a TFJob: what holds for the fields that its user leaves out.

They are applied in memory to a spec that matches the schema, so a stored job stays as written. The
CRD states only SUSPEND and the cleanPodPolicy of v1beta1: API servers store these two.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.core.job import TRAINING_CONTAINER, CleanPolicy, RestartPolicy
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow import api

Json = Mapping[str, Any]
REPLICAS = 1
RESTART_POLICY = str(RestartPolicy.NEVER)
SUSPEND = False
CLEAN_POD_POLICY = str(CleanPolicy.NONE)
"""The default of v1, unless the administrator sets another one."""
OLD_CLEAN_POD_POLICY = str(CleanPolicy.RUNNING)
"""The default of v1beta1."""
QUEUE = "default"
"""The queue of a PodGroup of Volcano."""


def replicas(specs: Json) -> dict[str, Json]:
    """The replicas of `tfReplicaSpecs` by the usual spelling of their types, in creation order."""
    given = {key.lower(): each for key, each in specs.items()}
    return {kind: _replica(given[kind.lower()]) for kind in api.TYPES if kind.lower() in given}


def _replica(given: Json) -> Json:
    return {
        **given,
        "replicas": given.get("replicas", REPLICAS),
        "restartPolicy": given.get("restartPolicy") or RESTART_POLICY,
        "template": with_port(given["template"]),
    }


def with_port(template: Json) -> Json:
    """The template with the port of TensorFlow in its first training container."""
    spec = template["spec"]
    containers = list(spec["containers"])
    place = [each.get("name") for each in containers].index(TRAINING_CONTAINER)
    ports = containers[place].get("ports") or ()
    if any(port.get("name") == api.PORT_NAME for port in ports):
        return template
    added = {"name": api.PORT_NAME, "containerPort": api.PORT}
    containers[place] = {**containers[place], "ports": [*ports, added]}
    return {**template, "spec": {**spec, "containers": containers}}


def clean_pod_policy(given: str | None, settings: Settings) -> CleanPolicy:
    return CleanPolicy(given or settings.default_clean_pod_policy)


def scheduling_policy(given: Json, *, total: int) -> Json:
    """All `total` pods are scheduled together, unless fewer are enough."""
    least = given.get("minAvailable")
    return {
        **given,
        "minAvailable": total if least is None else least,
        "queue": given.get("queue") or QUEUE,
    }
