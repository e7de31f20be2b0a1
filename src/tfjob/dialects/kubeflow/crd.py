"""The definition that makes an API server know TFJobs: one schema, two versions, no webhook.

Objects are stored as v1 exactly as they were written; what an older spelling means is read off
them, so that no conversion can fail.
"""

from typing import Any

from tfjob.dialects.kubeflow import words
from tfjob.dialects.kubeflow.schema import schema

_WORKERS = ".spec.tfReplicaSpecs.Worker"
_WORKERS_STATUS = ".status.replicaStatuses.Worker"


def definition() -> dict[str, Any]:
    current = _version(words.VERSION, clean_pod_policy=None)
    old = _version(words.OLD_VERSION, clean_pod_policy=words.OLD_CLEAN_POLICY)
    old |= {"storage": False, "deprecated": True, "deprecationWarning": words.DEPRECATION}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{words.PLURAL}.{words.GROUP}"},
        "spec": {
            "group": words.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": words.KIND,
                "listKind": words.LIST_KIND,
                "plural": words.PLURAL,
                "singular": words.SINGULAR,
            },
            "conversion": {"strategy": "None"},
            "versions": [current, old],
        },
    }


def _version(name: str, *, clean_pod_policy: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [
            {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": f"{_WORKERS}.replicas",
                "statusReplicasPath": f"{_WORKERS_STATUS}.active",
                "labelSelectorPath": f"{_WORKERS_STATUS}.selector",
            },
        },
        "schema": {"openAPIV3Schema": schema(clean_pod_policy=clean_pod_policy)},
    }
