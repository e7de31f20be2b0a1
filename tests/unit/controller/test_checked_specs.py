"""A spec counts as checked exactly as long as it stays what it was."""

from typing import Any

import msgspec
import pytest

from tests.support.tfjobs import tfjob
from tfjob.controller.checked_specs import CheckedSpecs
from tfjob.controller.job_object import JobObject


def stored(uid: str = "u", *, spec: Any = None, status: Any = None, **metadata: Any) -> JobObject:
    given = {"name": "j", "namespace": "n", "uid": uid, **metadata}
    body = {"metadata": given, "spec": spec or tfjob()["spec"], "status": status}
    return msgspec.json.decode(msgspec.json.encode(body), type=JobObject)


def test_job_is_checked_once_whatever_its_status_becomes() -> None:
    checked = CheckedSpecs()
    assert not checked.holds(stored())
    checked.add(stored())
    assert checked.holds(stored(status={"startTime": "x"}, resourceVersion="2"))


@pytest.mark.parametrize(
    "changed",
    [
        stored(spec={"tfReplicaSpecs": {}}),
        stored(annotations={"a": "b"}),
        stored("another"),
        stored(name="k"),
    ],
    ids=["spec", "annotation", "uid", "name"],
)
def test_changed_job_is_checked_again(changed: JobObject) -> None:
    checked = CheckedSpecs()
    checked.add(stored())
    assert not checked.holds(changed)


def test_oldest_jobs_are_forgotten_first() -> None:
    checked = CheckedSpecs(limit=2)
    for uid in ("a", "b", "a", "c"):
        checked.add(stored(uid))
    assert [uid for uid in "abc" if checked.holds(stored(uid))] == ["b", "c"]
