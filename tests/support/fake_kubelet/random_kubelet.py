"""The kubelets of a simulated cluster: pods start, end with known exit codes, and go when deleted.

It reads and writes the API server directly, without faults. What happens to a pod is known
beforehand, so the right end of its job is known, too; when it happens is drawn from a seeded
source.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.fake_kubelet import lifecycle
from tests.support.fake_kubelet.kubelet import MAIN_CONTAINER, PodGoneError, PodLifecycle
from tests.support.fake_kubelet.pod_status import Exit
from tests.support.local_apiserver.in_memory import CORE, InMemoryApiServer
from tests.support.simulation import virtual_time
from tfjob.k8s import time

Json = dict[str, Any]
PODS = f"{CORE}/pods"
_STEP = 1.0
_ON_SIGTERM = (Exit(code=0), Exit(code=1), lifecycle.SIGTERM, lifecycle.SIGKILL)


class RandomKubelet:
    """`exit_codes`, by pod name, are those of one container after the other; then one runs on."""

    def __init__(
        self,
        server: InMemoryApiServer,
        chance: random.Random,
        exit_codes: Mapping[str, Sequence[int]],
    ) -> None:
        self._server = server
        self._chance = chance
        self._exit_codes = exit_codes
        self._pods = PodLifecycle(server, namespace="default", now=virtual_time.now)
        self._on_sigterm: dict[str, Exit] = {}
        self._ended: dict[str, int] = {}

    async def run(self) -> None:
        while True:
            for pod in await self._server.listed(PODS):
                try:
                    await self._attend(pod)
                except PodGoneError:
                    continue  # It was deleted while we looked at the others.
            await asyncio.sleep(_STEP)

    async def _attend(self, pod: Json) -> None:
        """Take at most one step, and often none: a kubelet's reports are some time apart."""
        if self._chance.random() < 0.6:
            return
        uid = pod["metadata"]["uid"]
        how = self._on_sigterm.setdefault(uid, self._chance.choice(_ON_SIGTERM))
        if how is lifecycle.SIGKILL and not _is_grace_over(pod):
            return
        has_stepped = await self._pods.step(pod, on_sigterm=how)
        phase = pod["status"].get("phase")
        if not has_stepped and phase == "Running" and self._chance.random() < 0.3:
            await self._exit(pod)

    async def _exit(self, pod: Json) -> None:
        """The next container of this name ends; what follows comes with the next steps."""
        name = pod["metadata"]["name"]
        codes = self._exit_codes.get(name, ())
        place = self._ended.get(name, 0)
        if place < len(codes):
            self._ended[name] = place + 1
            names = [each["name"] for each in pod["spec"]["containers"]]
            main = MAIN_CONTAINER if MAIN_CONTAINER in names else names[0]
            await self._pods.exit(pod, Exit(code=codes[place]), container=main)


def _is_grace_over(pod: Json) -> bool:
    """Whether a pod that is being deleted is to be killed now; True for all others."""
    due = pod["metadata"].get("deletionTimestamp")
    return due is None or due <= time.render(virtual_time.now())
