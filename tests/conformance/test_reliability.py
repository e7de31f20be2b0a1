"""Problems that users of training operators reported, as promises."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import (
    JobFixture,
    condition_of,
    conditions_of,
    counts_of,
    restarts_of,
)

Json = dict[str, Any]


@pytest.mark.scenario("R1")
@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode"])
async def test_replica_that_has_succeeded_is_not_run_again(
    fixture: JobFixture, policy: str
) -> None:
    fixture.kubelet.script("j-worker-1", runs, exits(0))
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", restart=policy)
    await fixture.until("one is done", lambda job: counts_of(job) == {"active": 1, "succeeded": 1})
    done = fixture.kubelet.pods["j-worker-1"]
    await fixture.delete_pod("j-worker-1")
    await fixture.kubelet.gone(done)
    await fixture.settled()
    assert set(await fixture.pods()) == {"j-worker-0"}
    job = await fixture.job()
    assert job["status"]["replicaStatuses"]["Worker"]["completedIndexes"] == "1"
    assert counts_of(job)["active"] == 1


@pytest.mark.scenario("R2", 132)
async def test_job_whose_pods_ended_and_vanished_unseen_runs_only_what_is_not_done(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("j-worker-1", runs, exits(0))
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2", restart="OnFailure", successPolicy="AllWorkers")
    await fixture.until("one is done", lambda job: counts_of(job) == {"active": 1, "succeeded": 1})
    fixture.env.operator.kill()
    for name in ("j-worker-0", "j-worker-1"):
        path = f"/api/v1/namespaces/{fixture.namespace}/pods/{name}?gracePeriodSeconds=0"
        await fixture.call("DELETE", path)
    await fixture.kubelet.until("no pod is left", lambda pods: not pods)
    fixture.env.operator.start()
    await fixture.kubelet.appears("j-worker-0")
    await fixture.kubelet.idle()
    await fixture.kubelet.finish("j-worker-0", exit_code=0)
    await fixture.comes_to("Succeeded")
    assert set(await fixture.pods()) == {"j-worker-0"}


@pytest.mark.scenario("R6")
async def test_limit_counts_over_restarts_of_the_operator(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1", restart="ExitCode", run_policy={"backoffLimit": 2})
    for count in (1, 2):
        failed = await _failed(fixture)
        await _restarted(fixture, count)
        fixture.env.operator.restart()
        await fixture.kubelet.gone(failed)
    await _failed(fixture)
    job = await fixture.comes_to("Failed")
    assert restarts_of(job) == 2
    assert "backoff limit" in condition_of(job, "Failed")["message"]


async def _failed(fixture: JobFixture) -> Mapping[str, Any]:
    """The pod of the only worker, which ran and failed."""
    pod = await fixture.kubelet.appears("j-worker-0")
    await fixture.kubelet.idle()
    await fixture.kubelet.finish(pod, exit_code=137)
    return pod


async def _restarted(fixture: JobFixture, count: int) -> None:
    await fixture.until(f"restart {count}", lambda job: restarts_of(job) == count)


@pytest.mark.scenario("R7")
async def test_evaluator_deleted_by_a_user_is_recreated_and_failed_is_never_shown(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs)
    submitted = await fixture.submit("C1 E1", restart="ExitCode")
    await fixture.until("both run", lambda job: counts_of(job, "Evaluator") == {"active": 1})
    old = fixture.kubelet.pods["j-evaluator-0"]
    await fixture.delete_pod("j-evaluator-0")
    await fixture.kubelet.gone(old)
    await fixture.kubelet.appears("j-evaluator-0")
    await fixture.reaches("Created", "Running")
    history = [conditions_of(each) for each in await fixture.history(submitted)]
    assert not any("Failed" in each for each in history)


@pytest.mark.scenario("R10")
async def test_clean_up_of_what_runs_keeps_the_failed_pod(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-1", runs, exits(1))
    fixture.kubelet.script("*", runs)
    await fixture.submit("P1 W2", run_policy={"cleanPodPolicy": "Running"})
    await fixture.comes_to("Failed")
    await fixture.children("j-worker-1")


@pytest.mark.scenario("R11")
async def test_ttl_runs_on_while_the_operator_is_down(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.submit("W1", run_policy={"ttlSecondsAfterFinished": 2})
    await fixture.comes_to("Succeeded")
    fixture.env.operator.restart()
    await fixture.gone()


@pytest.mark.scenario("R13")
async def test_last_of_many_quick_suspensions_takes_effect(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2")
    for wish in [True, False] * 5:
        await fixture.patch({"runPolicy": {"suspend": wish}})
    await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})
    job = await fixture.comes_to("Running")
    assert "Failed" not in conditions_of(job)
    for wish in [True, False] * 5 + [True]:
        await fixture.patch({"runPolicy": {"suspend": wish}})
    job = await fixture.comes_to("Suspended")
    assert "Failed" not in conditions_of(job)
    await fixture.children()


@pytest.mark.scenario("R14")
async def test_pods_created_after_resuming_follow_the_template_of_then(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    job = await fixture.submit("W1")
    await fixture.reaches("Created", "Running")
    await fixture.patch({"runPolicy": {"suspend": True}})
    await fixture.comes_to("Suspended")
    await fixture.children()
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"][0]["image"] = "example.invalid/newer"
    changes = {
        "runPolicy": {"suspend": False},
        "tfReplicaSpecs": {"Worker": {"template": template}},
    }
    await fixture.patch(changes)
    pod = await fixture.kubelet.appears("j-worker-0")
    assert pod["spec"]["containers"][0]["image"] == "example.invalid/newer"


@pytest.mark.scenario("R41")
async def test_small_job_does_not_wait_behind_a_large_one(fixture: JobFixture) -> None:
    path = f"/api/v1/namespaces/{fixture.namespace}/pods"
    since = (await fixture.call("GET", path))["metadata"]["resourceVersion"]
    fixture.env.operator.kill()
    await fixture.submit("W150", name="large")
    await fixture.submit("W1", name="small")
    fixture.env.operator.start()
    await fixture.kubelet.until("all pods are there", lambda pods: len(pods) == 151)
    made = [each for each in await fixture.changes(path, since=since) if each["type"] == "ADDED"]
    order = [each["object"]["metadata"]["name"] for each in made]
    assert order.index("small-worker-0") < 75
