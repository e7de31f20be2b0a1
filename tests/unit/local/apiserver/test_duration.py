"""Ages as kubectl prints them."""

import pytest

from tfjob.local.apiserver.duration import short


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (3600, "60m"),
        (3 * 3600 + 60, "3h1m"),
        (10 * 3600, "10h"),
        (3 * 86400, "3d"),
        (3 * 86400 + 3600, "3d1h"),
        (400 * 86400, "400d"),
        (800 * 86400, "2y70d"),
        (9 * 365 * 86400, "9y"),
        (-5, "<invalid>"),
    ],
)
def test_durations_read_as_in_kubectl(seconds: int, text: str) -> None:
    assert short(seconds) == text
