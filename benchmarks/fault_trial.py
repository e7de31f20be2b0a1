"""One fault on one operator: a namespace with a fake kubelet, and what scenarios do there.

The same trial serves every operator: it reads and writes the API server only, and starts and kills
the operator's process.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from benchmarks.contestants import Operator
from tests.support.controlplane.api import Api
from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import ApiError
from tests.support.fake_kubelet.driver import FakeKubelet, runs
from tests.support.fake_kubelet.pod_status import Pod
from tests.support.job_fixture import conditions_of
from tests.support.tfjobs import tfjob

Json = dict[str, Any]
PATIENCE: Final = 30.0
CALM: Final = 4.0
"""Seconds in which an operator does whatever it is going to do."""
_POLL: Final = 0.1


class NotSo(Exception):  # noqa: N818 - says what was found
    """The operator did not do what the scenario demands."""


class Trial:
    """A namespace, its kubelet and the operator."""

    def __init__(
        self, plane: ControlPlane, operator: Operator, *, kubelet: FakeKubelet, namespace: str
    ) -> None:
        self.plane = plane
        self.operator = operator
        self.kubelet = kubelet
        self.namespace = namespace
        self.uids: dict[str, list[str]] = {}
        self._api = Api(plane.endpoint)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Pods run as soon as they exist, and their UIDs are noted."""
        self.kubelet.script("*", self._note, runs)
        async with self._api:
            yield

    async def _note(self, _: FakeKubelet, pod: Pod) -> None:
        self.uids.setdefault(pod["metadata"]["name"], []).append(pod["metadata"]["uid"])

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        return await self._api.call(method, path, body)

    async def submit(self, roles: str = "W1", **fields: Any) -> Json:
        return await self.call("POST", self.jobs, tfjob(roles, **fields))

    async def patch(self, body: Mapping[str, Any], name: str = "j") -> None:
        await self.call("PATCH", f"{self.jobs}/{name}", body)

    @property
    def jobs(self) -> str:
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/tfjobs"

    def core(self, plural: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/{plural}"

    async def items(self, plural: str) -> dict[str, Json]:
        found = await self.call("GET", self.core(plural))
        return {each["metadata"]["name"]: each for each in found["items"]}

    async def conditions(self, name: str = "j") -> list[str]:
        """The conditions that hold, in order; `gone` where there is no such job."""
        try:
            return conditions_of(await self.call("GET", f"{self.jobs}/{name}"))
        except ApiError as refusal:
            if refusal.status == 404:
                return ["gone"]
            raise

    async def comes_to(self, state: str, *, name: str = "j", seconds: float = PATIENCE) -> None:
        async def is_so() -> bool:
            return state in await self.conditions(name)

        try:
            await self.eventually(f"{state}", is_so, seconds=seconds)
        except NotSo:
            raise NotSo(f"not {state}: {', '.join(await self.conditions(name))}") from None

    async def eventually(
        self, what: str, is_so: Callable[[], Awaitable[bool]], *, seconds: float = PATIENCE
    ) -> None:
        deadline = time.monotonic() + seconds
        while not await is_so():
            if time.monotonic() > deadline:
                shown = ", ".join(await self.conditions())
                raise NotSo(f"not within {seconds:.0f} s: {what}; the job is {shown}")
            await asyncio.sleep(_POLL)

    async def running(self, *names: str, seconds: float = PATIENCE) -> None:
        """Wait until pods of these names run and are not being deleted."""

        async def is_so() -> bool:
            pods = await self.items("pods")
            return all(
                pods.get(name, {}).get("status", {}).get("phase") == "Running"
                and "deletionTimestamp" not in pods[name]["metadata"]
                for name in names
            )

        await self.eventually(f"{', '.join(names)} running", is_so, seconds=seconds)

    async def replaced(self, name: str, *, seconds: float = PATIENCE) -> None:
        """Wait until another pod has the name of the one that was first there."""

        async def is_so() -> bool:
            return len(set(self.uids.get(name, ()))) > 1

        await self.eventually(f"{name} replaced", is_so, seconds=seconds)

    async def calm(self) -> None:
        """Give the operator time to do what it should not do."""
        await asyncio.sleep(CALM)

    def lives(self, name: str = "j-worker-0") -> int:
        return len(set(self.uids.get(name, ())))

    def demand(self, holds: object, otherwise: str) -> None:
        if not holds:
            raise NotSo(otherwise)

    async def stop_operator(self) -> None:
        await asyncio.to_thread(self.operator.kill)

    async def start_operator(self) -> None:
        await asyncio.to_thread(self.operator.start)
