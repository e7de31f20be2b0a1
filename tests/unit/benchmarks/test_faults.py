"""The table of faults."""

from benchmarks.contestants import GO_TUNED, TFJOB
from benchmarks.fault_scenarios import SCENARIOS
from benchmarks.faults import AS_DEMANDED, page


def test_table_has_each_fault_once_and_counts_what_was_as_demanded() -> None:
    good = {each.title: AS_DEMANDED for each in SCENARIOS}
    bad = {**good, SCENARIOS[0].title: "no: it runs again"}
    text = page({TFJOB: good, GO_TUNED: bad}, SCENARIOS)
    for each in SCENARIOS:
        assert text.count(f"| {each.title} |") == 1
    assert f"| {len(SCENARIOS)} of {len(SCENARIOS)} | {len(SCENARIOS) - 1} of" in text


def test_faults_have_different_titles() -> None:
    assert len({each.title for each in SCENARIOS}) == len(SCENARIOS) >= 20
