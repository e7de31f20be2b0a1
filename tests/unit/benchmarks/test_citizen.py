"""The table of the load on the API server."""

from benchmarks.citizen import LIMITS, TITLES, crashing, table
from benchmarks.contestants import GO_TUNED, TFJOB


def test_every_figure_is_a_row_with_its_limit() -> None:
    figures = dict.fromkeys(TITLES, 1.0)
    rows = table({TFJOB: figures, GO_TUNED: figures}).splitlines()[2:]
    assert len(rows) == len(TITLES)
    assert sum(row.endswith("|  |") for row in rows) == len(TITLES) - len(LIMITS)


def test_pods_of_a_crash_loop_fail_with_a_retryable_exit_code() -> None:
    template = crashing("j")["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    assert template["metadata"]["annotations"]["kwok.test/exit-code"] == "137"
    assert template["spec"]["containers"]
