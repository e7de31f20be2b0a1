"""The result finalizer: who gets it, and when it is removed."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, Passes, a_job, a_pod, manifest, rejected
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.invalid_job import reject
from tfjob.core.job import FINALIZER
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.core.result_finalizer import with_finalizer_removals
from tfjob.dialects.base import Settings
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.k8s.pod import Pod

ON = Settings(has_result_finalizers=True)


def held(role: str = "worker", index: int = 0, phase: str = "Running", **fields: Any) -> Pod:
    """A pod with the finalizer, and with one of somebody else."""
    pod = a_pod(role, index, phase, **fields)
    meta = msgspec.structs.replace(pod.metadata, finalizers=["x/y", FINALIZER])
    return msgspec.structs.replace(pod, metadata=meta)


def done_before_deletion(**fields: Any) -> Pod:
    """A pod that succeeded before its deletion was requested; only finalizers keep it."""
    pod = held(phase="Succeeded", exit_code=0, deleted=1, grace=0, **fields)
    meta = msgspec.structs.replace(pod.metadata, generation=2)
    status = msgspec.structs.replace(pod.status, observed_generation=1)
    return msgspec.structs.replace(pod, metadata=meta, status=status)


def released(plan: Plan) -> list[str]:
    return [each.name for each in plan.finalizer_removals]


@pytest.mark.parametrize(
    ("roles", "spec", "expected"),
    [
        ("W3", {}, ["j-worker-0"]),
        ("W2", {"successPolicy": "AllWorkers"}, ["j-worker-0", "j-worker-1"]),
        ("C1 P1 W2", {}, ["j-chief-0"]),
        ("M1 W1 E1", {"successPolicy": "AllWorkers"}, ["j-master-0"]),
    ],
)
def test_the_pods_that_decide_by_the_success_policy_get_the_finalizer(
    roles: str, spec: dict[str, Any], expected: list[str]
) -> None:
    for settings, wanted in ((ON, expected), (Settings(), [])):
        job = a_job(roles, settings, **spec)
        builder = ManifestBuilder(job)
        made = [builder.pod(each, n) for each in job.replicas for n in range(each.count)]
        metas = [each["metadata"] for each in made]
        found = [each["name"] for each in metas if FINALIZER in each.get("finalizers", ())]
        assert sorted(found) == wanted


def test_a_template_cannot_bring_the_finalizer() -> None:
    given = manifest("W2")
    template = given["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"finalizers": [FINALIZER, "x/y"]}
    for settings, first in ((Settings(), ["x/y"]), (ON, ["x/y", FINALIZER])):
        job = Passes(given, settings).job
        builder = ManifestBuilder(job)
        found = [builder.pod(job.replicas[0], n)["metadata"]["finalizers"] for n in range(2)]
        assert found == [first, ["x/y"]]


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_decisive_pod_whose_end_is_to_come_stays_held(phase: str) -> None:
    passes = Passes(manifest("W1"), ON)
    assert released(passes.go(held(phase=phase))) == []


@pytest.mark.scenario("R2")
def test_a_success_that_was_deleted_while_no_operator_ran_decides_the_job() -> None:
    passes = Passes(manifest("W2", restart="OnFailure"), ON)
    passes.go(held())
    plan = passes.go(done_before_deletion())
    assert passes.conditions[-1] == "Succeeded"
    assert (plan.creates, released(plan)) == ([], ["j-worker-0"])
    assert plan.writes_status_first


def test_a_success_is_stored_before_its_pod_is_released_though_the_job_goes_on() -> None:
    passes = Passes(manifest("W2", successPolicy="AllWorkers"), ON)
    plan = passes.go(done_before_deletion(), held(index=1))
    assert plan.writes_status_first
    assert passes.job.status.of("Worker").completed == {0}
    assert released(plan) == ["j-worker-0"]
    assert released(passes.go(held(index=1))) == []


@pytest.mark.parametrize("restart", ["OnFailure", "ExitCode", "Never"])
def test_a_failure_is_stored_before_its_pod_is_released(restart: str) -> None:
    passes = Passes(manifest("W1", restart=restart), ON)
    plan = passes.go(held(phase="Failed", exit_code=137))
    assert released(plan) == ["j-worker-0"]
    assert plan.writes_status_first
    assert passes.job.status.restarts == (0 if restart == "Never" else 1)


@pytest.mark.parametrize("phase", ["Pending", "Running"])
@pytest.mark.parametrize("restart", ["OnFailure", "ExitCode", "Always"])
def test_a_pod_that_is_deleted_while_it_runs_waits_for_nothing(restart: str, phase: str) -> None:
    passes = Passes(manifest("W1", restart=restart), ON)
    passes.go(held(phase=phase))
    assert released(passes.go(held(phase=phase, deleted=-1))) == ["j-worker-0"]


def restarted_with_its_group() -> Passes:
    """Worker 1 was lost, and the restart of worker 0 is stored."""
    given = manifest("W2", restart="ExitCode", annotations={RECOVERY: "Group"})
    passes = Passes(given, ON)
    passes.go(held(), a_pod("worker", 1))
    plan = passes.go(held(), a_pod("worker", 1, "Failed", exit_code=137))
    assert (sorted(each.name for each in plan.deletes), released(plan)) == (
        ["j-worker-0", "j-worker-1"],
        [],
    )
    return passes


def test_a_pod_that_succeeds_before_the_restart_of_its_group_reaches_it_decides() -> None:
    passes = restarted_with_its_group()
    assert released(passes.go(held(deleted=1))) == []
    plan = passes.go(done_before_deletion())
    assert passes.conditions[-1] == "Succeeded"
    assert (released(plan), plan.writes_status_first) == (["j-worker-0"], True)


@pytest.mark.parametrize(
    "ended",
    [
        held(phase="Succeeded", exit_code=0, deleted=1),
        held(phase="Failed", exit_code=143, deleted=1),
        held(deleted=1, grace=0),
    ],
)
def test_a_pod_that_ended_by_the_restart_of_its_group_is_released(ended: Pod) -> None:
    passes = restarted_with_its_group()
    assert released(passes.go(ended)) == ["j-worker-0"]
    assert not passes.job.status.is_finished


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        pytest.param(manifest("W1"), Settings(), id="the setting is off"),
        pytest.param(manifest("W1", run_policy={"suspend": True}), ON, id="suspended"),
        pytest.param(
            manifest("W1", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"}),
            ON,
            id="of another manager",
        ),
        pytest.param(manifest("C1 W1"), ON, id="does not decide"),
        pytest.param(manifest("P1 W1"), ON, id="decides"),
    ],
)
def test_what_does_not_decide_is_not_held(given: dict[str, Any], settings: Settings) -> None:
    plan = Passes(given, settings).go(held())
    decides = settings is ON and "PS" in given["spec"]["tfReplicaSpecs"]
    assert released(plan) == ([] if decides else ["j-worker-0"])


def test_a_surplus_pod_is_released() -> None:
    passes = Passes(manifest("W2", successPolicy="AllWorkers"), ON)
    passes.go(held(), held(index=1))
    passes.edit(manifest("W1", successPolicy="AllWorkers"))
    plan = passes.go(held(), held(index=1))
    assert released(plan) == ["j-worker-1"]
    assert plan.writes_status_first


def test_pods_of_a_job_that_is_being_deleted_are_released() -> None:
    given = manifest("W1")
    given["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert released(Passes(given, ON).go(held())) == ["j-worker-0"]


def test_pods_of_a_finished_job_are_released_whatever_the_clean_up() -> None:
    passes = Passes(manifest("W2", run_policy={"cleanPodPolicy": "None"}), ON)
    passes.go(held(phase="Succeeded", exit_code=0), held(index=1))
    plan = passes.go(held(phase="Succeeded", exit_code=0), held(index=1))
    assert (released(plan), plan.deletes) == (["j-worker-0", "j-worker-1"], [])


def test_pods_of_an_invalid_job_are_released_even_if_its_failure_cannot_be_stored() -> None:
    job = rejected(manifest("W1", successPolicy="Whoever"))
    children = Children(pods=[held()])
    plan = with_finalizer_removals(
        reject(job, children=children, now=NOW), job=job, children=children
    )
    assert (released(plan), len(plan.deletes)) == (["j-worker-0"], 1)
    assert not plan.writes_status_first


def test_a_plan_without_held_pods_is_the_same_plan() -> None:
    plan = Plan()
    children = Children(pods=[a_pod()])
    assert with_finalizer_removals(plan, job=a_job("W1", ON), children=children) is plan
