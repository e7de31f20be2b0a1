"""TFJobs for tests on an API server, in the contract's shorthand.

Plain documents, valid unless the test breaks them. Nothing under test is imported.
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_TYPES = {"C": "Chief", "M": "Master", "P": "PS", "W": "Worker", "E": "Evaluator"}


def tfjob(
    roles: str = "W1",
    *,
    name: str = "j",
    restart: str | None = None,
    run_policy: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Json:
    """A job such as `tfjob("C1 P2:Never W4", restart="ExitCode")`; roles may carry a policy."""
    specs = {}
    for role in roles.split():
        count, _, policy = role[1:].partition(":")
        specs[_TYPES[role[0]]] = replica(int(count), restart=policy or restart)
    body: Json = {"tfReplicaSpecs": specs, **spec}
    if run_policy is not None:
        body["runPolicy"] = dict(run_policy)
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": body,
    }


def replica(count: int | None = 1, *, restart: str | None = None, **template: Any) -> Json:
    """One entry of tfReplicaSpecs; further fields go into the pod template's spec."""
    spec = {"containers": [container()], **template}
    found: Json = {"template": {"spec": spec}}
    if count is not None:
        found["replicas"] = count
    if restart is not None:
        found["restartPolicy"] = restart
    return found


def container(name: str = "tensorflow", **fields: Any) -> Json:
    return {"name": name, "image": "example.invalid/tensorflow", **fields}


def of_types(**replicas: Json | None) -> Json:
    """A job whose replica specs are given one by one: `of_types(Worker=replica(2))`."""
    job = tfjob()
    job["spec"]["tfReplicaSpecs"] = replicas
    return job
