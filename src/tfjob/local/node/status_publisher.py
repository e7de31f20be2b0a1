"""Publishes the status, address and events of one pod.

The API is called only for changes, and each event is recorded once. An address is published before
its pod becomes ready, and removed when it is no longer true.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tfjob.local.node.api import ApiPort
from tfjob.local.node.checkpoint import PodRecord, Waiting
from tfjob.local.node.pod_status import idle_condition, pod_status
from tfjob.local.node.port_allocator import first_ephemeral_port
from tfjob.local.node.readiness import (
    URL,
    containers_not_listening,
    shown_url,
    url_of,
    without_ephemeral_ports,
)
from tfjob.local.node.sockets import Address

Json = Mapping[str, Any]
_STALE_FIELDS = ("reason", "message", "initContainerStatuses")


class StatusPublisher:
    """Publishes one pod."""

    def __init__(self, pod: Json, *, api: ApiPort, clock: Callable[[], datetime]) -> None:
        self._api, self._clock = api, clock
        self._shown: Json | None = None
        self._shown_url = shown_url(pod)
        self._reported: set[tuple[str, str]] = set()

    async def publish_status(
        self,
        pod: Json,
        record: PodRecord,
        *,
        not_listening: frozenset[str] = frozenset(),
        idle_since: datetime | None = None,
    ) -> None:
        """Patch the status if it differs from the last one."""
        base = pod if self._shown is None else {**pod, "status": self._shown}
        status = pod_status(base, record, now=self._clock(), not_listening=not_listening)
        if idle_since is not None and status["phase"] == "Running":
            status["conditions"].append(idle_condition(idle_since))
        if status == self._shown:
            return
        stored = pod.get("status") or {}
        stale = {name: None for name in _STALE_FIELDS if name in stored and name not in status}
        await self._api.patch_status(pod, {**stale, **status})
        self._shown = status

    async def publish_address(
        self, pod: Json, listening_on: Mapping[str, Sequence[Address]], *, preferred: Sequence[int]
    ) -> frozenset[str]:
        """Publish the pod's address; returns the containers that do not listen yet."""
        reached = without_ephemeral_ports(
            listening_on, preferred=preferred, first_chosen=first_ephemeral_port()
        )
        url = url_of(reached, preferred=preferred)
        if url != self._shown_url:
            await self._api.annotate(pod, {URL: url})
            self._shown_url = url
        return containers_not_listening(pod, reached)

    def record_event(
        self, pod: Json, kind: Literal["Normal", "Warning"], *, reason: str, message: str
    ) -> None:
        """Record an event about the pod, once."""
        if (reason, message) not in self._reported:
            self._reported.add((reason, message))
            self._api.post_event(pod, kind=kind, reason=reason, message=message)

    def record_back_off(self, pod: Json, record: PodRecord) -> None:
        for one in record.all_containers:
            if isinstance(one.state, Waiting) and one.state.reason == "CrashLoopBackOff":
                where = f"pod {record.name}_{record.namespace}({record.uid})"
                text = f"Back-off restarting failed container {one.name} in {where}"
                self.record_event(pod, "Warning", reason="BackOff", message=text)
