"""What a user types and reads: kubectl, unchanged, on jobs of the operator."""

import asyncio
import json

from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, counts_of
from tests.support.tfjobs import tfjob
from tests.support.world_fixtures import only_kubernetes


async def kubectl(scene: Scene, *words: str, stdin: str | None = None, fails: bool = False) -> str:
    """kubectl in the scene's namespace, while the puppet goes on."""
    told = ("-n", scene.namespace, *words)
    return await asyncio.to_thread(scene.world.kubectl, *told, stdin=stdin, fails=fails)


async def test_jobs_are_listed_with_name_state_and_age(scene: Scene) -> None:
    scene.puppet.play("*", runs, exits(0))
    await kubectl(scene, "apply", "-f", "-", stdin=json.dumps(tfjob("W1", name="mnist")))
    await scene.comes_to("Succeeded", name="mnist")
    lines = (await kubectl(scene, "get", "tfjob")).splitlines()
    assert lines[0].split() == ["NAME", "STATE", "AGE"]
    assert lines[1].split()[:2] == ["mnist", "Succeeded"]
    assert lines[1].split()[2].endswith("s")


async def test_describe_shows_spec_conditions_and_events(scene: Scene) -> None:
    scene.puppet.play("*", runs, exits(0))
    await scene.submit("W1")
    await scene.comes_to("Succeeded")
    await scene.event("TFJobSucceeded")
    said = await kubectl(scene, "describe", "tfjob", "j")
    assert f"TFJob {scene.namespace}/j successfully completed." in said
    events = said[said.index("Events:") :]
    for words in ("SuccessfulCreatePod", "Created pod: j-worker-0", "tfjob-controller"):
        assert words in events


async def test_wait_returns_when_the_job_has_succeeded(scene: Scene) -> None:
    await scene.submit("W1")
    waiting = asyncio.create_task(
        kubectl(scene, "wait", "--for=condition=Succeeded", "--timeout=30s", "tfjob/j")
    )
    await scene.puppet.appears("j-worker-0")
    scene.puppet.play("*", runs, exits(0))
    assert (await waiting).strip() == "tfjob.kubeflow.org/j condition met"


async def test_applying_a_changed_file_changes_the_job(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    one, two = (json.dumps(tfjob(f"W{count}", restart="OnFailure")) for count in (1, 2))
    await kubectl(scene, "apply", "-f", "-", stdin=one)
    await scene.until("one runs", lambda job: counts_of(job) == {"active": 1})
    await kubectl(scene, "apply", "-f", "-", stdin=two)
    await scene.until("two run", lambda job: counts_of(job) == {"active": 2})


async def test_delete_takes_the_job_and_its_pods(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W2")
    await scene.reaches("Created", "Running")
    said = await kubectl(scene, "delete", "tfjob", "j", "--cascade=foreground")
    assert '"j" deleted' in said
    await scene.gone()
    await scene.children()


async def test_pods_of_a_job_are_found_by_its_label(scene: Scene) -> None:
    await scene.submit("C1 W1")
    await scene.children("j-chief-0", "j-worker-0")
    selector = "training.kubeflow.org/job-name=j,training.kubeflow.org/job-role=master"
    assert (await kubectl(scene, "get", "pods", "-l", selector, "-o", "name")).split() == [
        "pod/j-chief-0"
    ]


@only_kubernetes
async def test_logs_are_asked_for_under_the_name_of_the_replica(scene: Scene) -> None:
    """No kubelet answers here: it is enough that the API server knows whom to ask."""
    scene.puppet.play("*", runs)
    await scene.submit("W1")
    await scene.reaches("Created", "Running")
    said = await kubectl(scene, "logs", "j-worker-0", fails=True)
    assert "no preferred addresses found" in said


async def test_explain_tells_what_a_field_means(scene: Scene) -> None:
    said = await kubectl(scene, "explain", "tfjob.spec.runPolicy.cleanPodPolicy")
    assert "Which pods are deleted when the job ends" in said


async def test_kind_that_no_definition_has_is_called_unknown(scene: Scene) -> None:
    job = json.dumps({**tfjob("W1"), "kind": "TfJob"})
    said = await kubectl(scene, "create", "-f", "-", stdin=job, fails=True)
    assert 'no matches for kind "TfJob" in version "kubeflow.org/v1"' in said
