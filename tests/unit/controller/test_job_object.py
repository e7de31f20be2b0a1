"""A stored job: metadata decoded, spec and status as raw JSON."""

import msgspec
import pytest

from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import Json, tfjob
from tfjob.controller.job_object import JobObject
from tfjob.dialects.base import Settings
from tfjob.dialects.registry import dialect_for


def decoded(text: bytes) -> JobObject:
    return msgspec.json.decode(text, type=JobObject)


def test_manifest_is_plain_json_with_the_metadata_that_is_read() -> None:
    found = decoded(
        b'{"metadata":{"name":"j","namespace":"n","uid":"U","annotations":{"a":"b"},'
        b'"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"x":"y"}},"spec":{"a":[1]},"status":{"b":null}}'
    )
    assert found.manifest() == {
        "metadata": {
            "name": "j",
            "namespace": "n",
            "uid": "U",
            "labels": {"x": "y"},
            "annotations": {"a": "b"},
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "deletionTimestamp": None,
        },
        "spec": {"a": [1]},
        "status": {"b": None},
    }


def test_absent_parts_are_null() -> None:
    found = decoded(b'{"metadata":{"name":"j"}}')
    assert (found.manifest()["spec"], found.manifest()["status"]) == (None, None)
    assert found.stored_status() == {}


def test_status_that_is_no_object_counts_as_none() -> None:
    assert decoded(b'{"metadata":{"name":"j"},"status":[1]}').stored_status() == {}


@pytest.mark.parametrize("job", [tfjob(), old_job(), training_job()], ids=lambda job: job["kind"])
def test_every_dialect_finds_in_a_cached_job_what_it_reads(job: Json) -> None:
    job["metadata"] |= {
        "namespace": "n",
        "uid": "U",
        "labels": {"kueue.x-k8s.io/queue-name": "team"},
        "annotations": {"a": "b"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-02T03:04:05Z",
    }
    job["status"] = {"phase": "Running", "conditions": [{"type": "Created", "status": "True"}]}
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    cached = decoded(msgspec.json.encode(job)).manifest()
    assert dialect.decode(cached, Settings()) == dialect.decode(job, Settings())
