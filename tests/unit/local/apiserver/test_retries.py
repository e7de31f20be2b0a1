"""Pauses before a failed pod is made anew."""

from tfjob.local.apiserver.retries import delay


def test_the_pause_doubles_up_to_six_minutes() -> None:
    seconds = [delay(failures).total_seconds() for failures in (0, 1, 2, 3, 6, 7, 1000)]
    assert seconds == [0, 10, 20, 40, 320, 360, 360]
