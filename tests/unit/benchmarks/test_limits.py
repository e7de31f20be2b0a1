"""Checking records against the limits."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.contestants import CONTESTANTS
from benchmarks.limits import Limit, Place, read, verdicts
from benchmarks.record import (
    Machine,
    Record,
    RecordError,
    Run,
    command,
    joined,
    load,
    save,
    summary,
)
from benchmarks.suite import FULL, sessions
from benchmarks.table import FIGURES, page

OURS = Place("many", "tfjob", "cpu")
PEER = Place("many", "go-tuned", "cpu")
SIZE = "1,000 jobs of 4 replicas"


def record_of(**figures: list[float]) -> Record:
    """Repetitions of one figure, by contestant."""
    runs = [
        Run(
            scenario="many",
            title=SIZE,
            contestant=name.replace("_", "-"),
            repetition=number,
            figures={"cpu": value},
        )
        for name, values in figures.items()
        for number, value in enumerate(values)
    ]
    return Record(command="make bench", machine=Machine(2, "Linux", "3.11"), runs=runs)


@pytest.mark.parametrize(("at_most", "holds"), [(0.5, True), (0.49, False)])
def test_limit_holds_up_to_its_ratio_and_no_further(at_most: float, holds: bool) -> None:
    record = record_of(tfjob=[1.0, 2.0, 9.0], go_tuned=[4.0])
    limit = Limit(name="CPU", of=OURS, to=PEER, at_most=at_most)
    (verdict,) = verdicts(record, [limit])
    assert verdict.value == 0.5
    assert (verdict.holds, verdict.is_failure) == (holds, not holds)
    assert ("BROKEN" in str(verdict)) is not holds
    assert "(1 to 9 over 4 once)" in str(verdict)


def test_limit_without_another_figure_is_absolute() -> None:
    (verdict,) = verdicts(record_of(tfjob=[1.5]), [Limit(name="CPU", of=OURS, at_most=2.0)])
    assert verdict.holds


@pytest.mark.parametrize("measured", [{}, {"tfjob": [1.0]}, {"go_tuned": [1.0]}])
def test_what_was_not_measured_is_no_success(measured: dict[str, list[float]]) -> None:
    limit = Limit(name="CPU", of=OURS, to=PEER, at_most=100.0)
    (verdict,) = verdicts(record_of(**measured), [limit])
    assert not verdict.holds
    assert verdict.is_failure
    assert "NOT MEASURED" in str(verdict)


def test_what_is_measured_on_demand_may_be_missing_and_must_hold() -> None:
    limit = Limit(name="CPU", of=OURS, at_most=2.0, is_on_demand=True)
    for figures, fails in ([], False), ([2.0], False), ([2.1], True):
        (verdict,) = verdicts(record_of(tfjob=figures), [limit])
        assert verdict.is_failure is fails, figures


def test_what_was_asked_for_without_its_measure_is_no_success() -> None:
    limit = Limit(name="CPU", of=OURS, to=PEER, at_most=2.0, is_on_demand=True)
    (verdict,) = verdicts(record_of(tfjob=[1.0]), [limit])
    assert verdict.is_failure
    assert "NOT MEASURED" in str(verdict)


def test_records_of_one_machine_and_size_can_be_joined() -> None:
    one, other = record_of(tfjob=[1.0]), record_of(go_tuned=[2.0])
    both = joined([one, other], planned={})
    assert both.runs == [*one.runs, *other.runs]
    with pytest.raises(RecordError, match="same run of many twice"):
        joined([one, both], planned={})
    other.runs = [msgspec.structs.replace(run, title="60 jobs") for run in other.runs]
    with pytest.raises(RecordError, match="60 jobs"):
        joined([one, other], planned={})
    with pytest.raises(RecordError, match="2 jobs"):
        joined([one], planned={"many": "2 jobs"})
    with pytest.raises(RecordError, match="machines"):
        joined([one, Record("make bench", Machine(64, "Linux", "3.14"), [])], planned={})


def test_where_files_are_is_not_recorded() -> None:
    options = ["--only", "few", "--add", "a.json", "--results=out", "--repeat", "1"]
    assert command(options) == "python -m benchmarks --only few --repeat 1"


def test_what_was_measured_in_another_size_is_not_judged() -> None:
    record = record_of(tfjob=[1.0])
    record.runs = [msgspec.structs.replace(run, title="40 jobs") for run in record.runs]
    (verdict,) = verdicts(record, [Limit(name="CPU", of=OURS, at_most=2.0)])
    assert str(verdict) == "NOT MEASURED  CPU: many/tfjob/cpu is missing"


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1", b"\xff"])
def test_file_that_holds_no_record_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordError, match=r"a\.json"):
        load(path)


def test_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    record = record_of(tfjob=[1.0, 2.0])
    save(record, tmp_path / "new" / "a.json")
    assert load(tmp_path / "new" / "a.json") == record


def test_a_limit_out_of_reach_is_reported_and_does_not_fail() -> None:
    limit = Limit(name="CPU", of=OURS, at_most=2.0, out_of_reach="nobody is that fast")
    (verdict,) = verdicts(record_of(tfjob=[2.1]), [limit])
    assert not verdict.is_failure
    assert "BROKEN" in str(verdict)
    assert "nobody is that fast" in str(verdict)
    (verdict,) = verdicts(record_of(tfjob=[2.0]), [limit])
    assert "BROKEN" not in str(verdict)


def test_every_limit_names_what_the_programme_measures() -> None:
    programme = sessions(FULL, large=True)
    ran = {
        (step.name, who)
        for session in programme
        for step in session.steps
        for who in session.contestants
    }
    places = [place for limit in read() for place in (limit.of, limit.to) if place is not None]
    assert places
    for place in places:
        assert (place.scenario, place.contestant) in ran, str(place)
        assert place.figure in FIGURES, str(place)


def test_spread_is_shown_beside_the_median() -> None:
    record = record_of(tfjob=[1.0, 2.0, 9.0], go_tuned=[4.0])
    found = summary(record.runs, "many", "tfjob", "cpu")
    assert found is not None
    assert (found.least, found.median, found.most, found.count) == (1.0, 2.0, 9.0, 3)
    assert "2.00 s (1.00 to 9.00)" in page(record)
    assert CONTESTANTS["tfjob"].title in page(record)
