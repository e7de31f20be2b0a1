"""The time of the last output, and a job of which no replica does anything."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.builders import DIALECT, a_pod, manifest
from tests.support.fake_api import Answer, Asked, FakeApi, refusal, text, whole
from tfjob.client.config import Config
from tfjob.client.http import Api
from tfjob.core.diagnosis.causes import Cause
from tfjob.k8s.quantity import Quantity
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_activity import ReplicaActivity, activity_of, stall_of
from tfjob.sdk.jobs import ClusterJob

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PODS = [a_pod(), a_pod(index=1)]
IDLE, BUSY = Quantity(1_000_000), Quantity(900_000_000)


def row(minutes: float | None, cpu: Quantity | None = IDLE, index: int = 0) -> ReplicaActivity:
    last = None if minutes is None else NOW - timedelta(minutes=minutes)
    return ReplicaActivity(f"worker-{index}", last, cpu)


def test_a_job_without_output_and_cpu_for_ten_minutes_has_stalled() -> None:
    found = stall_of([row(30), row(12, index=1)], PODS, now=NOW)
    assert found is not None
    assert found.cause is Cause.STALLED
    assert found.message.endswith("(last output 12m ago)")
    assert found.since == NOW - timedelta(minutes=12)


@pytest.mark.parametrize(
    "other", [row(9), row(30, BUSY), row(30, None), row(None)], ids=["output", "cpu", "?", "log"]
)
def test_active_or_partly_unknown_job_has_not_stalled(other: ReplicaActivity) -> None:
    assert stall_of([row(30), other], PODS, now=NOW) is None
    assert stall_of([], [], now=NOW) is None


def test_job_with_unread_replicas_has_not_stalled() -> None:
    rows = [row(30), row(30, index=1)]
    assert stall_of(rows, PODS, now=NOW) is not None
    assert stall_of(rows, [*PODS, a_pod(index=2)], now=NOW) is None


def test_activity_as_text() -> None:
    assert row(12, BUSY).text(NOW) == "worker-0: last output 12m ago, CPU 900m"
    assert row(None, None).text(NOW) == "worker-0: no output known"


def usage(name: str, *amounts: str) -> Mapping[str, Any]:
    containers = [{"name": "c", "usage": {"cpu": amount, "memory": "1Mi"}} for amount in amounts]
    return {"metadata": {"name": name}, "containers": containers}


async def read(script: Mapping[str, Answer]) -> list[ReplicaActivity]:
    """The activity of two running replicas, from these answers by the end of the path."""

    def answer(asked: Asked) -> Answer:
        return next((each for end, each in script.items() if asked.path.endswith(end)), _NONE)

    found = ClusterJob.of(DIALECT, manifest("W3"))
    pods = [a_pod(), a_pod(index=1), a_pod(index=2, phase="Failed", exit_code=1)]
    async with FakeApi(answer) as fake, Api(Config(server=fake.url)) as api:
        return list(await activity_of(Cluster(api=api, namespace=None), found, pods))


_NONE = refusal(404, "NotFound")
LOG = text("2026-01-01T11:48:00.123456789Z step 7\n", status=200)


async def test_output_and_cpu_are_read_for_each_running_replica() -> None:
    metrics = whole({"items": [usage("j-worker-0", "3m", "2m"), usage("j-worker-1", "odd")]})
    first, second = await read({"j-worker-0/log": LOG, "/pods": metrics})
    assert first.text(NOW) == "worker-0: last output 11m ago, CPU 5m"
    assert second.text(NOW) == "worker-1: no output known"


async def test_what_may_not_be_read_is_left_out() -> None:
    no = refusal(403, "Forbidden")
    first, second = await read({"/log": no, "/pods": no})
    assert (first.last_output, first.cpu, second.last_output) == (None, None, None)
