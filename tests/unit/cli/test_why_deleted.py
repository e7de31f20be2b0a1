"""The rule that deleted a pod is read from the events of its job."""

from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main
from tfjob.cli.why_deleted import MEANINGS
from tfjob.core.plan import Rule

EVENTS = "/api/v1/namespaces/default/events"
PAGE = Path(__file__).parents[3] / "docs/guide/why-was-my-pod-deleted.md"


def record(cluster: ThreadedApiServer, uid: str, *, child: str, rule: str) -> None:
    event = {
        "metadata": {
            "name": f"j.{child}",
            "annotations": {"tfjob.dev/child": child, "tfjob.dev/rule": rule},
        },
        "involvedObject": {"kind": "TFJob", "name": "j", "namespace": "default", "uid": uid},
        "reason": "SuccessfulDeletePod",
        "message": f"Deleted pod: {child}",
        "type": "Normal",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    cluster.endpoint.request("POST", EVENTS, event)


def test_the_rule_that_deleted_a_pod_is_printed(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    uid = cluster.put_job(tfjob("W11", name="j"))["metadata"]["uid"]
    record(cluster, uid, child="j-worker-1", rule="ScaleDown")
    record(cluster, uid, child="j-worker-10", rule="Suspended")
    record(cluster, uid, child="j-worker-2", rule="OfTomorrow")
    assert main(["describe", "j", "--why", "j-worker-1", *cluster.flags]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert f"ScaleDown: {MEANINGS[Rule.SCALE_DOWN]} (SuccessfulDeletePod: " in line
    assert main(["describe", "j", "--why", "j-worker-2", *cluster.flags]) == 0
    assert "OfTomorrow: a rule of another version" in capsys.readouterr().out
    assert main(["describe", "j", "--why", "j-worker-3", *cluster.flags]) == 1
    assert "no event of job j names a deleted or replaced pod j-worker-3" in capsys.readouterr().err


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_is_explained_in_the_command_and_in_the_guide(rule: Rule) -> None:
    assert MEANINGS[rule]
    assert f"| `{rule}` |" in PAGE.read_text("utf-8")
