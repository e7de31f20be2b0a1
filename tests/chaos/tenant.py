"""One tenant of a chaos run: submits jobs, changes some, and says at the end what is wrong."""

import asyncio
import random
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from tests.chaos.jobs import Change, End, Kind
from tests.chaos.ledger import Ledger
from tests.support.controlplane.api import Api
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.fake_kubelet.driver import FakeKubelet

Json = dict[str, Any]
_LAST_EVENTS = 20
_ATTEMPTS = 4_000
"""Requests to a server that is away are repeated: how long it takes to start is no verdict."""


class Tenant:
    """A namespace with a fake kubelet; use as an async context manager."""

    def __init__(self, endpoint: Endpoint, namespace: str, rng: random.Random) -> None:
        self.namespace = namespace
        self._rng = rng
        self._kinds: dict[str, Kind] = {}
        self._ledger = Ledger(self._kinds, rng)
        self._kubelet = FakeKubelet(endpoint, namespace=namespace, attempts=_ATTEMPTS)
        self._kubelet.script("*", self._ledger.live)
        self._api = Api(endpoint, attempts=_ATTEMPTS)
        self._jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs"

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        await self._kubelet.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._kubelet.__aexit__(kind, fault, trace)
        await self._api.__aexit__(kind, fault, trace)

    async def submit(self, kinds: Sequence[Kind], *, jobs: int, seconds: float) -> None:
        """Create so many jobs of all kinds, spread over some time, and change those that change."""
        async with asyncio.TaskGroup() as group:
            for number in range(jobs):
                kind = kinds[number % len(kinds)]
                name = f"{kind.name}-{number}"
                self._kinds[name] = kind
                delay = self._rng.uniform(0, seconds)
                group.create_task(self._live(name, kind, delay, self._rng.uniform(0, 10)))

    async def _live(self, name: str, kind: Kind, delay: float, pause: float) -> None:
        await asyncio.sleep(delay)
        await self._api.call("POST", self._jobs, kind.document(name))
        await asyncio.sleep(pause)
        if kind.change is Change.DELETE:
            await self._delete(name)
        elif kind.change is Change.SUSPEND:
            await self._suspend(name, is_on=True)
            await asyncio.sleep(pause)
            await self._suspend(name, is_on=False)

    async def _delete(self, name: str) -> None:
        try:
            await self._api.call("DELETE", f"{self._jobs}/{name}")
        except ApiError as refusal:
            if refusal.status != 404:
                raise

    async def _suspend(self, name: str, *, is_on: bool) -> None:
        body = {"spec": {"runPolicy": {"suspend": is_on}}}
        await self._api.call("PATCH", f"{self._jobs}/{name}", body)

    async def unsettled(self) -> list[str]:
        """Jobs that are not, or not yet, as they must be, and children that should be gone."""
        jobs = {each["metadata"]["name"]: each for each in await self._items(self._jobs)}
        pods = await self._items(f"/api/v1/namespaces/{self.namespace}/pods")
        services = await self._items(f"/api/v1/namespaces/{self.namespace}/services")
        found = [
            f"{self.namespace}/{name}: must be {kind.end.value}, is {_state(jobs.get(name))}"
            for name, kind in self._kinds.items()
            if not _is_as_demanded(kind, jobs.get(name))
        ]
        uids = {each["metadata"]["uid"] for each in jobs.values()}
        found += [
            f"{self.namespace}/{each['metadata']['name']}: its job is gone"
            for each in (*pods, *services)
            if _owner(each) not in uids
        ]
        found += [
            f"{self.namespace}/{each['metadata']['name']}: runs although its job has ended"
            for each in pods
            if each["status"]["phase"] == "Running" and _is_cleaned(jobs, each, self._kinds)
        ]
        return found

    async def faults(self) -> list[str]:
        """Pods that ran more or less often than their jobs demand."""
        return [f"{self.namespace}: {line}" for line in self._ledger.faults()]

    async def last_events(self) -> list[str]:
        events = await self._items(f"/api/v1/namespaces/{self.namespace}/events")
        events.sort(key=lambda each: str(each["lastTimestamp"]))
        lines = (
            f"  {each['lastTimestamp']} {each['involvedObject']['name']} {each['reason']}: "
            f"{each['message']}"
            for each in events[-_LAST_EVENTS:]
        )
        return [f"the last events in {self.namespace}:", *lines]

    async def _items(self, path: str) -> list[Json]:
        items: list[Json] = (await self._api.call("GET", path))["items"]
        return items


def _is_as_demanded(kind: Kind, job: Json | None) -> bool:
    if kind.end is End.GONE or job is None:
        return (job is None) == (kind.end is End.GONE)
    return _conditions(job).get(kind.end.value) == "True"


def _state(job: Json | None) -> str:
    if job is None:
        return "gone"
    return ", ".join(f"{kind}={value}" for kind, value in _conditions(job).items()) or "without any"


def _conditions(job: Json) -> dict[str, str]:
    found = job.get("status", {}).get("conditions") or []
    return {each["type"]: each["status"] for each in found}


def _owner(child: Json) -> str:
    references = child["metadata"].get("ownerReferences") or [{}]
    return str(references[0].get("uid"))


def _is_cleaned(jobs: dict[str, Json], pod: Json, kinds: dict[str, Kind]) -> bool:
    """Whether the pod's job has ended and its policy is to delete what still runs."""
    owner = next((each for each in jobs.values() if each["metadata"]["uid"] == _owner(pod)), None)
    if owner is None:
        return False
    kind = kinds[owner["metadata"]["name"]]
    has_ended = _conditions(owner).get(kind.end.value) == "True"
    return has_ended and kind.run_policy.get("cleanPodPolicy") == "Running"
