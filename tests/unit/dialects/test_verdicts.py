"""The offline validation agrees with the CRD of TFJobs, row by row."""

import pytest

from tests.unit.dialects.verdicts import ACCEPTED, REFUSED, Json
from tfjob.dialects.registry import dialect_for
from tfjob.k8s.field import Fault


def faults_of(job: Json) -> list[Fault]:
    dialect = dialect_for(job["apiVersion"], job["kind"])
    assert dialect is not None
    return dialect.validate(job)


@pytest.mark.parametrize("why", ACCEPTED)
def test_good_job_has_no_fault(why: str) -> None:
    assert faults_of(ACCEPTED[why]) == []


@pytest.mark.parametrize("why", REFUSED)
def test_bad_job_has_a_fault(why: str) -> None:
    assert faults_of(REFUSED[why][0]) != []
