"""Pods of jobs whose templates were changed while they ran."""

import pytest

from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer
from tests.support.tfjobs import Json, tfjob
from tfjob.cli.main import main

Capture = pytest.CaptureFixture[str]


def job_of(**container: object) -> Json:
    job = tfjob("W2", name="j")
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"] = [{"name": "tensorflow", "image": "x", **container}]
    return job


def change(server: ThreadedApiServer, **container: object) -> None:
    new = job_of(**container)["spec"]
    server.endpoint.request("PATCH", f"{JOBS}/j", {"spec": new})


def template_line(capsys: Capture, server: ThreadedApiServer, verb: str = "describe") -> str:
    assert main([verb, "j", *server.flags]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "the template of" in line]
    return lines[0].removeprefix("Template:").strip() if lines else ""


@pytest.mark.parametrize("verb", ["describe", "explain"])
def test_running_pods_of_an_older_image_are_named(
    server: ThreadedApiServer,
    capsys: Capture,
    verb: str,
) -> None:
    made = server.put_job(job_of(), ("Running", "it runs"))
    for index in range(2):
        server.put_pod(made, "worker", index=index)
    assert template_line(capsys, server, verb) == ""
    change(server, image="y")
    assert template_line(capsys, server, verb) == (
        "the template of Worker has changed (image of tensorflow); worker-0 and worker-1 keep the"
        " old one until replaced; `tfjob restart j` replaces all pods"
    )


@pytest.mark.parametrize(
    ("container", "part"),
    [
        ({"command": ["a"]}, "command of tensorflow"),
        ({"args": ["a"]}, "args of tensorflow"),
        ({"env": [{"name": "A", "value": "1"}]}, "env of tensorflow"),
        ({"resources": {"limits": {"cpu": "2"}}}, "resources.limits of tensorflow"),
        ({"name": "tensorflow", "env": [{"name": "TF_CONFIG", "value": "1"}]}, ""),
        ({"imagePullPolicy": "Always"}, ""),
    ],
)
def test_what_has_changed_is_named(
    server: ThreadedApiServer,
    capsys: Capture,
    container: Json,
    part: str,
) -> None:
    server.put_pod(server.put_job(job_of(), ("Running", "it runs")), "worker")
    change(server, **container)
    line = template_line(capsys, server)
    assert f"({part}); worker-0 keeps" in line if part else line == ""


@pytest.mark.parametrize("amount", ["2000m", "2", "2.0"])
def test_the_same_amount_in_other_words_is_no_change(
    server: ThreadedApiServer,
    capsys: Capture,
    amount: str,
) -> None:
    made = server.put_job(job_of(), ("Running", "it runs"))
    server.put_pod(made, "worker", container={"resources": {"limits": {"cpu": "2"}}})
    change(server, resources={"limits": {"cpu": amount}})
    assert template_line(capsys, server) == ""


def test_ended_pods_and_finished_jobs_are_left_out(
    server: ThreadedApiServer,
    capsys: Capture,
) -> None:
    made = server.put_job(job_of(), ("Running", "it runs"))
    server.put_pod(made, "worker", index=0, status={"phase": "Succeeded"})
    server.put_pod(made, "worker", index=7)
    change(server, image="y")
    assert template_line(capsys, server) == ""
