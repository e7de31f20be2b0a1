"""Settings in annotations of a job: read leniently, and never ignored in silence."""

from datetime import timedelta
from typing import Any

import pytest

from tfjob.core.job import Recovery
from tfjob.dialects import job_annotations
from tfjob.dialects.job_annotations import EVALUATOR_GRACE, INVALID, RECOVERY, JobAnnotations


def read(**annotations: Any) -> JobAnnotations:
    names = {"recovery": RECOVERY, "grace": EVALUATOR_GRACE}
    given = {names[key]: value for key, value in annotations.items()}
    return job_annotations.read({"metadata": {"annotations": given}}, recovery="Auto")


def test_without_annotations_the_settings_of_the_operator_apply() -> None:
    assert job_annotations.read({}, recovery="Replica") == JobAnnotations(Recovery.REPLICA)


@pytest.mark.parametrize("mode", list(Recovery))
@pytest.mark.parametrize("case", [str, str.lower, str.upper])
def test_a_mode_of_recovery_is_read_in_any_case(mode: Recovery, case: Any) -> None:
    assert read(recovery=case(str(mode))) == JobAnnotations(mode)


@pytest.mark.parametrize(
    ("value", "seconds"), [("0", 0), ("300", 300), ("86400", 86400), ("0" * 5000 + "5", 5)]
)
def test_a_grace_is_read(value: str, seconds: int) -> None:
    assert read(grace=value) == JobAnnotations(Recovery.AUTO, timedelta(seconds=seconds))


@pytest.mark.parametrize(
    "value", ["", "-1", "1.5", "5m", " 5", "٣", "-" + "9" * 5000, 5, None, ["5"]]
)
def test_another_grace_is_ignored_with_a_warning(value: object) -> None:
    found = read(grace=value)
    ((reason, message),) = found.warnings
    assert (found.evaluator_grace, reason) == (timedelta(), INVALID)
    assert message.startswith(f"metadata.annotations[{EVALUATOR_GRACE}]: ")
    assert message.endswith("use a whole number of seconds up to 86400; no grace applies")


@pytest.mark.parametrize("value", ["86401", "999999999", "9999999999", "9" * 10_000])
def test_a_grace_of_more_than_a_day_is_a_day_with_a_warning(value: str) -> None:
    found = read(grace=value)
    ((reason, message),) = found.warnings
    assert (found.evaluator_grace, reason) == (timedelta(days=1), INVALID)
    assert message.endswith("is not valid; use at most 86400, which is a day and applies")
    assert len(message) < 200


@pytest.mark.parametrize("value", ["", "group!", None, 7, "x" * 10_000])
def test_another_mode_is_ignored_with_a_warning(value: object) -> None:
    found = read(recovery=value)
    ((_, message),) = found.warnings
    assert found.recovery is Recovery.AUTO
    assert message.endswith("is not valid; use one of Auto, Group, Replica; Auto applies")
    assert len(message) < 200
