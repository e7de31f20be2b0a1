"""A tenant of a real cluster, with every right in a namespace of its own and none elsewhere.

It may do to jobs what the chart's role for editors allows: everything but writing their status.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.support.controlplane.api import Api
from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError
from tests.support.environments import Environment

Json = dict[str, Any]
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_RULES: Final = [
    {
        "apiGroups": [""],
        "resources": ["pods", "pods/status", "services", "configmaps", "events"],
        "verbs": ["*"],
    },
    {"apiGroups": ["kubeflow.org"], "resources": ["tfjobs", "tfjobs/scale"], "verbs": ["*"]},
]


class Tenant:
    """What one user of a namespace does; `call` raises ApiError where the server refuses."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self.namespace = namespace

    @property
    def core(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}"

    @property
    def jobs(self) -> str:
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/tfjobs"

    async def call(self, method: str, path: str, body: Json | None = None) -> Json:
        return await self._api.call(method, path, body)

    async def tries(self, method: str, path: str, body: Json | None = None) -> int:
        """The status code of a request that the server may refuse."""
        try:
            await self._api.call(method, path, body)
        except ApiError as refusal:
            return refusal.status
        return 200


@asynccontextmanager
async def tenant_in(env: Environment) -> AsyncIterator[Tenant]:
    """A tenant with a namespace, which is deleted afterwards."""
    plane = env.server
    assert isinstance(plane, ControlPlane)
    namespace = await asyncio.to_thread(plane.create_namespace, "evil-")
    request = plane.endpoint.request
    try:
        request(
            "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "t"}}
        )
        path, name = f"{_RBAC}/namespaces/{namespace}", {"name": "t"}
        request("POST", f"{path}/roles", {"metadata": name, "rules": _RULES})
        subject = {"kind": "ServiceAccount", "name": "t", "namespace": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "t"}
        binding = {"metadata": name, "roleRef": role, "subjects": [subject]}
        request("POST", f"{path}/rolebindings", binding)
        endpoint = plane.endpoint_for("t", namespace=namespace)
        async with Api(endpoint) as api:
            yield Tenant(api, namespace)
            request("DELETE", f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs")
    finally:
        await asyncio.to_thread(plane.delete_namespace, namespace)
