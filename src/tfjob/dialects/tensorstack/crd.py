"""The definition that makes an API server know TensorFlowTrainingJobs: one version, no webhook."""

from typing import Any

from tfjob.dialects.tensorstack import words
from tfjob.dialects.tensorstack.schema import schema

_COLUMNS = (
    ("Phase", "string", ".status.phase"),
    ("Running", "integer", ".status.aggregate.running"),
    ("Failed", "integer", ".status.aggregate.failed"),
    ("Restarts", "integer", ".status.backoffCount"),
    ("Age", "date", ".metadata.creationTimestamp"),
)
_WIDE_COLUMNS = (("Queue", "string", ".spec.scheduler.t9kScheduler.queue"),)


def definition() -> dict[str, Any]:
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
                "shortNames": [words.SHORT_NAME],
            },
            "conversion": {"strategy": "None"},
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": words.VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [
            *(_column(*each) for each in _COLUMNS),
            *({**_column(*each), "priority": 1} for each in _WIDE_COLUMNS),
        ],
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema()},
    }


def _column(name: str, kind: str, path: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "jsonPath": path}
