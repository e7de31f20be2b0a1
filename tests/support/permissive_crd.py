"""A CRD of TFJobs without rules, as older clusters have it."""

from typing import Any

Json = dict[str, Any]
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def permissive(crd: Json) -> Json:
    """The same names and versions without any schema, so that it can be replaced."""
    versions = []
    for each in crd["spec"]["versions"]:
        plain = {**each, "subresources": {"status": {}}}
        fields = {"spec": {"x-kubernetes-preserve-unknown-fields": True}, "status": _ANYTHING}
        schema = {"type": "object", "properties": fields}
        versions.append({**plain, "schema": {"openAPIV3Schema": schema}})
    return {**crd, "spec": {**crd["spec"], "versions": versions}}
