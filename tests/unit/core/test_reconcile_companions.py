"""Companions are created once, kept in the enforced state and never counted as replicas."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    a_job,
    a_service,
    at,
    created_names,
    decide,
    deleted_names,
    pods,
    stored,
)
from tfjob.core.job import Companion, Job
from tfjob.core.plan import Update
from tfjob.core.scheduling_spec import GangSpec
from tfjob.k8s.child_types import CompanionObject, CompanionSpec, Service
from tfjob.k8s.meta import ObjectMeta

BOARD = ("Deployment", "board")


def boarded(job: Job, **kept: Any) -> Job:
    board = Companion(kind=BOARD[0], name=BOARD[1], manifest={}, enforced_spec=kept)
    door = Companion(kind="Service", name="board", manifest={})
    return msgspec.structs.replace(job, companions=[door, board])


def standing(
    *, is_terminating: bool = False, **spec: Any
) -> Mapping[tuple[str, str], CompanionObject]:
    deleted = "2026-01-02T03:04:05Z" if is_terminating else None
    meta = ObjectMeta(name="board", uid="b", deletion_timestamp=deleted)
    stands = CompanionObject(metadata=meta, spec=CompanionSpec(**spec))
    return {BOARD: stands, ("Service", "board"): CompanionObject(metadata=ObjectMeta(name="board"))}


def an_update(**spec: Any) -> Update:
    return Update(kind="Deployment", name="board", uid="b", body={"spec": spec})


def test_companion_that_differs_is_updated() -> None:
    job = boarded(a_job(), replicas=0)
    plan = decide(job, companions=standing(replicas=1))
    assert plan.updates == [an_update(replicas=0)]
    assert not plan.is_empty


@pytest.mark.parametrize(
    ("kept", "spec"),
    [
        ({}, {"replicas": 3}),
        ({"replicas": 1}, {"replicas": 1}),
        ({"suspend": False}, {}),
        ({"suspend": True}, {"suspend": True, "replicas": 7}),
    ],
)
def test_companion_in_the_enforced_state_is_left_alone(
    kept: dict[str, Any], spec: dict[str, Any]
) -> None:
    assert decide(boarded(a_job(), **kept), companions=standing(**spec)).updates == []


def test_terminating_companion_is_not_updated() -> None:
    job = boarded(a_job(), replicas=0)
    assert decide(job, companions=standing(replicas=1, is_terminating=True)).updates == []


def test_companion_is_updated_while_its_job_is_suspended_or_finished() -> None:
    resting = boarded(a_job(run_policy={"suspend": True}), replicas=0)
    assert decide(resting, companions=standing(replicas=1)).updates == [an_update(replicas=0)]
    job = boarded(a_job(), suspend=True)
    ended = stored(job, decide(job, *pods(worker="S"), companions=standing(suspend=True)))
    assert ended.status.is_finished
    plan = decide(ended, *pods(worker="S"), companions=standing(), now=at(5))
    assert plan.updates == [an_update(suspend=True)]
    assert plan.creates == []


def test_companion_service_is_found_by_its_name() -> None:
    job = boarded(a_job())
    door = Service(metadata=ObjectMeta(name="board"))
    assert created_names(decide(job), "Service") == ["board", "j-worker-0"]
    assert created_names(decide(job, services=[door]), "Service") == ["j-worker-0"]
    assert created_names(decide(job, companions=standing()), "Service") == ["j-worker-0"]


def test_companion_service_outlives_clean_up_suspension_and_scaling() -> None:
    labelled = a_service("worker", 7).metadata
    door = Service(metadata=msgspec.structs.replace(labelled, name="board"))
    services = [door, a_service()]
    job = boarded(a_job(run_policy={"cleanPodPolicy": "All"}))
    assert deleted_names(decide(job, services=services), "Service") == []
    ended = stored(job, decide(job, *pods(worker="S"), services=services))
    plan = decide(ended, *pods(worker="S"), services=services, now=at(5))
    assert deleted_names(plan, "Service") == ["j-worker-0"]
    resting = boarded(a_job(run_policy={"suspend": True}))
    assert deleted_names(decide(resting, services=services), "Service") == ["j-worker-0"]


def test_a_companion_does_not_wait_for_the_gangs_group() -> None:
    gang = GangSpec(
        api_version="g/v1",
        group_name="j",
        scheduler_name="s",
        min_member=1,
        waits_for_group=True,
    )
    job = msgspec.structs.replace(boarded(a_job()), gang=gang)
    plan = decide(job)
    assert [each.kind for each in plan.creates] == ["PodGroup", "Service", "Deployment"]
