"""Single lines of the published documents, shown by jobs on an API server.

A test is named after the document and the line.
"""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from tests.support import seeds
from tests.support.dialect_jobs import Jobs, id_of
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture
from tests.support.patience import PATIENCE

Json = dict[str, Any]
FIELDS = {"type", "status", "reason", "message", "lastUpdateTime", "lastTransitionTime"}


@pytest.fixture
async def mnist(fixture: JobFixture) -> Json:
    """The job that document 000 prints, once its worker runs."""
    fixture.kubelet.script("*", runs)
    await fixture.create(seeds.submitted("000-mnist"))
    return await fixture.reaches("Created", "Running", name="mnist")


async def test_seed_000_line_336_to_364_status_has_the_printed_fields(
    fixture: JobFixture, mnist: Json
) -> None:
    printed = seeds.published("000-mnist")["status"]
    status = mnist["status"]
    assert all(set(each) == FIELDS for each in status["conditions"])
    assert all(set(each) == FIELDS for each in printed["conditions"])
    told = [(each["type"], each["reason"], each["status"]) for each in status["conditions"]]
    assert told == [
        (each["type"], each["reason"], each["status"]) for each in printed["conditions"]
    ]
    assert status["conditions"][0]["message"] == printed["conditions"][0]["message"]
    assert status["replicaStatuses"]["Worker"]["active"] == 1
    assert printed.keys() - status.keys() == {"completionTime"}
    (pod,) = (await fixture.pods()).values()
    await fixture.kubelet.finish(pod, exit_code=0)
    ended = await fixture.comes_to("Succeeded", name="mnist")
    assert printed.keys() <= ended["status"].keys()
    assert ended["status"]["startTime"] == status["startTime"] <= ended["status"]["completionTime"]


async def test_seed_000_line_311_to_334_spec_is_stored_as_printed(mnist: Json) -> None:
    assert mnist["spec"] == seeds.published("000-mnist")["spec"]


@pytest.mark.usefixtures("mnist")
async def test_seed_000_line_470_and_471_events_name_the_pod_and_the_service(
    fixture: JobFixture,
) -> None:
    await fixture.event("SuccessfulCreatePod", "Created pod: mnist-worker-0", name="mnist")
    await fixture.event("SuccessfulCreateService", "Created service: mnist-worker-0", name="mnist")


async def test_seed_001_line_375_file_with_a_cluster_name_is_for_tfjob_alone(
    fixture: JobFixture,
) -> None:
    """The document prints a stored job. Created again, it is another one, with its own id."""
    document = (seeds.FOLDER / "001-example-job-as-stored.yaml").read_text()
    assert "RuntimeId: 76no" in document
    text = document.replace("namespace: default", f"namespace: {fixture.namespace}")
    kubectl, kubeconfig = fixture.env.kubectl, fixture.env.server.kubeconfig
    refused = await asyncio.to_thread(kubectl, "create", "-f", "-", stdin=text, fails=True)
    assert "metadata.clusterName" in refused
    command = (sys.executable, "-m", "tfjob.cli.main", "submit", "-", f"--kubeconfig={kubeconfig}")
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    jobs = Jobs(fixture, "tensorflow.org/v1alpha1")
    made = await jobs.until("has an id", id_of, name="example-job")
    assert id_of(made) != "76no"
    await jobs.has(
        "jobs", {f"{kind}-{id_of(made)}-0" for kind in ("master", "worker", "ps")}, exactly=False
    )
    await jobs.clear()


async def test_seed_004_line_41_pods_have_image_and_command_of_the_template(
    fixture: JobFixture,
) -> None:
    document = seeds.submitted("004-tensorflow-example")
    (template,) = document["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    fixture.kubelet.script("*", runs)
    jobs = Jobs(fixture, document["apiVersion"])
    await jobs.create(document)
    await jobs.comes_to("Running", name=document["metadata"]["name"])
    pods = (await jobs.objects("pods")).values()
    assert {pod["spec"].get("schedulerName") for pod in pods} <= {None, "default-scheduler"}
    containers = [pod["spec"]["containers"][0] for pod in pods]
    assert [each["image"] for each in containers] == [template["image"]] * 4
    assert [each["command"] for each in containers] == [template["command"]] * 4
    await jobs.clear()
