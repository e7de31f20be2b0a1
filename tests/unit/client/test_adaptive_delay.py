"""The delay grows for a slow server, but not for a distant one."""

import pytest

from tfjob.client.adaptive_delay import MAX_DELAY, MULTIPLIER, TOLERANCE, AdaptiveDelay


@pytest.mark.parametrize("distance", [0.001, 0.05, 2.0])
def test_server_that_answers_as_quickly_as_ever_is_not_left_alone(distance: float) -> None:
    delay = AdaptiveDelay()
    assert delay.after(distance) == 0.0
    assert delay.after(distance + TOLERANCE / 2) == 0.0


def test_the_later_an_answer_the_longer_the_rest_up_to_a_bound() -> None:
    delay = AdaptiveDelay()
    delay.after(0.01)
    late = 0.002
    assert delay.after(0.01 + TOLERANCE + late) == pytest.approx(late * MULTIPLIER, abs=0.005)
    assert delay.after(30.0) == MAX_DELAY


def test_a_first_answer_that_was_late_does_not_count_for_long() -> None:
    delay = AdaptiveDelay()
    assert delay.after(0.5) == 0.0
    assert delay.after(0.01) == 0.0
    assert delay.after(0.5) == MAX_DELAY


def test_server_that_has_moved_away_is_not_left_alone_for_ever() -> None:
    delay = AdaptiveDelay()
    delay.after(0.001)
    rests = [delay.after(0.1) for _ in range(500)]
    assert rests[0] == MAX_DELAY
    assert rests[-1] == 0.0
