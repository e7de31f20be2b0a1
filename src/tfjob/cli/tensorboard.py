"""The address of a job's TensorBoard, or the command that makes it reachable.

The local node writes the address to an annotation of the pod; other clusters need a forwarded
port.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from tfjob.client.errors import Forbidden
from tfjob.client.resource import PODS
from tfjob.core.companion_problem import pod_problem
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Companion
from tfjob.k8s.pod import Pod
from tfjob.sdk import jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob

URL: Final = "tfjob.dev/url"
_LABEL: Final = ("app", "tensorboard")
_PORT: Final = 6006


class _Pods(msgspec.Struct):
    items: list[Pod] | None = None


def board_of(found: ClusterJob, kind: str) -> Companion | None:
    """The job's Deployment or Service for TensorBoard, if it has one."""
    if isinstance(found.job, InvalidJob):
        return None
    for each in found.job.companions:
        labels = each.manifest.get("metadata", {}).get("labels") or {}
        if each.kind == kind and labels.get(_LABEL[0]) == _LABEL[1]:
            return each
    return None


def url_of(found: ClusterJob, pod: Pod) -> str:
    """The address of the job's TensorBoard pod; empty for other pods and before it is known."""
    return pod.metadata.annotations.get(URL, "") if _is_board(found, pod) else ""


def failure_of(found: ClusterJob, pod: Pod) -> str:
    """Why the job's TensorBoard pod does not run; empty while it runs or starts."""
    if not _is_board(found, pod):
        return ""
    for status in pod.status.container_statuses:
        ended = status.state.terminated or status.last_state.terminated
        if status.state.running is None and ended is not None and ended.exit_code:
            why = ended.message.partition("\n")[0] or f"exit code {ended.exit_code}"
            return f"{status.name} does not run: {why}"
    problem = pod_problem([pod])
    return f"TensorBoard does not run: {problem}" if problem else ""


def _is_board(found: ClusterJob, pod: Pod) -> bool:
    board = board_of(found, "Deployment")
    is_board = board is not None and pod.metadata.name.startswith(f"{board.name}-")
    return is_board and not pod.metadata.is_terminating


async def address_of(cluster: Cluster, found: ClusterJob) -> str:
    """How to open TensorBoard now; empty for a job without one."""
    board, service = board_of(found, "Deployment"), board_of(found, "Service")
    if board is None or service is None:
        return ""
    pods = [pod for pod in await _pods(cluster, found) if pod.metadata.name.startswith(board.name)]
    urls = [url for pod in pods if (url := url_of(found, pod))]
    if urls:
        return urls[0]
    if not pods:
        return _note(found) or f"{board.name} has no pod"
    if not any(pod.has_condition("Ready") for pod in pods):
        failures = [failure for pod in pods if (failure := failure_of(found, pod))]
        return failures[0] if failures else f"{board.name} is not ready yet"
    forward = f"kubectl port-forward -n {found.namespace} service/{service.name} {_PORT}:80"
    return f"{forward}, then http://127.0.0.1:{_PORT}/"


def _note(found: ClusterJob) -> str:
    """The note in the job's status, if another controller runs TensorBoard."""
    status = found.manifest.get("status")
    board = status.get("tensorboard") if isinstance(status, Mapping) else None
    note = board.get("note") if isinstance(board, Mapping) else None
    return note if isinstance(note, str) else ""


async def _pods(cluster: Cluster, found: ClusterJob) -> list[Pod]:
    params = {"labelSelector": f"{jobs.pods_selector(found)},{'='.join(_LABEL)}"}
    try:
        answer = await cluster.api.get(
            PODS.collection(found.namespace), decode=_Pods, params=params
        )
    except Forbidden:
        return []
    return list(answer.items or ())
