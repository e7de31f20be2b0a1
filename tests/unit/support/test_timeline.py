"""The fake kubelet reports what a real one was recorded to report."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from tests.support.builders import NOW
from tests.support.fake_kubelet.kubelet import PodLifecycle
from tests.support.fake_kubelet.timeline import GONE, from_running_on, look, recorded
from tests.support.local_apiserver.in_memory import CORE, InMemoryApiServer
from tfjob.local.apiserver.store import Change

Json = dict[str, Any]
IN_BETWEEN = ("Running, terminated",)
"""A fake kubelet always reports that containers have ended before the phase follows. A real one
reports both at once if the pod was being deleted; a controller must bear either."""


class Kubelet(PodLifecycle):
    """A kubelet of one server, with everything that its pod went through."""

    def __init__(self, server: InMemoryApiServer, lines: list[str]) -> None:
        super().__init__(server, namespace="default", now=self.clock)
        self.server = server
        self.lines = lines
        server.store.listen(self._note)

    def clock(self) -> datetime:
        return NOW

    async def make(self, policy: str) -> None:
        spec = {
            "containers": [{"name": "tensorflow", "image": "x"}],
            "restartPolicy": policy,
            "terminationGracePeriodSeconds": 3,
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        await self.server.make(f"{CORE}/pods", body)

    async def delete(self) -> None:
        await self.server.call("DELETE", f"{CORE}/pods/p")

    def _note(self, change: Change) -> None:
        if change.key.resource == "pods":
            line = GONE if change.type == "DELETED" else look(change.object)
            if not self.lines or self.lines[-1] != line:
                self.lines.append(line)


Play = Callable[[Kubelet], Awaitable[object]]


def ends(*codes: int) -> Play:
    async def play(kubelet: Kubelet) -> None:
        await kubelet.run("p")
        for code in codes:
            await kubelet.finish("p", exit_code=code)

    return play


def deleted(code: int) -> Play:
    async def play(kubelet: Kubelet) -> None:
        await kubelet.run("p")
        await kubelet.delete()
        await kubelet.finish_deletion("p", exit_code=code)

    return play


def evicted(code: int) -> Play:
    async def play(kubelet: Kubelet) -> None:
        await kubelet.run("p")
        await kubelet.disrupt("p")
        await kubelet.finish_deletion("p", exit_code=code)

    return play


async def runs_out_of_memory(kubelet: Kubelet) -> None:
    await kubelet.run("p")
    await kubelet.finish("p", exit_code=137, reason="OOMKilled")


PLAYED: dict[str, tuple[str, Play]] = {
    "succeeds": ("Never", ends(0)),
    "fails": ("Never", ends(3)),
    "succeeds under OnFailure": ("OnFailure", ends(0)),
    "restarts in place": ("OnFailure", ends(1, 1)),
    "restarts after success under Always": ("Always", ends(0, 0)),
    "deleted, exits 0": ("Never", deleted(0)),
    "deleted, exits 1": ("Never", deleted(1)),
    "deleted, exits 143": ("Never", deleted(143)),
    "deleted, ignores SIGTERM": ("Never", deleted(137)),
    "deleted under OnFailure, exits 1": ("OnFailure", deleted(1)),
    "evicted, exits 0": ("Never", evicted(0)),
    "evicted, exits 143": ("Never", evicted(143)),
    "evicted, ignores SIGTERM": ("Never", evicted(137)),
    "runs out of memory": ("Never", runs_out_of_memory),
}


@pytest.mark.parametrize("situation", PLAYED)
async def test_fake_kubelet_reports_what_a_real_one_does(situation: str) -> None:
    policy, play = PLAYED[situation]
    lines: list[str] = []
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server, lines)
        await kubelet.make(policy)
        await play(kubelet)
    real, fake = from_running_on(recorded()[situation]), from_running_on(lines)
    if "deleted" in situation or "evicted" in situation:
        fake = [line for line in fake if not line.startswith(IN_BETWEEN)]
    assert fake == real


def test_end_of_a_container_is_reported_before_the_phase_unless_the_pod_is_deleted() -> None:
    """What a controller must know, as the recording shows it."""
    for situation, lines in recorded().items():
        ends_by_itself = lines[-1].startswith(("Succeeded", "Failed"))
        if ends_by_itself and "deadline" not in situation:
            assert "terminated" in lines[-2], situation
            assert lines[-2].startswith(("Running", "Pending")), situation
        if lines[-1] == GONE:
            assert lines[-2].endswith("grace 0"), situation
