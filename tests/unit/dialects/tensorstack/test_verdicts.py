"""The CRD and the offline validation agree on new and on edited jobs, row by row."""

import copy

import pytest

from tests.unit.dialects.tensorstack.jobs import DIALECT, Json
from tests.unit.dialects.tensorstack.verdicts import ACCEPTED, EDITS, REFUSED, edited
from tfjob.local.apiserver.crd import Structural

(VERSION,) = DIALECT.crd()["spec"]["versions"]
SCHEMA = Structural(VERSION["schema"]["openAPIV3Schema"], "schema")


def said(job: Json, old: Json | None = None) -> str:
    """What an API server would say against a job; nothing where it takes it."""
    sent = copy.deepcopy(job)
    dropped = SCHEMA.prune(sent)
    assert dropped == []
    SCHEMA.default(sent)
    return "\n".join(fault.text for fault in SCHEMA.faults(sent, old))


@pytest.mark.parametrize("why", ACCEPTED)
def test_good_job_is_taken(why: str) -> None:
    assert DIALECT.validate(ACCEPTED[why]) == []
    assert said(ACCEPTED[why]) == ""


@pytest.mark.scenario("B-25", "B-26", "B-27", "B-34")
@pytest.mark.parametrize("why", REFUSED)
def test_bad_job_is_rejected_with_a_reason_and_a_remedy(why: str) -> None:
    job, texts = REFUSED[why]
    answer = said(job)
    assert [text for text in texts if text not in answer] == [], answer
    faults = DIALECT.validate(job)
    assert faults != []
    assert [fault.text for fault in faults if not fault.remedy] == []


@pytest.mark.scenario("B-35")
@pytest.mark.parametrize("why", EDITS)
def test_only_pause_and_the_sleep_of_tensorboard_can_be_edited(why: str) -> None:
    before, after = edited(EDITS[why])
    answer = said(after, before)
    assert (EDITS[why].says in answer) if EDITS[why].says else (answer == "")


def test_every_fault_of_a_job_is_reported_immediately() -> None:
    job, _ = REFUSED["several faults"]
    paths = [fault.path for fault in DIALECT.validate(job)]
    assert paths == ["spec.replicaSpecs[0].replicas", "spec.replicaSpecs[1].restartPolicy"]
