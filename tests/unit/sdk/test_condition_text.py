from typing import Any

import pytest

from tests.support.tfjobs import tfjob
from tfjob.core.status import Condition
from tfjob.dialects.base import Settings
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.sdk.condition_text import condition_text, reason_of, state_of
from tfjob.sdk.jobs import ClusterJob


def found(**status: Any) -> ClusterJob:
    manifest, dialect = {**tfjob(), "status": status}, KubeflowV1()
    return ClusterJob(dialect=dialect, manifest=manifest, job=dialect.decode(manifest, Settings()))


def condition(kind: str, message: str) -> Condition:
    return Condition(
        type=kind, status="True", reason="", message=message, last_update=None, last_transition=None
    )


@pytest.mark.parametrize(
    ("kind", "message", "sentence"),
    [
        ("Running", "it runs", "it runs"),
        ("Created", "", "TFJob j is created"),
        ("Failed", "", "TFJob j has failed"),
        ("Failed", "spec {a} is wrong", "spec {a} is wrong"),
        ("Odd", "", "TFJob j Odd"),
    ],
)
def test_condition_is_a_sentence_whatever_is_stored(kind: str, message: str, sentence: str) -> None:
    assert condition_text(found(), condition(kind, message)) == sentence


def test_state_is_followed_by_the_phase_of_the_api() -> None:
    running = [{"type": "Running", "status": "True"}]
    assert state_of(found()) == ""
    assert state_of(found(conditions=running)) == "Running"
    assert state_of(found(conditions=running, phase="Running")) == "Running"
    assert state_of(found(conditions=running, phase="Creating")) == "Running (phase Creating)"
    assert state_of(found(phase="Pending")) == "Pending"


def test_reason_is_shown_if_the_api_has_one() -> None:
    assert reason_of(found()) == ""
    assert reason_of(found(reason="no quota")) == "no quota"
    assert reason_of(found(reason=5)) == ""
