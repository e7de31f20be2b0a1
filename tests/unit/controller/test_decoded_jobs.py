"""A job counts as checked and as decoded exactly as long as it stays what it was."""

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


def test_job_is_checked_and_decoded_once_whatever_its_status_becomes() -> None:
    jobs, job = DecodedJobs(), decoded()
    assert not jobs.is_checked(stored())
    jobs.add(stored(), job, SETTINGS)
    later = stored(status={"startTime": "x"}, resourceVersion="2")
    assert jobs.is_checked(later)
    assert jobs.of_checked(later, SETTINGS) is job


@pytest.mark.parametrize(
    "changed",
    [
        stored(spec={"tfReplicaSpecs": {}}),
        stored(annotations={"a": "b"}),
        stored("another"),
        stored(name="k"),
        stored(deletionTimestamp="2026-01-02T03:04:05Z"),
    ],
    ids=["spec", "annotation", "uid", "name", "deletion"],
)
def test_changed_job_is_checked_and_decoded_again(changed: JobObject) -> None:
    jobs = DecodedJobs()
    jobs.add(stored(), decoded(), SETTINGS)
    assert not jobs.is_checked(changed)


def test_other_settings_need_another_decoding() -> None:
    jobs = DecodedJobs()
    jobs.add(stored(), decoded(), SETTINGS)
    assert jobs.is_checked(stored())
    assert jobs.of_checked(stored(), Settings(recovery="Replica")) is None


def test_oldest_checks_are_forgotten_first() -> None:
    jobs = DecodedJobs(max_checked=2)
    for uid in ("a", "b", "a", "c"):
        jobs.add(stored(uid), decoded(uid), SETTINGS)
    assert [uid for uid in "abc" if jobs.is_checked(stored(uid))] == ["b", "c"]


def kept(jobs: DecodedJobs) -> list[str]:
    return [uid for uid in "abc" if jobs.of_checked(stored(uid), SETTINGS) is not None]


def test_oldest_decoded_jobs_are_forgotten_first_and_stay_checked() -> None:
    size = len(bytes(stored().spec))
    jobs = DecodedJobs(max_bytes=2 * size)
    for uid in ("a", "b", "a", "c"):
        jobs.add(stored(uid), decoded(uid), SETTINGS)
    assert kept(jobs) == ["a", "c"]
    assert jobs.is_checked(stored("b"))


def test_job_that_is_larger_than_all_room_pushes_no_other_out() -> None:
    size = len(bytes(stored().spec))
    jobs = DecodedJobs(max_bytes=size)
    jobs.add(stored("a"), decoded("a"), SETTINGS)
    jobs.add(stored("b", spec=tfjob("W1 P1 C1")["spec"]), decoded("b"), SETTINGS)
    assert kept(jobs) == ["a"]
    jobs.drop("a")
    jobs.add(stored("c"), decoded("c"), SETTINGS)
    assert kept(jobs) == ["c"]
