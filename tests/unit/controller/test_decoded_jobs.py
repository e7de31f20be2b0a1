"""A job counts as checked and as decoded only until it changes."""

from typing import Any

import msgspec
import pytest

from tests.support.tfjobs import tfjob
from tfjob.controller.decoded_jobs import DecodedJobs
from tfjob.controller.job_object import JobObject
from tfjob.core.job import Job
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1

SETTINGS = Settings()


def stored(uid: str = "u", *, spec: Any = None, status: Any = None, **metadata: Any) -> JobObject:
    given = {"name": "j", "namespace": "n", "uid": uid, **metadata}
    body = {"metadata": given, "spec": spec or tfjob()["spec"], "status": status}
    return msgspec.json.decode(msgspec.json.encode(body), type=JobObject)


def decoded(uid: str = "u") -> Job:
    job = KubeflowV1().decode(stored(uid).manifest(), SETTINGS)
    assert isinstance(job, Job)
    return job


def kept(uid: str = "u", **limits: int) -> DecodedJobs:
    jobs = DecodedJobs(**limits)
    keep(jobs, uid)
    return jobs


def keep(jobs: DecodedJobs, uid: str) -> None:
    jobs.mark_checked(stored(uid))
    jobs.keep(stored(uid), decoded(uid), SETTINGS)


def test_job_is_checked_once_whatever_its_status_becomes() -> None:
    jobs = DecodedJobs()
    assert not jobs.is_checked(stored())
    jobs.mark_checked(stored())
    assert jobs.is_checked(stored(status={"startTime": "x"}, resourceVersion="2"))


def test_decoded_job_is_returned_once() -> None:
    jobs = kept()
    later = stored(status={"startTime": "x"}, resourceVersion="2")
    assert [jobs.take(later, SETTINGS), jobs.take(later, SETTINGS)] == [decoded(), None]
    assert jobs.is_checked(later)


@pytest.mark.parametrize(
    "changed",
    [
        stored(spec={"tfReplicaSpecs": {}}),
        stored(annotations={"a": "b"}),
        stored(labels={"a": "b"}),
        stored("another"),
        stored(name="k"),
        stored(deletionTimestamp="2026-01-02T03:04:05Z"),
    ],
    ids=["spec", "annotation", "label", "uid", "name", "deletion"],
)
def test_changed_job_is_checked_and_decoded_again(changed: JobObject) -> None:
    jobs = kept()
    assert not jobs.is_checked(changed)
    jobs.keep(changed, decoded(), SETTINGS)
    assert jobs.take(changed, SETTINGS) is None


def test_checking_a_job_drops_its_decoded_form() -> None:
    jobs = kept()
    jobs.mark_checked(stored(annotations={"a": "b"}))
    assert jobs.take(stored(annotations={"a": "b"}), SETTINGS) is None


def test_deleted_job_leaves_no_state() -> None:
    jobs = kept()
    jobs.forget("u")
    assert not jobs.is_checked(stored())
    assert jobs.take(stored(), SETTINGS) is None


def test_decoded_job_is_not_reused_with_other_settings() -> None:
    assert kept().take(stored(), Settings(recovery="Replica")) is None


def test_oldest_checks_are_dropped_first() -> None:
    jobs = DecodedJobs(max_checked=2)
    for uid in ("a", "b", "a", "c"):
        jobs.mark_checked(stored(uid))
    assert [uid for uid in "abc" if jobs.is_checked(stored(uid))] == ["b", "c"]


def test_oldest_decoded_jobs_are_dropped_first_and_stay_checked() -> None:
    size = len(bytes(stored().spec))
    jobs = DecodedJobs(max_bytes=2 * size)
    for uid in ("a", "b", "a", "c"):
        keep(jobs, uid)
    assert jobs.is_checked(stored("b"))
    assert [uid for uid in "abc" if jobs.take(stored(uid), SETTINGS)] == ["a", "c"]


def test_job_larger_than_the_cache_evicts_no_other() -> None:
    jobs = kept("a", max_bytes=len(bytes(stored().spec)))
    large = stored("b", spec=tfjob("W1 P1 C1")["spec"])
    jobs.mark_checked(large)
    jobs.keep(large, decoded("b"), SETTINGS)
    assert jobs.take(large, SETTINGS) is None
    assert jobs.take(stored("a"), SETTINGS) == decoded("a")
    keep(jobs, "c")
    assert jobs.take(stored("c"), SETTINGS) == decoded("c")
