"""Parameters of message templates, and the events that a job carries itself."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    a_batch_job,
    a_job,
    a_pod,
    a_service,
    decide,
    events_of,
    pods,
    status_after,
    stored,
)
from tfjob.core.exit_codes import ExitCodes
from tfjob.core.job import Job, SuccessCriterion, Workload
from tfjob.core.messages import MessageTemplate

ENDED = "{name}: {type} {child} ended with {code}"


def worded(job: Job, **phrases: MessageTemplate) -> Job:
    return msgspec.structs.replace(job, messages=msgspec.structs.replace(job.messages, **phrases))


def message_of(job: Job, kind: str, *found: Any, **children: Any) -> str:
    condition = status_after(job, decide(job, *found, **children)).condition(kind)
    assert condition is not None
    return condition.message


@pytest.mark.parametrize(("letter", "code"), [("F", "1"), ("K", "137")])
def test_a_failure_names_the_first_pod_that_failed_and_its_code(letter: str, code: str) -> None:
    job = worded(a_job("W2", restart="Never"), failed=MessageTemplate("Failed", ENDED))
    message = message_of(job, "Failed", *pods(worker=f"R{letter}"))
    assert message == f"j: Worker j-worker-1 ended with {code}"


def test_a_failure_without_a_code_says_so() -> None:
    job = worded(a_job(restart="Never"), failed=MessageTemplate("Failed", ENDED))
    evicted = a_pod(phase="Failed")
    assert message_of(job, "Failed", evicted) == "j: Worker j-worker-0 ended with unknown"


def test_a_permanent_code_is_named_too() -> None:
    phrase = MessageTemplate("Failed", ENDED)
    job = worded(a_job("W2", restart="ExitCode"), failed=phrase, failed_exit_code=phrase)
    plan = decide(job, *pods(worker="RF"))
    assert ("Normal", "Failed", "j: Worker j-worker-1 ended with 1") in events_of(plan)


def test_a_success_names_the_replica_that_decided() -> None:
    job = worded(a_job("C1"), succeeded=MessageTemplate("Done", ENDED))
    assert message_of(job, "Succeeded", *pods(chief="S")) == "j: Chief j-chief-0 ended with 0"


def test_a_restart_tells_how_often_there_was_one_and_how_often_there_may_be() -> None:
    phrase = MessageTemplate("Restart", "{child} {code} {restarts}/{limit}", type="Normal")
    for limit in (None, 3):
        policy = {} if limit is None else {"backoffLimit": limit}
        job = worded(a_job("W2", restart="ExitCode", run_policy=policy), restarting=phrase)
        plan = decide(job, *pods(worker="KR"))
        text = f"j-worker-0 137 1/{limit or 'unlimited'}"
        assert ("Normal", "Restart", text) in events_of(plan)
        assert message_of(job, "Restarting", *pods(worker="KR")) == text


def test_a_result_can_be_recorded_as_a_warning() -> None:
    job = worded(a_job(restart="Never"), failed=MessageTemplate("Failed", "no", type="Warning"))
    assert ("Warning", "Failed", "no") in events_of(decide(job, *pods(worker="F")))


def test_the_pod_that_decides_for_a_batch_job_is_the_one_that_is_named() -> None:
    job = worded(a_job("C1", restart="OnFailure"), failed=MessageTemplate("Failed", ENDED))
    semantics = msgspec.structs.replace(
        job.semantics,
        success_criterion=SuccessCriterion(types=("Chief",), index=0),
        exit_codes=ExitCodes(at_least=128),
    )
    job = msgspec.structs.replace(job, semantics=semantics, workload=Workload.JOB)
    ended = a_pod("chief", 0, "Failed", exit_code=2, name="first", created=-60)
    newer = a_pod("chief", 0, "Running", name="second", created=-10)
    children = {"jobs": [a_batch_job("chief")], "services": [a_service("chief")]}
    message = message_of(job, "Failed", ended, newer, **children)
    assert message == "j: Chief first ended with 2"


def test_the_jobs_own_warnings_are_recorded_under_one_key_until_it_ends() -> None:
    job = msgspec.structs.replace(a_job(), warnings=[("Odd", "this is odd")])
    first, second = decide(job), decide(stored(job, decide(job)), *pods(worker="R"))
    assert ("Warning", "Odd", "this is odd") in events_of(first)
    keys = [{each.key for each in plan.events if each.reason == "Odd"} for plan in (first, second)]
    assert keys[0] == keys[1]
    ended = stored(job, decide(job, *pods(worker="S")))
    assert "Odd" not in {reason for _, reason, _ in events_of(decide(ended, *pods(worker="S")))}


def test_the_jobs_own_notices_are_recorded_as_normal_events() -> None:
    job = msgspec.structs.replace(a_job(), notices=[("Hello", "it is here")])
    assert ("Normal", "Hello", "it is here") in events_of(decide(job))


def test_a_verdict_of_a_type_of_its_own_is_the_only_one() -> None:
    phrase = MessageTemplate("Failed", "no", type="Warning")
    job = worded(a_job(restart="ExitCode"), failed=phrase, failed_exit_code=phrase)
    told = [each for each in events_of(decide(job, *pods(worker="F"))) if each[1] == "Failed"]
    assert told == [("Warning", "Failed", "no")]
