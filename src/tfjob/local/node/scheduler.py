"""Binds pending pods to this node while they fit.

Older pods come first; one that does not fit does not block others. An unschedulable pod gets
kube-scheduler's message, again only when the reason changes.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from tfjob.k8s.quantity import Quantity
from tfjob.local.node.api import ApiPort, PodGoneError, UnavailableError
from tfjob.local.node.machine import NodeSettings
from tfjob.local.node.pod_status import is_over, unscheduled_status
from tfjob.local.node.resource_fit import never_fits, sum_of, unschedulable_message

Json = Mapping[str, Any]
_log = logging.getLogger(__name__)
Amounts = Mapping[str, Quantity]
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class Scheduler:
    """Considers all pods whenever it is woken."""

    def __init__(
        self,
        *,
        api: ApiPort,
        settings: NodeSettings,
        clock: Callable[[], datetime],
        pods: Callable[[], Iterable[Json]],
    ) -> None:
        self._api, self._settings, self._clock, self._pods = api, settings, clock, pods
        self._wake = asyncio.Event()
        self._allocatable = settings.amounts
        self._assumed: dict[str, Json] = {}
        self._said: dict[str, str] = {}

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not await self._place_all():
                await asyncio.sleep(self._settings.retry_seconds)
                self._wake.set()

    async def _place_all(self) -> bool:
        """Try every pending pod once; False if the API server failed."""
        pods = list(self._pods())
        self._forget_except({_uid(pod) for pod in pods})
        waiting = [pod for pod in pods if _is_waiting(pod) and _uid(pod) not in self._assumed]
        if not waiting:
            return True
        used: Amounts = sum_of(one for one in pods if self._is_here(one))
        try:
            for pod in sorted(waiting, key=_age):
                used = await self._place(pod, used)
        except UnavailableError as fault:
            _log.warning("scheduling deferred", extra={"fault": str(fault)})
            return False
        return True

    async def _place(self, pod: Json, used: Amounts) -> Amounts:
        """Bind the pod or publish why not; returns the resources in use."""
        try:
            if pod["spec"].get("schedulingGates"):
                await self._explain(pod, reason="SchedulingGated", message=_GATED)
                return used
            short = self._settings.overcommit.shortages(
                pod, used=used, allocatable=self._allocatable
            )
            if short:
                message = unschedulable_message(
                    short, never_fits=never_fits(pod, allocatable=self._allocatable)
                )
                await self._explain(pod, reason="Unschedulable", message=message)
                return used
            await self._api.bind(pod, self._settings.name)
        except PodGoneError:
            return used
        self._tell_bound(pod)
        return sum_of([pod], used)

    def _tell_bound(self, pod: Json) -> None:
        self._assumed[_uid(pod)] = pod
        self._said.pop(_uid(pod), None)
        meta, node = pod["metadata"], self._settings.name
        message = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
        self._api.post_event(pod, kind="Normal", reason="Scheduled", message=message)

    async def _explain(self, pod: Json, *, reason: str, message: str) -> None:
        if self._said.get(_uid(pod)) == message:
            return
        status = unscheduled_status(pod, reason=reason, message=message, now=self._clock())
        await self._api.patch_status(pod, status)
        self._said[_uid(pod)] = message
        if reason == "Unschedulable":
            self._api.post_event(pod, kind="Warning", reason="FailedScheduling", message=message)

    def _is_here(self, pod: Json) -> bool:
        is_bound = pod["spec"].get("nodeName") == self._settings.name
        return (is_bound or _uid(pod) in self._assumed) and not is_over(pod)

    def _forget_except(self, uids: set[str]) -> None:
        self._assumed = {uid: pod for uid, pod in self._assumed.items() if uid in uids}
        self._said = {uid: text for uid, text in self._said.items() if uid in uids}


def _is_waiting(pod: Json) -> bool:
    is_leaving = bool(pod["metadata"].get("deletionTimestamp"))
    return not pod["spec"].get("nodeName") and not is_leaving and not is_over(pod)


def _uid(pod: Json) -> str:
    return str(pod["metadata"]["uid"])


def _age(pod: Json) -> tuple[str, str]:
    return str(pod["metadata"].get("creationTimestamp") or ""), str(pod["metadata"]["name"])
