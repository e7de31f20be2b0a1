"""An in-memory API server for the node, and builders of pods."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal

from tests.support.patience import PATIENCE
from tfjob.local.node.api import (
    PodChanged,
    PodDeleted,
    PodEvent,
    PodGoneError,
    PodsReplaced,
    UnavailableError,
)

Json = Mapping[str, Any]
Pod = dict[str, Any]
_numbers = itertools.count(1)


def pod(name: str = "p", *commands: str, policy: str = "Never", **spec: Any) -> Pod:
    """A pod with one container per shell command, named c0, c1, …"""
    containers = [{"name": f"c{n}", "command": ["sh", "-c", c]} for n, c in enumerate(commands)]
    whole = {"restartPolicy": policy, "containers": containers, **spec}
    number = next(_numbers)
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{number}",
        "creationTimestamp": f"2026-01-01T00:00:{number % 60:02}Z",
        "labels": {},
    }
    return {"metadata": meta, "spec": whole, "status": {"phase": "Pending"}}


async def until(question: Callable[[], object], what: str = "the condition") -> None:
    """Poll until true, with a deadline."""
    deadline = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < deadline, f"{what} never came true"
        await asyncio.sleep(0.005)


class FakeApi:
    """Pods and the objects they refer to; the watcher receives every change."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.config_maps: dict[str, Json] = {}
        self.secrets: dict[str, Json] = {}
        self.claims: dict[str, Json] = {}
        self.bound: list[Json] = []
        self.service_list: list[Json] = []
        self.events: list[tuple[str, str, str]] = []
        self.warnings = 0
        self.nodes: list[Json] = []
        self.statuses: list[tuple[str, Json]] = []
        self.is_down = False
        self._watchers: list[asyncio.Queue[PodEvent]] = []

    def create(self, one: Pod) -> None:
        self.pods[one["metadata"]["name"]] = one
        self._record_event(PodChanged(_copy(one)))

    def delete(self, name: str, *, grace: int = 30) -> None:
        """Delete as a client does: mark the pod and leave the rest to the node."""
        meta = self.pods[name]["metadata"]
        meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace}
        self._record_event(PodChanged(_copy(self.pods[name])))

    def remove(self, name: str) -> None:
        del self.pods[name]
        self._record_event(PodDeleted("ns", name))

    def relist(self) -> None:
        self._record_event(PodsReplaced(tuple(_copy(one) for one in self.pods.values())))

    def phase(self, name: str) -> str:
        return str(self.pods[name]["status"].get("phase")) if name in self.pods else "gone"

    def container(self, name: str, number: int = 0) -> dict[str, Any]:
        statuses: list[dict[str, Any]] = self.pods[name]["status"].get("containerStatuses") or []
        return statuses[number] if statuses else {"state": {}, "lastState": {}, "restartCount": 0}

    def exit_code(self, name: str, number: int = 0) -> int | None:
        code: int | None = (
            self.container(name, number)["state"].get("terminated", {}).get("exitCode")
        )
        return code

    def waiting(self, name: str) -> tuple[str, str]:
        state = self.container(name)["state"].get("waiting", {})
        return state.get("reason", ""), state.get("message", "")

    def reasons(self) -> set[str]:
        return {reason for _, reason, _ in self.events}

    def _record_event(self, event: PodEvent) -> None:
        for queue in self._watchers:
            queue.put_nowait(event)

    def _live(self, meant: Json) -> Pod:
        if self.is_down:
            raise UnavailableError("connection refused")
        found = self.pods.get(meant["metadata"]["name"])
        if found is None or found["metadata"]["uid"] != meant["metadata"]["uid"]:
            raise PodGoneError(meant["metadata"]["name"])
        return found

    async def watch_pods(self) -> AsyncGenerator[PodEvent, None]:
        queue: asyncio.Queue[PodEvent] = asyncio.Queue()
        self._watchers.append(queue)
        try:
            yield PodsReplaced(tuple(_copy(one) for one in self.pods.values()))
            while True:
                yield await queue.get()
        finally:
            self._watchers.remove(queue)

    async def bind(self, pod: Json, node: str) -> None:
        found = self._live(pod)
        found["spec"]["nodeName"] = node
        self._record_event(PodChanged(_copy(found)))

    async def patch_status(self, pod: Json, status: Json) -> None:
        found = self._live(pod)
        merged = {**found["status"], **status}
        found["status"] = {name: value for name, value in merged.items() if value is not None}
        self.statuses.append((found["metadata"]["name"], status))
        self._record_event(PodChanged(_copy(found)))

    async def annotate(self, pod: Json, annotations: Mapping[str, str | None]) -> None:
        found = self._live(pod)
        merged = {**found["metadata"].get("annotations", {}), **annotations}
        kept = {name: value for name, value in merged.items() if value is not None}
        found["metadata"]["annotations"] = kept
        self._record_event(PodChanged(_copy(found)))

    async def delete_pod(self, pod: Json) -> None:
        self.remove(self._live(pod)["metadata"]["name"])

    async def config_map(self, namespace: str, name: str) -> Json | None:
        return self.config_maps.get(f"{namespace}/{name}")

    async def secret(self, namespace: str, name: str) -> Json | None:
        return self.secrets.get(f"{namespace}/{name}")

    async def claim(self, namespace: str, name: str) -> Json | None:
        return self.claims.get(f"{namespace}/{name}")

    async def bind_claim(self, claim: Json) -> None:
        self.bound.append(claim)

    async def services(self, namespace: str) -> Sequence[Json]:
        return [one for one in self.service_list if one["metadata"]["namespace"] == namespace]

    async def register(self, node: Json) -> None:
        self.nodes.append(node)

    def post_event(
        self, pod: Json, *, kind: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        self.events.append((pod["metadata"]["name"], reason, message))
        self.warnings += kind == "Warning"


def _copy(one: Pod) -> Pod:
    return {**one, "metadata": dict(one["metadata"]), "spec": dict(one["spec"])}
