"""The operator's own identity on a real cluster: a ServiceAccount with the chart's permissions.

The operator of the tests can do nothing that the table of permissions does not list.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager.permissions import PERMISSIONS, Need, need_of

NAME: Final = "tfjob-operator"
NAMESPACE: Final = "default"
_NEEDS: Final = (
    Need.JOBS,
    Need.CLUSTER,
    Need.LEADERSHIP,
    "tensorstack.t9k",
    *map(need_of, DESCRIPTORS),
)
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"


def identity_on(plane: ControlPlane, *more: str) -> Path:
    """A kubeconfig that may do what the chart lets the operator do, and nothing else.

    `more` are the needs of settings that are off by default.
    """
    account = {"metadata": {"name": NAME}}
    _create(plane, f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", account)
    _create(plane, f"{_RBAC}/clusterroles", {"metadata": {"name": NAME}, "rules": _rules(more)})
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    binding = {"metadata": {"name": NAME}, "roleRef": role, "subjects": [subject]}
    _create(plane, f"{_RBAC}/clusterrolebindings", binding)
    return plane.kubeconfig_for(NAME, namespace=NAMESPACE)


def _rules(more: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "apiGroups": [each.resource.group],
            "resources": [each.name],
            "verbs": list(each.verbs),
        }
        for each in PERMISSIONS
        if each.need in {*_NEEDS, *more}
    ]


def _create(plane: ControlPlane, path: str, body: dict[str, Any]) -> None:
    try:
        plane.endpoint.request("POST", path, body)
    except ApiError as refusal:
        if refusal.reason != "AlreadyExists":
            raise
