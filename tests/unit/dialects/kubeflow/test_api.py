"""The messages of TFJobs, byte for byte, as dashboards and scripts match them."""

import pytest

from tfjob.core.messages import MessageTemplate
from tfjob.dialects.kubeflow.api import DEPRECATION, MESSAGES

FACTS = {"namespace": "n", "name": "j", "type": "Worker", "count": 3, "detail": "why"}


@pytest.mark.parametrize(
    ("phrase", "reason", "message"),
    [
        (MESSAGES.created, "TFJobCreated", "TFJob j is created."),
        (MESSAGES.running, "TFJobRunning", "TFJob n/j is running."),
        (
            MESSAGES.restarting,
            "TFJobRestarting",
            "job j is restarting because Worker replica(s) failed.",
        ),
        (MESSAGES.succeeded, "TFJobSucceeded", "TFJob n/j successfully completed."),
        (
            MESSAGES.failed,
            "TFJobFailed",
            "TFJob n/j has failed because 3 Worker replica(s) failed.",
        ),
        (
            MESSAGES.failed_exit_code,
            "TFJobFailed",
            'job "j" is failing because "Worker" replica(s) failed.',
        ),
        (
            MESSAGES.failed_backoff,
            "TFJobFailed",
            "Job j has failed because it has reached the specified backoff limit",
        ),
        (
            MESSAGES.failed_deadline,
            "TFJobFailed",
            "Job j has failed because it was active longer than specified deadline",
        ),
        (
            MESSAGES.invalid,
            "InvalidTFJobSpec",
            "Failed to marshal the object to TFJob; the spec is invalid: why",
        ),
        (MESSAGES.suspended, "TFJobSuspended", "TFJob j is suspended."),
        (MESSAGES.resumed, "TFJobResumed", "TFJob j is resumed."),
        (MESSAGES.group_terminated, "JobTerminated", "Job has been terminated. Deleting PodGroup"),
    ],
)
def test_sentences_about_the_job(phrase: MessageTemplate, reason: str, message: str) -> None:
    assert (phrase.reason, phrase.render(**FACTS)) == (reason, message)


@pytest.mark.parametrize(
    ("kind", "noun", "phrase", "reason", "message"),
    [
        ("Pod", "pod", MESSAGES.child_created, "SuccessfulCreatePod", "Created pod: c"),
        ("Pod", "pod", MESSAGES.child_create_failed, "FailedCreatePod", "Error creating: e"),
        ("Pod", "pod", MESSAGES.child_deleted, "SuccessfulDeletePod", "Deleted pod: c"),
        ("Pod", "pod", MESSAGES.child_delete_failed, "FailedDeletePod", "Error deleting: e"),
        (
            "Service",
            "service",
            MESSAGES.child_created,
            "SuccessfulCreateService",
            "Created service: c",
        ),
        ("Job", "job", MESSAGES.child_deleted, "SuccessfulDeleteJob", "Deleted job: c"),
        (
            "PodGroup",
            "PodGroup",
            MESSAGES.child_deleted,
            "SuccessfulDeletePodGroup",
            "Deleted PodGroup: c",
        ),
    ],
)
def test_sentences_about_children(
    kind: str, noun: str, phrase: MessageTemplate, reason: str, message: str
) -> None:
    assert phrase.reason.format(kind=kind) == reason
    assert phrase.render(noun=noun, child="c", error="e") == message


def test_sentences_about_pods() -> None:
    facts = {"namespace": "n", "pod": "p", "container": "c", "code": 7, "msg": "m"}
    assert MESSAGES.exited.reason == "ExitedWithCode"
    assert MESSAGES.exited.render(**facts) == "Pod: n.p exited with code 7"
    assert MESSAGES.container_terminated.render(**facts) == (
        "Error pod p container c exitCode: 7 terminated message: m"
    )
    assert (
        MESSAGES.container_waiting.render(**facts) == "Error pod p container c waiting message: m"
    )
    assert MESSAGES.pod_condition.render(**facts) == "Error pod p condition message: m"


def test_events_come_from_the_controller_of_tfjobs() -> None:
    assert MESSAGES.component == "tfjob-controller"


def test_old_version_says_that_it_is_old() -> None:
    assert DEPRECATION == "kubeflow.org/v1beta1 TFJob is deprecated; use kubeflow.org/v1 TFJob"
