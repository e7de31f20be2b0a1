"""The nodes of a simulated cluster: pods start, end as their fate says, and go when told to.

Law: it sees and writes the API server's own state, at once and without mishaps. A pod's fate is
known beforehand, so that the right end of its job is known too.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.support.simulation import virtual_time
from tfjob.k8s import time
from tfjob.local.apiserver import router
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer

Json = dict[str, Any]
STEP = 1.0
PODS = "/api/v1/namespaces/default/pods"


async def call(backend: Backend, method: str, path: str, body: Json | None = None) -> Json:
    """Ask the API server itself, past any network."""
    found = await router.answer(
        backend,
        router.HttpRequest(
            method=method,
            path=path,
            body=msgspec.json.encode(body) if body is not None else b"",
            content_type="application/json",
        ),
    )
    assert isinstance(found, Answer)
    answer: Json = msgspec.json.decode(found.body)
    return {**answer, "code": found.code}


async def listed(backend: Backend, path: str) -> list[Json]:
    found: list[Json] = (await call(backend, "GET", path))["items"]
    return found


class Kubelet:
    """`fates` say by pod name with which codes its containers end; without one it runs on."""

    def __init__(
        self, backend: Backend, chance: random.Random, fates: Mapping[str, Sequence[int]]
    ) -> None:
        self._backend = backend
        self._chance = chance
        self._fates = fates
        self.ended: dict[str, int] = {}

    async def run(self) -> None:
        while True:
            for pod in await listed(self._backend, PODS):
                await self._attend(pod)
            await asyncio.sleep(STEP)

    async def _attend(self, pod: Json) -> None:
        if self._chance.random() < 0.6:
            return
        name, phase = pod["metadata"]["name"], pod.get("status", {}).get("phase", "Pending")
        if "deletionTimestamp" in pod["metadata"]:
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
            await call(self._backend, "DELETE", f"{PODS}/{name}", options)
        elif not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Binding", "target": {"name": "node"}}
            body = {**target, "metadata": {"name": name}}
            await call(self._backend, "POST", f"{PODS}/{name}/binding", body)
        elif phase == "Pending":
            await self._store(pod, {"phase": "Running"})
        elif phase == "Running" and self._chance.random() < 0.3:
            await self._end(pod, name)

    async def _end(self, pod: Json, name: str) -> None:
        """The next container of this name ends; under OnFailure it is started in its place."""
        fate = self._fates.get(name, ())
        place = self.ended.get(name, 0)
        if place >= len(fate):
            return
        self.ended[name] = place + 1
        code = fate[place]
        if code and pod["spec"]["restartPolicy"] == "OnFailure":
            await self._store(pod, {"phase": "Running"}, restarts=place + 1)
            return
        phase = "Failed" if code else "Succeeded"
        await self._store(pod, {"phase": phase}, code=code, restarts=place)

    async def _store(
        self, pod: Json, status: Json, *, code: int | None = None, restarts: int = 0
    ) -> None:
        moment = time.render(virtual_time.now())
        state: Json = {"running": {"startedAt": moment}}
        if code is not None:
            state = {"terminated": {"exitCode": code, "reason": "x", "finishedAt": moment}}
        shown = {
            "name": "tensorflow",
            "image": "x",
            "imageID": "",
            "ready": code is None,
            "restartCount": restarts,
            "state": state,
        }
        path = f"{PODS}/{pod['metadata']['name']}/status"
        body = {**pod, "status": {**pod.get("status", {}), **status, "containerStatuses": [shown]}}
        answer = await call(self._backend, "PUT", path, body)
        assert answer["code"] in {200, 404, 409}, answer
