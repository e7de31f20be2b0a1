"""Creates use slow start, stop at a refusal, and are retried with backoff."""

from contextlib import AbstractAsyncContextManager as Opened

import msgspec
import pytest

from tests.support.builders import a_job
from tests.support.controller_harness import ControllerHarness
from tests.unit.controller.test_child_writer import applied
from tfjob.client.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    Invalid,
    ServerTimeout,
    TooManyRequests,
    Transient,
)
from tfjob.client.request import Request
from tfjob.controller import child_writer
from tfjob.controller.slow_start import (
    INITIAL_BACKOFF,
    MAX_BACKOFF,
    ChildGroup,
    CreateBackoff,
    batches,
)
from tfjob.core.plan import ChildKind, Create, Plan

JOB = a_job("W2")
PODS = ChildGroup("Pod", "Worker")
SERVICES = ChildGroup("Service", "Worker")


def creates(kind: ChildKind, count: int) -> list[Create]:
    return [Create(kind, f"j-worker-{index}", "Worker", index) for index in range(count)]


class Quota:
    """Allows a number of pods and refuses all others."""

    def __init__(self, room: int, error: type[ApiError] = Forbidden) -> None:
        self.room = room
        self.tried = 0
        self._error = error

    def __call__(self, request: Request) -> ApiError | None:
        if request.verb != "create" or not request.path.endswith("/pods"):
            return None
        self.tried += 1
        self.room -= 1
        return None if self.room >= 0 else self._error("exceeded quota")


def test_batches_begin_with_one_and_then_double() -> None:
    assert [len(each) for each in batches(range(100))] == [1, 8, 16, 32, 43]
    assert [each for batch in batches(range(100)) for each in batch] == list(range(100))
    assert list(batches([])) == []


def test_two_thousand_children_take_nine_batches() -> None:
    assert len(list(batches(range(2000)))) == 9


@pytest.mark.parametrize("error", [Forbidden, Invalid, BadRequest, TooManyRequests])
async def test_a_job_that_gets_no_child_at_all_sends_one_create(
    controller: Opened[ControllerHarness], error: type[ApiError]
) -> None:
    async with controller as harness:
        await harness.submit("W300")
        harness.server.refuse = quota = Quota(0, error)
        report = await applied(harness, Plan(creates=creates(ChildKind.POD, 300)))
        assert (quota.tried, len(report.errors), report.refused) == (1, 1, 1)
        assert (report.retry_after, report.has_more) == (INITIAL_BACKOFF, False)
        assert report.first_create_error == "exceeded quota"


