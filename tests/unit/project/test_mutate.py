"""The report on mutants counts those that tests noticed and names the others."""

from tools.mutate import report

RESULTS = [
    "    tfjob.core.a.x_f__mutmut_1: killed",
    "    tfjob.core.a.x_f__mutmut_2: survived",
    "    tfjob.core.a.x_f__mutmut_3: timeout",
    "    tfjob.core.b.x_g__mutmut_1: no tests",
    "    tfjob.core.b.x_g__mutmut_2: segfault",
    "    tfjob.core.b.x_g__mutmut_3: skipped",
    "",
]


def test_breaks_that_nobody_noticed_are_named_and_the_others_counted() -> None:
    assert report(RESULTS).splitlines() == [
        "tfjob.core.a.x_f__mutmut_2: survived",
        "tfjob.core.b.x_g__mutmut_1: no tests",
        "mutate: 3 of 5 mutants detected (60.0%)",
    ]


def test_only_what_was_asked_for_counts() -> None:
    lines = report(RESULTS, patterns=["tfjob.core.a.*"]).splitlines()
    assert lines[-1] == "mutate: 2 of 3 mutants detected (66.7%)"


def test_nothing_to_break_is_no_error() -> None:
    assert report([]) == "mutate: 0 of 0 mutants detected"
