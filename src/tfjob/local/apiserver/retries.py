"""How long a controller waits before it makes a pod anew in place of one that failed.

Law: 10 s after the first failure in a row, twice as long after each further one, six minutes at
most. What failed, and when, is not known here.
"""

from datetime import timedelta

FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=6)


def delay(failures: int) -> timedelta:
    """The pause after so many failures in a row."""
    if failures <= 0:
        return timedelta()
    pause: timedelta = FIRST * 2 ** min(failures - 1, 30)
    return min(LONGEST, pause)