async def test_skipped_creates_count_as_neither_failed_nor_created(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W300")
        harness.server.refuse = quota = Quota(10)
        await applied(harness, Plan(creates=creates(ChildKind.POD, 300)))
        assert harness.counted("created_pods_total") == 10
        assert quota.tried <= 1 + 8 + 4 + 1
        assert len(await harness.server.names("pods")) == 10


async def test_services_are_created_while_pods_are_rejected(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W30")
        harness.server.refuse = Quota(0)
        wanted = [*creates(ChildKind.POD, 30), *creates(ChildKind.SERVICE, 30)]
        report = await applied(harness, Plan(creates=wanted))
        assert len(await harness.server.names("services")) == 30
        assert report.refused == 1


async def test_no_create_is_sent_during_backoff_whatever_triggers_the_reconcile(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W300")
        harness.server.refuse = quota = Quota(0)
        plan = Plan(creates=creates(ChildKind.POD, 300))
        first = await applied(harness, plan)
        again = await applied(harness, plan)
        assert (quota.tried, again.errors, again.has_more) == (1, [], False)
        assert (again.retry_after, again.first_create_error) == (
            INITIAL_BACKOFF,
            first.first_create_error,
        )
        harness.elapsed += INITIAL_BACKOFF
        later = await applied(harness, plan)
        assert quota.tried == 2
        assert later.retry_after == pytest.approx(2 * INITIAL_BACKOFF)


async def test_remaining_creates_do_not_shorten_the_backoff_of_refused_ones(
    controller: Opened[ControllerHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_writer, "MAX_CREATES", 5)
    async with controller as harness:
        await harness.submit("W20")
        harness.server.refuse = Quota(0)
        plan = Plan(creates=creates(ChildKind.POD, 20))
        for _ in range(2):
            assert not (await applied(harness, plan)).has_more
        wanted = [*creates(ChildKind.POD, 10), *creates(ChildKind.SERVICE, 6)]
        assert (await applied(harness, Plan(creates=wanted))).has_more


@pytest.mark.parametrize("error", [ServerTimeout, Transient])
async def test_outage_is_left_to_the_retries_of_the_job(
    controller: Opened[ControllerHarness], error: type[ApiError]
) -> None:
    async with controller as harness:
        await harness.submit("W2")
        harness.server.refuse = Quota(0, error)
        plan = Plan(creates=creates(ChildKind.POD, 2))
        report = await applied(harness, plan)
        assert (report.refused, report.retry_after) == (0, None)
        harness.server.refuse = lambda _: None
        await applied(harness, plan)
        assert await harness.server.names("pods") == ["j-worker-0", "j-worker-1"]


async def test_refusals_that_differ_in_the_name_only_are_one_event_with_a_count(
    controller: Opened[ControllerHarness],
) -> None:
    def refuse(request: Request) -> ApiError | None:
        if request.verb != "create" or not request.path.endswith("/pods"):
            return None
        body = msgspec.json.decode(request.body or b"{}")
        return Forbidden(f'pods "{body["metadata"]["name"]}" is forbidden: exceeded quota: q')

    async with controller as harness:
        await harness.submit("W300")
        harness.server.refuse = refuse
        for index in range(20):
            one = Create(ChildKind.POD, f"j-worker-{index}", "Worker", index)
            await applied(harness, Plan(creates=[one]))
            harness.elapsed += MAX_BACKOFF
        harness.server.refuse = lambda _: None
        await harness.told()
        events = (await harness.server.ask("GET", "/api/v1/namespaces/default/events"))["items"]
        assert [(each["reason"], each["count"]) for each in events] == [("FailedCreatePod", 20)]


class TestBackoff:
    def setup_method(self) -> None:
        self.now = 0.0
        self.backoff = CreateBackoff(lambda: self.now, max_jobs=2)

    def test_backoff_doubles_up_to_a_limit_and_expires(self) -> None:
        waits = [
            self.backoff.seconds_left(self.backoff.record_refusal(JOB, PODS, "no"))
            for _ in range(12)
        ]
        assert waits[:3] == [INITIAL_BACKOFF, 2 * INITIAL_BACKOFF, 4 * INITIAL_BACKOFF]
        assert waits[-1] == MAX_BACKOFF
        assert self.backoff.pending(JOB, PODS) is not None
        self.now = MAX_BACKOFF
        assert self.backoff.pending(JOB, PODS) is None

    def test_deleted_job_leaves_no_state(self) -> None:
        self.backoff.record_refusal(JOB, PODS, "no")
        self.backoff.record_refusal(JOB, SERVICES, "no")
        self.backoff.forget_job(JOB.owner.uid)
        assert len(self.backoff) == 0

    def test_backoff_ends_with_a_success_or_when_no_child_is_wanted(self) -> None:
        self.backoff.record_refusal(JOB, PODS, "no")
        self.backoff.record_refusal(JOB, SERVICES, "no")
        self.backoff.forget(JOB, PODS)
        assert self.backoff.pending(JOB, PODS) is None
        assert self.backoff.pending(JOB, SERVICES) is not None
        self.backoff.forget_outdated(JOB, {PODS})
        assert self.backoff.pending(JOB, SERVICES) is None
        assert len(self.backoff) == 0

    def test_new_template_is_tried_at_once(self) -> None:
        self.backoff.record_refusal(JOB, PODS, "no such runtime class")
        self.backoff.forget_outdated(JOB, {PODS})
        assert self.backoff.pending(JOB, PODS) is not None
        worker = msgspec.structs.replace(JOB.replicas[0], template={"spec": {"containers": []}})
        self.backoff.forget_outdated(msgspec.structs.replace(JOB, replicas=[worker]), {PODS})
        assert self.backoff.pending(JOB, PODS) is None

    def test_memory_is_bounded(self) -> None:
        for number in range(5):
            owner = msgspec.structs.replace(JOB.owner, uid=str(number))
            self.backoff.record_refusal(msgspec.structs.replace(JOB, owner=owner), PODS, "no")
        assert len(self.backoff) == 2
