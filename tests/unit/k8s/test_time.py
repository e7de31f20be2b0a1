"""Timestamps: parsing, rendering and saturating arithmetic."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.k8s import time

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ZONES = st.integers(min_value=-23 * 60 - 59, max_value=23 * 60 + 59).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)
MOMENTS = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - hypothesis takes naive bounds and adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001 - likewise
    timezones=ZONES,
)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", MOMENT),
        ("2026-01-02t03:04:05z", MOMENT),
        ("2026-01-02T03:04:05.5Z", MOMENT.replace(microsecond=500_000)),
        ("2026-01-02T03:04:05.123456789Z", MOMENT.replace(microsecond=123_456)),
        ("2026-01-02T05:34:05+02:30", MOMENT),
        ("2026-01-01T22:04:05.000001-05:00", MOMENT.replace(microsecond=1)),
        ("2026-01-02T03:04:05-00:00", MOMENT),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_every_rfc3339_spelling_is_read(text: str, moment: datetime) -> None:
    assert time.parse(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z",
        "2026-1-2T03:04:05Z",
        "2026-01-02T03:04:05Z\n",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:04:60Z",
        "2026-02-30T03:04:05Z",
        "2025-02-29T03:04:05Z",
        "2026-13-01T03:04:05Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "\N{ARABIC-INDIC DIGIT TWO}026-01-02T03:04:05Z",
        None,
        5,
        b"2026-01-02T03:04:05Z",
        MOMENT,
    ],
)
def test_what_is_not_an_rfc3339_time_is_none(text: object) -> None:
    assert time.parse(text) is None


@given(JSON)
def test_parse_never_raises_on_arbitrary_json(value: object) -> None:
    assert time.parse(value) is None or isinstance(value, str)


@given(st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:]{8}[+-][0-9:]{5}", fullmatch=True))
def test_parse_never_raises_on_what_looks_like_a_time(text: str) -> None:
    moment = time.parse(text)
    assert moment is None or moment.tzinfo is UTC


@given(MOMENTS)
def test_microtime_survives_the_round_trip(moment: datetime) -> None:
    assert time.parse(time.render_micro(moment)) == moment


@given(MOMENTS)
def test_time_survives_the_round_trip_up_to_whole_seconds(moment: datetime) -> None:
    assert time.parse(time.render(moment)) == time.truncate(moment)


def test_render_writes_utc_and_whole_seconds() -> None:
    moment = datetime(2026, 1, 2, 4, 4, 5, 999_999, tzinfo=timezone(timedelta(hours=1)))
    assert time.render(moment) == "2026-01-02T03:04:05Z"
    assert time.render_micro(moment) == "2026-01-02T03:04:05.999999Z"
    assert time.render_micro(MOMENT) == "2026-01-02T03:04:05.000000Z"


def test_early_years_keep_four_digits() -> None:
    assert time.render(datetime(7, 1, 1, tzinfo=UTC)) == "0007-01-01T00:00:00Z"


def test_truncate_keeps_the_zone_and_drops_the_fraction() -> None:
    assert time.truncate(MOMENT.replace(microsecond=7)) == MOMENT


def test_a_naive_moment_is_rejected_because_its_zone_would_be_a_guess() -> None:
    naive = MOMENT.replace(tzinfo=None)
    with pytest.raises(ValueError, match="naive 2026-01-02T03:04:05"):
        time.render(naive)


def test_a_moment_is_moved_both_ways() -> None:
    assert time.add(MOMENT, timedelta(seconds=3)) == MOMENT + timedelta(seconds=3)
    assert time.add(MOMENT, timedelta(seconds=-3)) == MOMENT - timedelta(seconds=3)


def test_a_sum_out_of_range_is_the_first_or_last_moment() -> None:
    earliest = datetime(1, 1, 1, tzinfo=UTC)
    latest = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert time.add(latest, timedelta(seconds=1)) == latest
    assert time.add(earliest, timedelta(seconds=-1)) == earliest


def test_a_duration_is_never_longer_than_a_century() -> None:
    assert time.duration(None) is None
    assert time.duration(90) == timedelta(seconds=90)
    assert time.duration(2**63 - 1) == timedelta(days=36500)
