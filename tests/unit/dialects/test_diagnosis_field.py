"""`status.diagnosis` in all dialects: stored as decided, and read back leniently."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import NOW
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis, Incident
from tfjob.core.status import JobStatus
from tfjob.dialects import diagnosis_field
from tfjob.dialects.registry import DIALECTS

FOUND = Diagnosis(
    cause=Cause.OUT_OF_MEMORY,
    message="worker-1 was killed: out of memory",
    since=NOW,
    replica="worker-1",
    node="n3",
    reason="OOMKilled",
    exit_code=137,
    last_lines="step 1\nstep 2",
    incidents=(
        Incident(
            key="u/0",
            cause=Cause.OUT_OF_MEMORY,
            kind="worker",
            index=1,
            at=NOW,
            exit_code=137,
            consequences={"worker": frozenset({0, 2, 3})},
        ),
    ),
    incident_count=4,
)


def test_it_is_read_back_as_it_was_stored() -> None:
    shown = diagnosis_field.encoded(JobStatus(diagnosis=FOUND))
    assert shown is not None
    assert shown["incidents"][0]["consequences"] == {"worker": "0,2-3"}
    assert shown["remedy"].startswith("Raise the memory limit")
    assert diagnosis_field.decoded({"diagnosis": shown}) == FOUND


def test_it_has_the_published_keys() -> None:
    shown = diagnosis_field.encoded(JobStatus(diagnosis=FOUND))
    assert shown is not None
    published = {"cause", "message", "remedy", "replica", "node", "reason", "exitCode", "since"}
    assert {*published, "incidents"} <= set(shown)
    assert set(shown) <= set(diagnosis_field.schema()["properties"])


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: f"{each.group}-{each.version}")
def test_every_dialect_declares_it_and_shows_the_cause_in_wide_lists(dialect: Any) -> None:
    assert "diagnosis" in dialect.status_fields
    for version in dialect.crd()["spec"]["versions"]:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        assert "cause" in status["properties"]["diagnosis"]["properties"]
        columns = {each["name"]: each for each in version["additionalPrinterColumns"]}
        assert columns["Why"]["priority"] == 1


def test_a_code_of_a_newer_operator_reads_as_unknown() -> None:
    stored = {"diagnosis": {"cause": "Newer", "since": "2026-01-02T03:04:05Z"}}
    found = diagnosis_field.decoded(stored)
    assert found is not None
    assert found.cause is Cause.UNKNOWN


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
keys = sorted(diagnosis_field.schema()["properties"])


@given(st.dictionaries(st.sampled_from(keys), json) | json)
def test_any_json_is_read(stored: Any) -> None:
    found = diagnosis_field.decoded({"diagnosis": stored})
    if found is not None:
        shown = diagnosis_field.encoded(JobStatus(diagnosis=found))
        assert diagnosis_field.decoded({"diagnosis": shown}) == found
