"""The published documents that jobs come from, as files; only images and commands are ours.

`tfjob run` takes a document unchanged except for folders inside images. A cluster takes it without
what only its own cluster knows: its namespace, and what a server had written into it.
"""

import copy
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "seeds"
JOBS = sorted(each.stem for each in FOLDER.glob("*.yaml") if each.stem != "001-config")
CONFIG = FOLDER / "001-config.yaml"
_WRITTEN_BY_A_SERVER = (
    "clusterName",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "selfLink",
    "uid",
)
_SIZE = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}


def published(name: str) -> Json:
    """A document as it was published."""
    found: Json = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return found


def submitted(name: str) -> Json:
    """A document as a user would submit it to a cluster of today, in any namespace."""
    job = published(name)
    kept = {key: value for key, value in job["metadata"].items() if key not in _WRITTEN_BY_A_SERVER}
    job["metadata"] = {key: value for key, value in kept.items() if key != "namespace"}
    return job


def for_this_machine(name: str) -> list[Json]:
    """A document with what it expects to find beside it, for a machine that runs no images."""
    job = published(name)
    for pod in _pods_of(job):
        for container in pod["containers"]:
            container.pop("workingDir", None)
    return [*_expected(job), job]


def configuration() -> str:
    """The controller's configuration file that the documents describe."""
    text: str = yaml.safe_load(CONFIG.read_text())["data"]["controller_config_file.yaml"]
    return text


def _pods_of(job: Json) -> list[Json]:
    spec = job["spec"]
    entries = spec.get("replicaSpecs") or spec.get("replica_specs") or spec.get("tfReplicaSpecs")
    listed = entries.values() if isinstance(entries, dict) else entries
    return [each["template"]["spec"] for each in listed if "template" in each]


def _expected(job: Json) -> list[Json]:
    """The secrets and claims that the job's pods name."""
    metadata: Json = {}
    if "namespace" in job["metadata"]:
        metadata["namespace"] = job["metadata"]["namespace"]
    found: dict[str, Json] = {}
    for volume in [each for pod in _pods_of(job) for each in pod.get("volumes", ())]:
        if "secret" in volume:
            name = volume["secret"]["secretName"]
            data = {"stringData": {f"{name}.json": "{}"}}
            found[name] = _object("Secret", {**metadata, "name": name}, data)
        if "persistentVolumeClaim" in volume:
            name = volume["persistentVolumeClaim"]["claimName"]
            claim = {"spec": copy.deepcopy(_SIZE)}
            found[name] = _object("PersistentVolumeClaim", {**metadata, "name": name}, claim)
    return list(found.values())


def _object(kind: str, metadata: Json, content: Json) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}
