"""Leader election: at most one leader at any time, whatever the API server and clocks do."""

import asyncio

import pytest

from tests.support.election import PATH, election
from tests.support.fake_api import FakeApi, refusal, whole
from tests.support.fake_time import settle
from tests.support.patience import PATIENCE
from tfjob.client.config import Config
from tfjob.client.http import Api
from tfjob.client.leader_election import LeaderElector, LeaseConfig


async def test_the_first_candidate_creates_the_lease_and_leads() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(0.25)
        assert first.leads()
        assert first.elector.became_leader.is_set()
        assert not first.elector.lost.is_set()
    assert w.server.spec == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": w.server.spec["renewTime"],
        "renewTime": "2026-01-02T03:20:45.000000Z",
        "leaseTransitions": 0,
    }


async def test_candidate_without_a_server_does_not_lead_and_logs_it_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with election() as w:
        w.server.is_away = True
        first = w.candidate("a")
        assert not first.leads()
        for _ in range(2):
            w.server.is_away = True
            await w.advance(30)
            assert not first.leads()
            w.server.is_away = False
            await w.advance(4)
            assert first.leads()
    logged = [record.msg for record in caplog.records if record.msg == "lease request failed"]
    assert len(logged) == 2


async def test_candidate_that_stops_is_no_longer_leader() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(1)
        await first.die()
        assert not first.leads()
        assert first.elector.lost.is_set()
        assert w.time.pending == 0


async def test_a_leader_renews_and_stays_the_only_one(caplog: pytest.LogCaptureFixture) -> None:
    async with election() as w:
        w.candidate("a")
        await w.advance(0.25)
        w.candidate("b")
        for _ in range(120):
            await w.advance(1)
            assert w.leader() == "a"
        assert w.server.spec["leaseTransitions"] == 0
        assert 55 <= w.server.writes <= 65
        assert "lost leadership, writes stopped" not in caplog.messages


async def test_a_leader_that_renews_need_not_read() -> None:
    async with election() as w:
        w.candidate("a")
        await w.advance(60)
        assert w.server.reads == 1


async def test_of_two_who_create_at_the_same_moment_one_leads() -> None:
    async with election() as w:
        w.server.is_slow = True
        w.candidate("a")
        w.candidate("b")
        await w.advance(1)
        assert w.leader() == w.server.spec["holderIdentity"]


async def test_of_two_who_take_at_the_same_moment_one_leads() -> None:
    async with election() as w:
        w.server.is_slow = True
        w.server.lease = {"metadata": {"resourceVersion": "5"}, "spec": {"holderIdentity": ""}}
        w.candidate("a")
        w.candidate("b")
        await w.advance(1)
        assert w.leader() == w.server.spec["holderIdentity"]


async def test_a_lease_lasts_as_long_as_its_holder_said() -> None:
    async with election() as w:
        spec = {"holderIdentity": "other", "leaseDurationSeconds": 60}
        w.server.lease = {"metadata": {"resourceVersion": "5"}, "spec": spec}
        w.candidate("a")
        await w.advance(59)
        assert w.leader() is None
        await w.advance(4)
        assert w.leader() == "a"


async def test_an_answer_that_comes_too_late_makes_no_leader() -> None:
    async with election() as w:
        w.server.hangs = asyncio.Event()
        first = w.candidate("a")
        await w.advance(11)
        w.server.hangs.set()
        await settle()
        assert w.server.spec["holderIdentity"] == "a"
        assert not first.leads()
        assert not first.elector.became_leader.is_set()


async def test_a_dead_leader_is_followed_after_the_duration_of_its_lease() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(5)
        w.candidate("b")
        await w.advance(5)
        await first.die()
        await w.advance(12)
        assert w.leader() is None
        await w.advance(8)
        assert w.leader() == "b"
        assert w.server.spec["holderIdentity"] == "b"
        assert w.server.spec["leaseTransitions"] == 1


async def test_a_released_lease_is_taken_at_the_next_try() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(5)
        w.candidate("b")
        await w.advance(5)
        await first.leave()
        assert w.server.spec["holderIdentity"] == ""
        await w.advance(2.5)
        assert w.leader() == "b"


async def test_releasing_what_is_not_held_touches_nothing() -> None:
    async with election() as w:
        w.candidate("a")
        await w.advance(1)
        second = w.candidate("b")
        await w.advance(5)
        writes = w.server.writes
        await second.leave()
        assert w.server.writes == writes
        assert w.leader() == "a"


async def test_releasing_while_the_server_is_down_does_not_raise() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(1)
        w.server.is_away = True
        await first.leave()
        assert not first.leads()


async def test_a_short_outage_costs_no_leadership() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(5)
        w.server.is_away = True
        await w.advance(7)
        w.server.is_away = False
        await w.advance(10)
        assert first.leads()
        assert not first.elector.lost.is_set()


