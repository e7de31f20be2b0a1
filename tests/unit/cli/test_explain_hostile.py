"""Text of users in a diagnosis is never printed as control characters, markup or formats."""

import json
from typing import Any

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main

EVENTS = "/api/v1/namespaces/default/events"
SIGNS = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202e\r\x00\x7f"
FORMATS = "{0} {x.__class__} %s %n %(x)s ${HOME} `id`"
MARKUP = "[red]x[/red] [/nothing] <b>y</b> [link=http://x]z[/link]"
EVIL = f"{SIGNS}\nFORGED: {FORMATS} {MARKUP}"
HUGE = "A" * 20_000
COMMANDS = (
    ["explain"],
    ["explain", "-o", "json"],
    ["describe"],
    ["wait", "--for", "finished"],
    ["get"],
    ["get", "-o", "wide"],
    ["events"],
)


def stored(text: str) -> dict[str, Any]:
    """A diagnosis as a hostile writer of the status could store it."""
    moment = "2026-01-01T12:04:00Z"
    incident = {
        "key": text,
        "cause": "PythonError",
        "replica": "worker-0",
        "reason": text,
        "detail": text,
        "node": text,
        "time": moment,
    }
    return {
        "cause": "PythonError",
        "message": text,
        "remedy": text,
        "replica": text,
        "node": text,
        "reason": text,
        "since": moment,
        "lastLines": text,
        "incidents": [incident],
    }


def pod_status(text: str) -> dict[str, Any]:
    """What a program and its kubelet can report."""
    ended = {
        "exitCode": 1,
        "reason": text,
        "message": f"Traceback (most recent call last):\nValueError: {text}",
        "finishedAt": "2026-01-01T12:04:00Z",
    }
    container = {"name": "tensorflow", "restartCount": 0, "state": {"terminated": ended}}
    condition = {"type": "DisruptionTarget", "status": "False", "reason": text, "message": text}
    return {
        "phase": "Failed",
        "reason": text,
        "message": text,
        "conditions": [condition],
        "containerStatuses": [container],
    }


def a_job(cluster: ThreadedApiServer, name: str, text: str, *, is_stored: bool) -> None:
    job = cluster.put_job(tfjob("W1", name=name), ("Created", text), ("Failed", text))
    if is_stored:
        path = f"/apis/kubeflow.org/v1/namespaces/default/tfjobs/{name}/status"
        cluster.endpoint.request("PATCH", path, {"status": {"diagnosis": stored(text)}})
    cluster.put_pod(job, "worker", status=pod_status(text))
    about = {"kind": "TFJob", "name": name, "uid": job["metadata"]["uid"], "namespace": "default"}
    event = {"metadata": {"name": f"{name}.1"}, "involvedObject": about, "type": "Warning"}
    event |= {"reason": "Odd", "message": text[:1000], "lastTimestamp": "2100-01-01T00:00:00Z"}
    cluster.endpoint.request("POST", EVENTS, event)


@pytest.mark.parametrize("is_stored", [True, False])
def test_text_of_users_cannot_control_the_terminal_in_any_command(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], *, is_stored: bool
) -> None:
    name = f"evil-{is_stored}".lower()
    a_job(cluster, name, EVIL, is_stored=is_stored)
    for command, *flags in COMMANDS:
        main([command, name, *flags, *cluster.flags])
        shown = "".join(capsys.readouterr())
        control = {sign for sign in shown if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0}
        assert control <= {"\n"}, command
        assert "\u202e" not in shown, command
        forged = [line for line in shown.splitlines() if line.startswith("FORGED")]
        assert forged == [], command


@pytest.mark.parametrize("is_stored", [True, False])
def test_markup_and_format_strings_are_shown_as_they_are(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], *, is_stored: bool
) -> None:
    name = f"format-{is_stored}".lower()
    a_job(cluster, name, f"{FORMATS} {MARKUP}", is_stored=is_stored)
    for command in ("explain", "describe", "wait"):
        main([command, name, *cluster.flags])
        shown = capsys.readouterr().out
        assert FORMATS in shown, command
        assert MARKUP in shown, command


@pytest.mark.parametrize("is_stored", [True, False])
def test_huge_text_is_cut(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], *, is_stored: bool
) -> None:
    name = f"huge-{is_stored}".lower()
    a_job(cluster, name, HUGE, is_stored=is_stored)
    main(["explain", name, "-o", "json", *cluster.flags])
    shown = json.loads(capsys.readouterr().out)
    del shown["sentence"]
    assert len(json.dumps(shown)) < 5000
