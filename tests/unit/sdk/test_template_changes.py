"""Pods of jobs whose templates were changed while they ran."""

import pytest

from tests.support.dialect_jobs import entry, tf_job
from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer
from tests.support.tfjobs import Json, tfjob
from tfjob.cli.main import main
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.dialects.base import Settings
from tfjob.sdk.jobs import ClusterJob, stored_dialects
from tfjob.sdk.template_changes import changed_templates

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
        "worker-0 and worker-1 differ from the template of Worker (image of tensorflow): the"
        " template was changed, or the pods were altered when created; after a change,"
        " `tfjob restart j` applies it to all pods"
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
    assert f"worker-0 differs from the template of Worker ({part}):" in line if part else line == ""


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


def test_the_generated_command_of_a_default_server_is_no_part_of_a_template() -> None:
    before, now = default_servers(workers=1), default_servers(workers=2)
    assert isinstance(before.job, Job)
    (servers,) = [each for each in before.job.replicas if each.commands]
    pod = ManifestBuilder(before.job).pod(servers, 0)
    pod["metadata"] |= {"name": "p", "uid": "p"}
    pod["metadata"]["ownerReferences"] = [
        {"uid": "u", "controller": True, "kind": "Job", "name": servers.name(0)}
    ]
    assert changed_templates(now, [pod]) == []
    pod["spec"]["containers"][0]["image"] = "other"
    (told,) = changed_templates(now, [pod])
    assert told.startswith("ps-0 differs from the template of PS (image of tensorflow): ")


def default_servers(*, workers: int) -> ClusterJob:
    manifest = tf_job(entry(), entry("WORKER", workers), entry("PS"), RuntimeId="76no")
    manifest["metadata"] |= {"namespace": "default", "uid": "u", "generation": 2}
    (dialect,) = [each for each in stored_dialects() if each.kind == manifest["kind"]]
    job = dialect.decode(manifest, Settings())
    return ClusterJob(dialect=dialect, manifest=manifest, job=job)