async def test_a_long_outage_ends_leadership_and_it_comes_back_by_itself() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(4)
        w.server.is_away = True
        await w.advance(30)
        assert not first.leads()
        assert first.elector.lost.is_set()
        assert not first.elector.became_leader.is_set()
        w.server.is_away = False
        await w.advance(4)
        assert first.leads()
        assert not first.elector.lost.is_set()


async def test_a_leader_cut_off_stops_before_another_begins() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(4)
        second = w.candidate("b")
        await w.advance(4)
        w.server.hangs = asyncio.Event()
        await w.advance(11)
        assert not first.leads()
        assert first.elector.lost.is_set()
        w.server.hangs.set()
        w.server.hangs = None
        await w.advance(20)
        assert first.leads() != second.leads()


async def test_a_leader_stopped_by_its_machine_knows_on_waking_that_time_is_over() -> None:
    async with election() as w:
        first = w.candidate("a")
        await settle()
        assert first.leads()
        w.time._now += 60
        assert not first.leads()


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
async def test_clocks_need_not_agree(skew: float) -> None:
    async with election() as w:
        w.candidate("a")
        await w.advance(1)
        w.candidate("b", skew=skew)
        await w.advance(60)
        assert w.leader() == "a"


async def test_a_renewal_whose_answer_was_lost_is_recognised() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(3)
        w.server.loses_answers = True
        await w.advance(2)
        w.server.loses_answers = False
        await w.advance(4)
        assert first.leads()
        assert w.server.spec["leaseTransitions"] == 0


async def test_a_deleted_lease_is_recreated() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(3)
        w.server.lease = None
        await w.advance(3)
        assert first.leads()
        assert w.server.spec["holderIdentity"] == "a"


async def test_a_lease_taken_by_force_is_given_up_at_once() -> None:
    async with election() as w:
        first = w.candidate("a")
        await w.advance(3)
        w.server.spec["holderIdentity"] = "somebody"
        assert w.server.lease is not None
        w.server.lease["metadata"]["resourceVersion"] = "999"
        await w.advance(2.5)
        assert not first.leads()


@pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": 7}, {"leaseDurationSeconds": "x"}])
async def test_malformed_lease_is_free(spec: object) -> None:
    async with election() as w:
        w.server.lease = {"metadata": {"name": "it", "resourceVersion": "5"}, "spec": spec}
        first = w.candidate("a")
        await w.advance(1)
        assert first.leads()


async def test_other_fields_of_the_lease_are_kept() -> None:
    async with election() as w:
        metadata = {"name": "it", "resourceVersion": "5", "labels": {"keep": "me"}}
        w.server.lease = {"metadata": metadata, "spec": {"holderIdentity": "", "strategy": "Old"}}
        w.candidate("a")
        await w.advance(5)
        assert w.server.lease["metadata"]["labels"] == {"keep": "me"}
        assert w.server.spec["strategy"] == "Old"


async def test_the_lease_is_asked_for_over_the_wire() -> None:
    made = {"metadata": {"name": "it", "resourceVersion": "1"}, "spec": {"holderIdentity": "a"}}
    answers = [refusal(404, "NotFound"), whole(made, status=201), whole(made)]
    async with FakeApi(answers) as fake, Api(Config(server=fake.url)) as api:
        elector = LeaderElector(api, LeaseConfig(name="it", namespace="ns", identity="a"))
        running = asyncio.create_task(elector.run())
        await asyncio.wait_for(elector.became_leader.wait(), PATIENCE)
        running.cancel()
        await asyncio.wait([running])
        await elector.release()
    assert [(asked.method, asked.path) for asked in fake.asked] == [
        ("GET", PATH),
        ("POST", PATH.removesuffix("/it")),
        ("PUT", PATH),
    ]
    assert fake.asked[2].json["metadata"]["resourceVersion"] == "1"


async def test_of_many_candidates_one_leads_through_every_trouble() -> None:
    async with election() as w:
        for number in range(4):
            w.candidate(f"c{number}")
        for step in range(6):
            w.server.is_away = step % 2 == 1
            await w.advance(17)
            if not w.server.is_away:
                assert w.leader() is not None


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"), [(10, 10.0, 2.0), (15, 2.0, 2.0), (15, 10.0, 0.0)]
)
def test_durations_that_allow_two_leaders_are_rejected(
    duration: int, deadline: float, retry: float
) -> None:
    with pytest.raises(ValueError, match="retry_period < renew_deadline < duration"):
        LeaseConfig(
            name="it",
            namespace="ns",
            identity="a",
            duration=duration,
            renew_deadline=deadline,
            retry_period=retry,
        )
