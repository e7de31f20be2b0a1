"""What a scheduler and a kubelet do to one pod, each act on demand.

Law: it touches nothing but binding, status and the last step of a deletion, and a pod that was
replaced under the same name is never mistaken for the old one. It runs no container, starts no
task, and must not know TFJobs.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.support.controlplane import podstatus
from tests.support.controlplane.api import Api
from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.podstatus import Exit, Pod, Status

MAIN_CONTAINER = "tensorflow"
_CONFLICTS = 20
_NODES = "/api/v1/nodes"


class PodGoneError(Exception):
    """The pod does not exist any more, or another has taken its name."""


class Kubelet:
    """The acts of one namespace's kubelet.

    Wherever a pod is asked for, its name means whatever bears that name now, and the object itself
    means that very pod.
    """

    def __init__(self, api: Api, *, namespace: str, node: str) -> None:
        self._api = api
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._node = node

    async def register_node(self) -> None:
        """Make the node, ready and without the taint that new nodes are given."""
        room = {"cpu": "1000", "memory": "10Ti", "pods": "10000"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        try:
            body = {"metadata": {"name": self._node}, "status": status}
            await self._api.call("POST", _NODES, body)
        except ApiError as refusal:
            if refusal.reason != "AlreadyExists":
                raise
        await self._api.call("PATCH", f"{_NODES}/{self._node}", {"spec": {"taints": None}})

    async def bind(self, pod: str | Pod) -> Pod:
        """Give the pod to the puppet's node, unless it has one."""
        current = await self.read(pod)
        if current["spec"].get("nodeName"):
            return current
        identity = {key: current["metadata"][key] for key in ("name", "uid")}
        target = {"apiVersion": "v1", "kind": "Node", "name": self._node}
        try:
            path = f"{self._path(current)}/binding"
            await self._api.call("POST", path, {"metadata": identity, "target": target})
        except ApiError as refusal:
            # A scheduler, or our own first attempt, was faster: what counts is that it is bound;
            # or somebody deleted the pod, which reading it tells.
            if refusal.status not in (404, 409):
                raise
            found = await self.read(current)
            if "deletionTimestamp" in found["metadata"] and not found["spec"].get("nodeName"):
                # Held by somebody's finalizer: it goes without having come to any node.
                raise PodGoneError(f"pod {found['metadata']['name']} is being deleted") from refusal
            if not found["spec"].get("nodeName"):
                raise
        return await self.read(current)

    async def set_phase(self, pod: str | Pod, phase: str) -> Pod:
        """Bring a pod into a phase, whatever its restartPolicy, by the shortest way there."""
        if phase == "Pending":
            return await self.waiting(pod, "ContainerCreating")
        if phase == "Running":
            return await self.run(pod)
        codes = {"Succeeded": 0, "Failed": 1}
        if phase not in codes:
            raise ValueError(
                f"pod phase: one of Pending, Running, {', '.join(codes)}, not {phase!r}; "
                "the pod was left as it is"
            )
        return await self._write(pod, podstatus.over, how=Exit(code=codes[phase]), phase=phase)

    async def run(self, pod: str | Pod) -> Pod:
        """Start the pod's containers."""
        return await self._write(pod, podstatus.running)

    async def finish(
        self,
        pod: str | Pod,
        *,
        exit_code: int = 0,
        container: str = MAIN_CONTAINER,
        reason: str = "",
        message: str = "",
    ) -> Pod:
        """End one container; it starts again at once where the pod's restartPolicy says so."""
        how = Exit(code=exit_code, reason=reason, message=message)
        return await self._write(pod, podstatus.exited, container=container, how=how)

    async def restart_container(
        self,
        pod: str | Pod,
        count: int = 1,
        *,
        container: str = MAIN_CONTAINER,
        exit_code: int = 1,
    ) -> Pod:
        """Let one container have ended and started again, so many times more."""
        how = Exit(code=exit_code)
        return await self._write(
            pod, podstatus.restarted, container=container, how=how, count=count
        )

    async def evict(
        self, pod: str | Pod, message: str = "The node was low on resource: memory."
    ) -> Pod:
        """Throw the pod out, as a kubelet short of memory does."""
        return await self._write(pod, podstatus.evicted, message=message)

    async def waiting(self, pod: str | Pod, reason: str, message: str = "") -> Pod:
        """Keep the pod's containers from running, as with ImagePullBackOff."""
        return await self._write(pod, podstatus.waiting, reason=reason, message=message)

    async def unschedulable(self, pod: str | Pod, message: str) -> Pod:
        """Say in the scheduler's place that the pod fits nowhere."""
        return await self._write_unbound(pod, podstatus.unschedulable, message=message)

    async def finish_deletion(self, pod: str | Pod, *, exit_code: int = 143) -> None:
        """End a pod that is being deleted: its containers first, then the object."""
        how = Exit(code=exit_code)
        current = await self._write(pod, podstatus.over, how=how)
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": current["metadata"]["uid"]}}
        try:
            await self._api.call("DELETE", self._path(current), body)
        except ApiError as refusal:
            if refusal.status not in (404, 409):
                raise

    async def read(self, pod: str | Pod) -> Pod:
        """The pod as the server has it; raises PodGoneError if it is no more."""
        name, uid = name_and_uid(pod)
        try:
            current = await self._api.call("GET", f"{self._pods_path}/{name}")
        except ApiError as refusal:
            if refusal.status == 404:
                raise PodGoneError(f"pod {name}: does not exist") from refusal
            raise
        if uid not in (None, current["metadata"]["uid"]):
            raise PodGoneError(f"pod {name}: {uid} is gone, another has taken its name")
        return current

    async def _write(self, pod: str | Pod, event: Callable[..., Status], **facts: Any) -> Pod:
        return await self._write_unbound(await self.bind(pod), event, **facts)

    async def _write_unbound(
        self, pod: str | Pod, event: Callable[..., Status], **facts: Any
    ) -> Pod:
        current = await self.read(pod)
        for _ in range(_CONFLICTS):
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            body = {**current, "status": event(current, now, **facts)}
            try:
                return await self._api.call("PUT", f"{self._path(current)}/status", body)
            except ApiError as refusal:
                if refusal.status not in (404, 409):
                    raise
            current = await self.read(current)
        raise AssertionError(f"{self._path(current)}: {_CONFLICTS} conflicts in a row; gave up")

    def _path(self, pod: Pod) -> str:
        return f"{self._pods_path}/{pod['metadata']['name']}"


def name_and_uid(pod: str | Pod) -> tuple[str, str | None]:
    """Whom a pod argument means; no uid means whatever bears the name."""
    if isinstance(pod, str):
        return pod, None
    return pod["metadata"]["name"], pod["metadata"]["uid"]
