"""kubectl, unmodified, on jobs of the operator."""

import asyncio
import json

from tests.support.environment_fixtures import only_kubernetes
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, counts_of
from tests.support.tfjobs import tfjob


async def kubectl(
    fixture: JobFixture, *words: str, stdin: str | None = None, fails: bool = False
) -> str:
    """kubectl in the test's namespace, while the fake kubelet goes on."""
    told = ("-n", fixture.namespace, *words)
    return await asyncio.to_thread(fixture.env.kubectl, *told, stdin=stdin, fails=fails)


async def test_jobs_are_listed_with_name_state_and_age(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await kubectl(fixture, "apply", "-f", "-", stdin=json.dumps(tfjob("W1", name="mnist")))
    await fixture.comes_to("Succeeded", name="mnist")
    lines = (await kubectl(fixture, "get", "tfjob")).splitlines()
    assert lines[0].split() == ["NAME", "STATE", "AGE"]
    assert lines[1].split()[:2] == ["mnist", "Succeeded"]
    assert lines[1].split()[2].endswith("s")


async def test_describe_shows_spec_conditions_and_events(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.submit("W1")
    await fixture.comes_to("Succeeded")
    await fixture.event("TFJobSucceeded")
    said = await kubectl(fixture, "describe", "tfjob", "j")
    assert f"TFJob {fixture.namespace}/j successfully completed." in said
    events = said[said.index("Events:") :]
    for words in ("SuccessfulCreatePod", "Created pod: j-worker-0", "tfjob-controller"):
        assert words in events


async def test_wait_returns_when_the_job_has_succeeded(fixture: JobFixture) -> None:
    await fixture.submit("W1")
    waiting = asyncio.create_task(
        kubectl(fixture, "wait", "--for=condition=Succeeded", "--timeout=120s", "tfjob/j")
    )
    await fixture.kubelet.appears("j-worker-0")
    fixture.kubelet.script("*", runs, exits(0))
    assert (await waiting).strip() == "tfjob.kubeflow.org/j condition met"


async def test_applying_a_changed_file_changes_the_job(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    one, two = (json.dumps(tfjob(f"W{count}", restart="OnFailure")) for count in (1, 2))
    await kubectl(fixture, "apply", "-f", "-", stdin=one)
    await fixture.until("one runs", lambda job: counts_of(job) == {"active": 1})
    await kubectl(fixture, "apply", "-f", "-", stdin=two)
    await fixture.until("two run", lambda job: counts_of(job) == {"active": 2})


async def test_delete_takes_the_job_and_its_pods(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2")
    await fixture.reaches("Created", "Running")
    said = await kubectl(fixture, "delete", "tfjob", "j", "--cascade=foreground")
    assert '"j" deleted' in said
    await fixture.gone()
    await fixture.children()


async def test_pods_of_a_job_are_found_by_its_label(fixture: JobFixture) -> None:
    await fixture.submit("C1 W1")
    await fixture.children("j-chief-0", "j-worker-0")
    selector = "training.kubeflow.org/job-name=j,training.kubeflow.org/job-role=master"
    assert (await kubectl(fixture, "get", "pods", "-l", selector, "-o", "name")).split() == [
        "pod/j-chief-0"
    ]


@only_kubernetes
async def test_logs_are_asked_for_under_the_name_of_the_replica(fixture: JobFixture) -> None:
    """No kubelet answers here: it is enough that the API server knows whom to ask."""
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1")
    await fixture.reaches("Created", "Running")
    said = await kubectl(fixture, "logs", "j-worker-0", fails=True)
    assert "no preferred addresses found" in said


async def test_explain_tells_what_a_field_means(fixture: JobFixture) -> None:
    said = await kubectl(fixture, "explain", "tfjob.spec.runPolicy.cleanPodPolicy")
    assert "Which pods are deleted when the job finishes" in said


async def test_kind_that_no_definition_has_is_called_unknown(fixture: JobFixture) -> None:
    job = json.dumps({**tfjob("W1"), "kind": "TfJob"})
    said = await kubectl(fixture, "create", "-f", "-", stdin=job, fails=True)
    assert 'no matches for kind "TfJob" in version "kubeflow.org/v1"' in said
