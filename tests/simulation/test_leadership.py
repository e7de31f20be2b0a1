"""An operator that has lost its lease writes nothing more, through a whole controller."""

import asyncio

import msgspec
import pytest

from tests.support.simulation.cluster import QUIET, SimulatedCluster, simulated
from tests.support.simulation.run import LEASE_NAMESPACE
from tests.support.tfjobs import tfjob
from tfjob.client.request import Request
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver.request import Answer

JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
SETTINGS = msgspec.structs.replace(QUIET, is_leader_elected=True, lease_namespace=LEASE_NAMESPACE)
WRITES = frozenset({"create", "update", "patch", "delete"})


class Busy:
    """Answers no renewal of the lease, and asks each other writer to come back later."""

    def __init__(self) -> None:
        self.written: list[tuple[float, str]] = []

    def __call__(self, request: Request) -> Answer | None:
        if "/leases" in request.path:
            return Answer(code=500, body=b"no")
        if request.verb not in WRITES or request.path.endswith("/events"):
            return None
        self.written.append((asyncio.get_running_loop().time(), request.title))
        return Answer(code=429, body=b"later")


@pytest.mark.scenario("R37")
def test_creates_that_wait_to_be_sent_again_end_with_the_lease() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start(KubeflowV1())
        operator = cluster.operator(SETTINGS)
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(30)
        assert operator._elector is not None
        cluster.connections[0].refuse = busy = Busy()
        await asyncio.sleep(6)
        await cluster.ask("POST", JOBS, tfjob("W4"))
        await operator._elector.lost.wait()
        lost = asyncio.get_running_loop().time()
        await asyncio.sleep(60)
        assert busy.written
        assert [each for each in busy.written if each[0] > lost] == []
        cluster.connections[0].refuse = lambda _: None
        await asyncio.sleep(30)
        assert len(await cluster.names("/api/v1/namespaces/default/pods")) == 4
        operator.stop()
        await running

    simulated(act, lambda: SimulatedCluster(dialects=(KubeflowV1(),)))
