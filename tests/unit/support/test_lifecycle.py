"""A fake kubelet reports what a real one reports, in the same order."""

from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest

from tests.support.builders import NOW
from tests.support.fake_kubelet.kubelet import PodGoneError, PodLifecycle
from tests.support.fake_kubelet.pod_status import Exit
from tests.support.fake_kubelet.timeline import GONE, look
from tests.support.local_apiserver.in_memory import CORE, InMemoryApiServer
from tfjob.local.apiserver.store import Change

Json = dict[str, Any]


class Kubelet(PodLifecycle):
    """A kubelet of one server, with everything that its pods went through."""

    def __init__(self, server: InMemoryApiServer) -> None:
        super().__init__(server, namespace="default", now=self.clock)
        self.server = server
        self.history: list[str] = []
        server.store.listen(self._note)

    def clock(self) -> datetime:
        return NOW

    async def make(self, policy: str = "Never") -> None:
        container = {"name": "tensorflow", "image": "x"}
        spec = {"containers": [container], "restartPolicy": policy}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        await self.server.make(f"{CORE}/pods", body)
        await self.run("p")
        self.history.clear()

    async def delete(self) -> None:
        await self.server.call("DELETE", f"{CORE}/pods/p")

    def _note(self, change: Change) -> None:
        if change.key.resource == "pods":
            self.history.append(GONE if change.type == "DELETED" else look(change.object))


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
async def test_end_of_a_container_is_reported_before_the_phase(code: int, phase: str) -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make()
        await kubelet.finish("p", exit_code=code)
        assert kubelet.history == [f"Running, terminated {code}", f"{phase}, terminated {code}"]


async def test_container_restarts_in_place_and_backs_off_from_the_second_time_on() -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make("OnFailure")
        await kubelet.finish("p", exit_code=1)
        assert kubelet.history == ["Running, terminated 1", "Running, running, restarts 1"]
        kubelet.history.clear()
        pod = await kubelet.finish("p", exit_code=7)
        assert kubelet.history == [
            "Running, terminated 7, restarts 1",
            "Running, waiting CrashLoopBackOff, restarts 1",
            "Running, running, restarts 2",
        ]
        entry = pod["status"]["containerStatuses"][0]
        assert entry["lastState"]["terminated"]["exitCode"] == 7


@pytest.mark.parametrize(
    ("code", "phase"), [(0, "Succeeded"), (1, "Failed"), (143, "Failed"), (137, "Failed")]
)
async def test_deleted_pod_ends_its_containers_then_its_phase_then_its_grace(
    code: int, phase: str
) -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make()
        await kubelet.delete()
        await kubelet.finish_deletion("p", exit_code=code)
        assert kubelet.history == [
            "Running, running, grace 30",
            f"Running, terminated {code}, grace 30",
            f"{phase}, terminated {code}, grace 30",
            f"{phase}, terminated {code}, grace 0",
            "gone",
        ]


async def test_pod_that_is_deleted_between_the_two_reports_goes_by_way_of_its_phase() -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make()
        await kubelet.exit("p", Exit(code=1))
        await kubelet.delete()
        with suppress(PodGoneError):
            await kubelet.finish_deletion("p", exit_code=143)
        assert kubelet.history == [
            "Running, terminated 1",
            "Running, terminated 1, grace 30",
            "Failed, terminated 1, grace 30",
            "Failed, terminated 1, grace 0",
            "gone",
        ]


async def test_drained_pod_is_marked_and_then_deleted() -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make()
        await kubelet.disrupt("p")
        assert kubelet.history == [
            "Running, running, EvictionByEvictionAPI",
            "Running, running, EvictionByEvictionAPI, grace 30",
        ]


async def test_reason_of_an_eviction_can_come_after_the_failure() -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make()
        await kubelet.evict("p", is_reason_late=True)
        assert kubelet.history == [
            "Failed, terminated 137",
            "Failed, terminated 137, TerminationByKubelet, Evicted",
        ]


async def test_pod_of_a_lost_node_is_deleted_and_stays() -> None:
    async with InMemoryApiServer() as server:
        kubelet = Kubelet(server)
        await kubelet.make()
        lost = await kubelet.lose_node("p")
        assert lost["metadata"]["uid"] in kubelet.lost
        assert kubelet.history[-1] == "Running, running, DeletionByTaintManager, grace 30"
