"""Publishing status, address and events of a pod."""

from datetime import UTC, datetime

import pytest

from tests.unit.local.node.fake_api import FakeApi, Pod, pod
from tfjob.local.node.api import UnavailableError
from tfjob.local.node.checkpoint import ContainerRecord, PodRecord, Running, Waiting
from tfjob.local.node.readiness import shown_url
from tfjob.local.node.sockets import Address
from tfjob.local.node.status_publisher import StatusPublisher

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HEARD = {"c0": (Address("127.0.0.1", 6006),)}


@pytest.fixture
def one() -> Pod:
    found = pod("p", "true")
    found["spec"]["containers"][0]["ports"] = [{"containerPort": 6006}]
    return found


@pytest.fixture
def api(one: Pod) -> FakeApi:
    api = FakeApi()
    api.create(one)
    return api


def record(one: Pod, state: Running | Waiting) -> PodRecord:
    container = ContainerRecord(name="c0", state=state)
    return PodRecord(
        namespace="ns",
        name="p",
        uid=one["metadata"]["uid"],
        started_at="2026-01-02T03:04:05Z",
        containers=(container,),
    )


async def test_a_status_is_stored_once_and_again_when_it_differs(api: FakeApi, one: Pod) -> None:
    showing = StatusPublisher(one, api=api, clock=lambda: NOW)
    running = record(one, Running("2026-01-02T03:04:05Z"))
    for not_listening, count in ((frozenset({"c0"}), 1), (frozenset({"c0"}), 1), (frozenset(), 2)):
        await showing.publish_status(one, running, not_listening=not_listening)
        assert len(api.statuses) == count
    ready = [status["containerStatuses"][0]["ready"] for _, status in api.statuses]
    assert ready == [False, True]


async def test_an_address_is_set_and_removed_with_the_listener(api: FakeApi, one: Pod) -> None:
    showing = StatusPublisher(one, api=api, clock=lambda: NOW)
    assert await showing.publish_address(one, {}, preferred=[6006]) == {"c0"}
    assert await showing.publish_address(one, HEARD, preferred=[6006]) == frozenset()
    assert shown_url(api.pods["p"]) == "http://127.0.0.1:6006/"
    await showing.publish_address(one, {}, preferred=[6006])
    assert shown_url(api.pods["p"]) is None


async def test_an_address_that_could_not_be_stored_is_tried_again(api: FakeApi, one: Pod) -> None:
    showing = StatusPublisher(one, api=api, clock=lambda: NOW)
    api.is_down = True
    with pytest.raises(UnavailableError):
        await showing.publish_address(one, HEARD, preferred=[6006])
    api.is_down = False
    await showing.publish_address(one, HEARD, preferred=[6006])
    assert shown_url(api.pods["p"]) == "http://127.0.0.1:6006/"


async def test_an_event_is_recorded_once(api: FakeApi, one: Pod) -> None:
    showing = StatusPublisher(one, api=api, clock=lambda: NOW)
    waiting = record(one, Waiting("CrashLoopBackOff"))
    for _ in range(2):
        showing.record_back_off(one, waiting)
    (event,) = api.events
    assert event[:2] == ("p", "BackOff")
    assert "restarting failed container c0 in pod p_ns" in event[2]
