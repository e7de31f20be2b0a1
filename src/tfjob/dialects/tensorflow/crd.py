"""The definition that makes an API server know TfJobs: one version, no webhook."""

from typing import Any

from tfjob.dialects.tensorflow import words
from tfjob.dialects.tensorflow.schema import schema

_COLUMNS = {"State": ".status.state", "Phase": ".status.phase", "RuntimeId": ".spec.RuntimeId"}


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
            },
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    columns = [
        {"name": name, "type": "string", "jsonPath": path} for name, path in _COLUMNS.items()
    ]
    age = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    return {
        "name": words.VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [*columns, age],
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema()},
    }
