"""An API server that is busy, failing, or unreachable in the middle of a response."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.fake_kubelet.driver import runs
from tests.support.faulty_proxy import Fault, FaultyProxy, Kind, watches, writes
from tests.support.job_fixture import JobFixture, counts_of
from tests.support.operator_process import OperatorProcess

NAMES = [f"j-worker-{index}" for index in range(4)]
STORIES = {
    "busy": Fault(Kind.REFUSED, writes("pods"), 5, status=429, headers={"Retry-After": "1"}),
    "in trouble": Fault(Kind.REFUSED, writes("pods"), 6, status=500),
    "answers get lost": Fault(Kind.LOST, writes("pods"), 4),
    "services get lost": Fault(Kind.LOST, writes("services"), 4),
    "watches break at once": Fault(Kind.CUT, watches, 6, bytes_let_through=1),
    "watches break in the middle": Fault(Kind.CUT, watches, 6, bytes_let_through=3000),
    "watches are too old": Fault(Kind.REFUSED, watches, 6, status=410),
    "watches are refused": Fault(Kind.REFUSED, watches, 6, status=503),
}


@asynccontextmanager
async def operator_behind(
    proxy: FaultyProxy, fixture: JobFixture, folder: Path
) -> AsyncIterator[OperatorProcess]:
    """An operator that reaches its API server through a proxy alone."""
    fixture.env.operator.kill()
    async with proxy.serving() as endpoint:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(endpoint.kubeconfig())
        operator = fixture.env.new_operator(name="behind-proxy", kubeconfig=kubeconfig)
        operator.start(ready=False)
        try:
            yield operator
        finally:
            operator.close()


@pytest.mark.scenario("R22", "R37", "R38")
@pytest.mark.parametrize("story", STORIES)
async def test_job_succeeds_with_each_child_created_once(
    fixture: JobFixture, tmp_path: Path, story: str
) -> None:
    fault = STORIES[story]
    proxy = FaultyProxy(fixture.env.endpoint)
    proxy.add(Fault(**vars(fault)))
    pods = f"/api/v1/namespaces/{fixture.namespace}/pods"
    since = (await fixture.call("GET", pods))["metadata"]["resourceVersion"]
    fixture.kubelet.script("*", runs)
    async with operator_behind(proxy, fixture, tmp_path) as operator:
        await fixture.submit("W4", successPolicy="AllWorkers")
        await fixture.until("all run", lambda job: counts_of(job) == {"active": 4})
        for name in NAMES:
            await fixture.kubelet.finish(name, exit_code=0)
        await fixture.comes_to("Succeeded")
        assert operator.is_alive
    assert proxy.is_through
    made = [each for each in await fixture.changes(pods, since=since) if each["type"] == "ADDED"]
    assert Counter(each["object"]["metadata"]["name"] for each in made) == Counter(NAMES)


@pytest.mark.scenario("R37")
async def test_rejected_pod_is_reported_with_the_message_of_the_server(
    fixture: JobFixture, tmp_path: Path
) -> None:
    proxy = FaultyProxy(fixture.env.endpoint)
    proxy.add(Fault(Kind.REFUSED, writes("pods"), 20, status=403))
    async with operator_behind(proxy, fixture, tmp_path):
        await fixture.submit("W1")
        await fixture.event("FailedCreatePod", "Error creating: a fault", kind="Warning")
