"""kwok, which plays kubelets in benchmarks, reports what a real kubelet was recorded to report."""

import asyncio
from typing import Any

import pytest

from tests.support.controlplane.api import Api
from tests.support.controlplane.cluster import STAGES, ControlPlane, PlaneStarter
from tests.support.fake_kubelet.timeline import GONE, from_running_on, look, recorded

pytestmark = pytest.mark.timeout(func_only=True)
Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
NODE: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}}
IN_BETWEEN = "Running, terminated"
"""kwok reports the end of the containers before the phase also where the pod is being deleted."""


@pytest.fixture
def plane(start_control_plane: PlaneStarter) -> ControlPlane:
    return start_control_plane(kwok=STAGES)


def pod(**annotations: str) -> Json:
    marks = {f"kwok.test/{key.replace('_', '-')}": value for key, value in annotations.items()}
    spec = {
        "containers": [{"name": "tensorflow", "image": "x"}],
        "nodeName": "node-0",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 3,
    }
    metadata = {"name": "p", "annotations": marks}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def timeline(plane: ControlPlane, body: Json, *, is_deleted: bool) -> list[str]:
    """What one pod goes through until it has ended or is gone."""
    lines: list[str] = []
    async with Api(plane.endpoint) as api:
        first = await api.call("GET", PODS)
        await api.call("POST", PODS, body)
        async for change in api.watch(PODS, first["metadata"]["resourceVersion"]):
            line = GONE if change["type"] == "DELETED" else look(change["object"])
            if not lines or lines[-1] != line:
                lines.append(line)
            if is_deleted and line == "Running, running":
                await api.call("DELETE", f"{PODS}/p")
            if line.startswith((GONE, "Succeeded", "Failed")) and "grace" not in line:
                break
    return lines


@pytest.mark.parametrize(
    ("situation", "body", "is_deleted"),
    [
        ("succeeds", pod(exit_after="1s"), False),
        ("fails", pod(exit_after="1s", exit_code="3"), False),
        ("deleted, exits 143", pod(), True),
    ],
)
async def test_kwok_reports_what_a_real_kubelet_does(
    plane: ControlPlane, situation: str, body: Json, is_deleted: bool
) -> None:
    await asyncio.to_thread(plane.endpoint.request, "POST", "/api/v1/nodes", NODE)
    lines = from_running_on(await timeline(plane, body, is_deleted=is_deleted))
    if is_deleted:
        lines = [line for line in lines if not line.startswith(IN_BETWEEN)]
    assert lines == from_running_on(recorded()[situation])
