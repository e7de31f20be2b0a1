"""What a scheduler and a kubelet do to one pod, each act on demand, on any API server.

It writes bindings, statuses and the last step of a deletion, and never mistakes a pod for the one
that it replaced under the same name. It runs no container and starts no task.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from tests.support.controlplane.endpoint import ApiError
from tests.support.fake_kubelet import lifecycle, pod_status
from tests.support.fake_kubelet.lifecycle import Action
from tests.support.fake_kubelet.pod_status import Exit, Pod, Status
from tfjob.k8s import time

MAIN_CONTAINER = "tensorflow"
_CONFLICTS = 20
_NODES = "/api/v1/nodes"


class PodApi(Protocol):
    """An API server, with or without a network; `call` raises ApiError on a refusal."""

    async def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]: ...


class PodGoneError(Exception):
    """The pod does not exist any more, or another has taken its name."""


def _system_clock() -> datetime:
    return datetime.now(UTC)


async def _no_pause(_: float) -> None:
    """Only the order of the reports matters, so there is no delay between them."""


class PodLifecycle:
    """The acts of one namespace's kubelet.

    A pod can be named or given: a name means the pod that has it now, an object means that very
    pod. `pause` waits between two reports of a kubelet that are some time apart.
    """

    def __init__(
        self,
        api: PodApi,
        *,
        namespace: str,
        node: str = "fake-node",
        now: Callable[[], datetime] = _system_clock,
        pause: Callable[[float], Awaitable[None]] = _no_pause,
    ) -> None:
        self._calls = api
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._node = node
        self._now = now
        self._pause = pause
        self.lost: set[str] = set()

    async def register_node(self) -> None:
        """Make the node, ready and without the taint of new nodes."""
        room = {"cpu": "1000", "memory": "10Ti", "pods": "10000"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"capacity": room, "allocatable": room, "conditions": [ready]}
        try:
            body = {"metadata": {"name": self._node}, "status": status}
            await self._calls.call("POST", _NODES, body)
        except ApiError as refusal:
            if refusal.reason != "AlreadyExists":
                raise
        await self._calls.call("PATCH", f"{_NODES}/{self._node}", {"spec": {"taints": None}})

    async def bind(self, pod: str | Pod) -> Pod:
        """Give the pod to the fake node, unless it has a node."""
        current = await self.read(pod)
        if current["spec"].get("nodeName"):
            return current
        identity = {key: current["metadata"][key] for key in ("name", "uid")}
        target = {"apiVersion": "v1", "kind": "Node", "name": self._node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": identity, "target": target}
        try:
            await self._calls.call("POST", f"{self._path(current)}/binding", body)
        except ApiError as refusal:
            # A scheduler, or our own first attempt, was faster: the pod is bound, which is enough.
            # Or the pod was deleted, which reading it shows.
            if refusal.status not in (404, 409):
                raise
            found = await self.read(current)
            if "deletionTimestamp" in found["metadata"] and not found["spec"].get("nodeName"):
                # A finalizer holds it: it will never be bound.
                raise PodGoneError(f"pod {found['metadata']['name']} is being deleted") from refusal
            if not found["spec"].get("nodeName"):
                raise
        return await self.read(current)

    async def set_phase(self, pod: str | Pod, phase: str) -> Pod:
        """Bring a pod into a phase in one write, whatever its restartPolicy."""
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
        return await self._write(pod, pod_status.over, how=Exit(code=codes[phase]), phase=phase)

    async def run(self, pod: str | Pod) -> Pod:
        """Start the pod's containers."""
        return await self._write(pod, pod_status.running)

    async def finish(
        self,
        pod: str | Pod,
        *,
        exit_code: int = 0,
        container: str = MAIN_CONTAINER,
        reason: str = "",
        message: str = "",
    ) -> Pod:
        """End one container, and report what follows: a restart in place, or the pod's phase."""
        how = Exit(code=exit_code, reason=reason, message=message)
        if (await self.bind(pod))["status"].get("phase", "Pending") == "Pending":
            pod = await self.run(pod)
        current = await self.exit(pod, how, container=container)
        await self._pause(lifecycle.PHASE_LAG)
        return await self._follow(current)

    async def exit(self, pod: str | Pod, how: Exit, *, container: str = MAIN_CONTAINER) -> Pod:
        """Report that one container has ended, and nothing of what follows."""
        return await self._write(pod, pod_status.exited, container=container, how=how)

    async def fail_init(self, pod: str | Pod, *, container: str, exit_code: int) -> Pod:
        """End an init container with an error, for good."""
        how = Exit(code=exit_code)
        return await self._write(pod, pod_status.init_failed, container=container, how=how)

    async def restart_container(
        self,
        pod: str | Pod,
        count: int = 1,
        *,
        container: str = MAIN_CONTAINER,
        exit_code: int = 1,
    ) -> Pod:
        """Report in one write that a container ended and started again, so many times more."""
        how = Exit(code=exit_code)
        return await self._write(
            pod, pod_status.restarted, container=container, how=how, count=count
        )

    async def evict(
        self,
        pod: str | Pod,
        message: str = "The node was low on resource: memory.",
        *,
        reason: str = "Evicted",
        is_reason_late: bool = False,
    ) -> Pod:
        """Evict the pod, as a kubelet short of memory does, or one that shuts down.

        With `is_reason_late` the pod has failed before anything says why.
        """
        if is_reason_late:
            pod = await self._write(pod, pod_status.over, how=lifecycle.SIGKILL, phase="Failed")
            await self._pause(lifecycle.PHASE_LAG)
        return await self._write(pod, pod_status.evicted, message=message, reason=reason)

    async def disrupt(self, pod: str | Pod, reason: str = "EvictionByEvictionAPI") -> Pod:
        """Mark the pod as disrupted and ask for its deletion, as a drain or a preemption does."""
        current = await self._write(pod, pod_status.disrupted, reason=reason)
        await self._calls.call("DELETE", self._path(current))
        return current

    async def lose_node(self, pod: str | Pod) -> Pod:
        """Let the cluster give up the pod's node: a deletion is asked for that nobody confirms."""
        current = await self.bind(pod)
        self.lost.add(current["metadata"]["uid"])
        return await self.disrupt(current, "DeletionByTaintManager")

    async def waiting(
        self, pod: str | Pod, reason: str, message: str = "", *, has_sandbox: bool | None = None
    ) -> Pod:
        """Keep the pod's containers from running, as with ImagePullBackOff.

        `has_sandbox` tells a pod whose image is pulled from one whose volumes are mounted.
        """
        return await self._write(
            pod, pod_status.waiting, reason=reason, message=message, has_sandbox=has_sandbox
        )

    async def record_event(
        self, pod: str | Pod, reason: str, message: str, *, kind: str = "Warning", count: int = 1
    ) -> None:
        """Write an event about the pod, as a kubelet does."""
        current = await self.read(pod)
        meta, now = current["metadata"], time.render(self._now())
        namespace = meta["namespace"]
        identity = {key: meta[key] for key in ("name", "namespace", "uid")}
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{meta['name']}."},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **identity},
            "type": kind,
            "reason": reason,
            "message": message,
            "count": count,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": "kubelet", "host": self._node},
        }
        await self._calls.call("POST", f"/api/v1/namespaces/{namespace}/events", body)

    async def unschedulable(self, pod: str | Pod, message: str) -> Pod:
        """Report, as a scheduler does, that no node fits the pod."""
        return await self._write_unbound(pod, pod_status.unschedulable, message=message)

    async def finish_deletion(self, pod: str | Pod, *, exit_code: int = 143) -> None:
        """End a pod that is being deleted: its containers, then its phase, then the object."""
        current = await self.read(pod)
        for _ in range(_CONFLICTS):
            if not await self.step(current, on_sigterm=Exit(code=exit_code)):
                return
            current = await self.read(current)
        raise AssertionError(f"{self._path(current)}: not gone after {_CONFLICTS} steps; gave up")

    async def step(self, pod: Pod, *, on_sigterm: Exit = lifecycle.SIGTERM) -> bool:
        """Do what a kubelet does to the pod next; False when that was to remove it, or nothing.

        Where somebody else was faster nothing is written: the next step starts from what there is.
        """
        found = lifecycle.next_step(pod, time.render(self._now()), on_sigterm=on_sigterm)
        if found is Action.REMOVE:
            await self._remove(pod)
        elif found is Action.BIND:
            await self.bind(pod)
        elif found is not None:
            await self._put({**pod, "status": found})
        return found is not None and found is not Action.REMOVE

    async def read(self, pod: str | Pod) -> Pod:
        """The pod as the server has it; raises PodGoneError if it is gone."""
        name, uid = name_and_uid(pod)
        try:
            current = await self._calls.call("GET", f"{self._pods_path}/{name}")
        except ApiError as refusal:
            if refusal.status == 404:
                raise PodGoneError(f"pod {name}: does not exist") from refusal
            raise
        if uid not in (None, current["metadata"]["uid"]):
            raise PodGoneError(f"pod {name}: {uid} is gone, another has taken its name")
        return current

    async def _follow(self, pod: Pod) -> Pod:
        """Report what follows from the containers' states, until nothing more does."""
        current = pod
        for _ in range(_CONFLICTS):
            if "deletionTimestamp" in current["metadata"] or not await self.step(current):
                break
            try:
                current = await self.read(current)
            except PodGoneError:
                break  # Whoever is under test did not wait for the phase.
        return current

    async def _remove(self, pod: Pod) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        try:
            await self._calls.call("DELETE", self._path(pod), body)
        except ApiError as refusal:
            if refusal.status not in (404, 409):
                raise

    async def _write(self, pod: str | Pod, event: Callable[..., Status], **facts: Any) -> Pod:
        return await self._write_unbound(await self.bind(pod), event, **facts)

    async def _write_unbound(
        self, pod: str | Pod, event: Callable[..., Status], **facts: Any
    ) -> Pod:
        current = await self.read(pod)
        for _ in range(_CONFLICTS):
            body = {**current, "status": event(current, time.render(self._now()), **facts)}
            written = await self._put(body)
            if written is not None:
                return written
            current = await self.read(current)
        raise AssertionError(f"{self._path(current)}: {_CONFLICTS} conflicts in a row; gave up")

    async def _put(self, pod: Pod) -> Pod | None:
        """Store a status; None if the pod has changed meanwhile or is gone."""
        try:
            return await self._calls.call("PUT", f"{self._path(pod)}/status", pod)
        except ApiError as refusal:
            if refusal.status not in (404, 409):
                raise
            return None

    def _path(self, pod: Pod) -> str:
        return f"{self._pods_path}/{pod['metadata']['name']}"


def name_and_uid(pod: str | Pod) -> tuple[str, str | None]:
    """Which pod is meant; without a uid, whichever has the name."""
    if isinstance(pod, str):
        return pod, None
    return pod["metadata"]["name"], pod["metadata"]["uid"]
