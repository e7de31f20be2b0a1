"""The size and the texts of a diagnosis."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import NOW, at
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import (
    MAX_BYTES,
    MAX_INCIDENTS,
    Diagnosis,
    Incident,
    cut,
    fitted,
    last_lines,
    render,
)

texts = st.text(max_size=3000) | st.sampled_from(['"' * 3000, "é" * 3000, "\x1b[31m\r\n" * 500])
indexes = st.frozensets(st.integers(0, 4999), max_size=50)
incidents = st.builds(
    Incident,
    key=texts,
    cause=st.sampled_from(Cause),
    kind=st.just("worker"),
    index=st.integers(0, 4999),
    at=st.just(NOW),
    node=texts,
    exit_code=st.none() | st.integers(1, 255),
    reason=texts,
    detail=texts,
    consequences=st.dictionaries(st.sampled_from(["worker", "chief"]), indexes),
)
diagnoses = st.builds(
    Diagnosis,
    cause=st.sampled_from(Cause),
    message=texts,
    since=st.just(NOW),
    replica=texts,
    node=texts,
    reason=texts,
    exit_code=st.none() | st.integers(1, 255),
    last_lines=texts,
    incidents=st.lists(incidents, max_size=8).map(tuple),
    incident_count=st.integers(0, 100),
)


@given(diagnoses)
def test_whatever_users_write_it_fits_and_fitting_twice_changes_nothing(found: Diagnosis) -> None:
    once = fitted(found)
    encoded = msgspec.json.encode(render(once))
    assert len(encoded) <= MAX_BYTES
    assert fitted(once) == once
    assert not any(ord(each) < 0x20 and each not in "\n\t" for each in once.last_lines)
    assert "\n" not in once.message


def test_the_first_and_the_latest_incidents_are_kept() -> None:
    every = tuple(
        Incident(key=f"u{n}/0", cause=Cause.KILLED, kind="worker", index=n, at=at(n))
        for n in range(9)
    )
    found = fitted(Diagnosis(cause=Cause.KILLED, message="m", since=NOW, incidents=every))
    assert [each.index for each in found.incidents] == [0, 5, 6, 7, 8]
    assert len(found.incidents) == MAX_INCIDENTS


def test_text_is_cut_between_characters() -> None:
    assert cut("ééé", 5) == "é…"
    assert cut("a\nb\x07", 10) == "a b␇"
    assert len(last_lines("é" * 4000).encode()) <= 1024


def test_last_lines_start_with_a_whole_line() -> None:
    text = "\n".join(f"line {number}" for number in range(500))
    kept = last_lines(text)
    assert kept.startswith("line ")
    assert kept.endswith("line 499")


def test_the_sentence_names_replica_cause_detail_code_and_node() -> None:
    found = Incident(
        key="u/0",
        cause=Cause.OUT_OF_MEMORY,
        kind="worker",
        index=1,
        at=NOW,
        node="n3",
        exit_code=137,
        detail="limit 200Mi",
    )
    expected = "worker-1 was killed: out of memory (limit 200Mi), exit code 137, on node n3"
    assert found.sentence == expected
