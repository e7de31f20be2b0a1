"""The timestamps of the watch probe."""

import pytest

from benchmarks.watch_probe import Timestamps, percentile


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def test_first_condition_counts_from_when_the_job_was_seen() -> None:
    clock = Clock()
    timestamps = Timestamps(clock)
    timestamps.job("slow", set())
    clock.time = 3.0
    timestamps.job("slow", {"Created"})
    timestamps.job("quick", {"Created"})
    clock.time = 9.0
    timestamps.job("slow", {"Created", "Running"})
    timestamps.job("never", set())
    assert timestamps.first_conditions() == [3.0, 0.0]


def test_running_counts_from_the_start_of_the_last_pod() -> None:
    clock = Clock()
    timestamps = Timestamps(clock)
    for clock.time, pod in ((1.0, "a"), (2.0, "b"), (4.0, "a")):
        timestamps.pod(pod, "job", "Running")
    timestamps.pod("c", "job", "Pending")
    assert timestamps.delays_of_running() == []
    clock.time = 5.5
    timestamps.job("job", {"Running"})
    assert timestamps.delays_of_running() == [3.5]


def test_job_that_said_so_before_its_last_pod_ran_was_not_late() -> None:
    clock = Clock()
    timestamps = Timestamps(clock)
    timestamps.pod("a", "job", "Running")
    timestamps.job("job", {"Running"})
    clock.time = 5.0
    timestamps.pod("b", "job", "Running")
    assert timestamps.delays_of_running() == [0.0]


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100)])
def test_percentile_is_the_least_value_that_the_share_does_not_exceed(
    share: float, value: float
) -> None:
    assert percentile([float(each) for each in range(100, 0, -1)], share) == value
    assert percentile([7.0], share) == 7.0
