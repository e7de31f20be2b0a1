"""Conversion of TensorFlowTrainingJobs to the hub and back, with all losses reported."""

from typing import Any

import pytest
from hypothesis import given

from tests.support.tfjobs import Json, container, replica, tfjob
from tests.support.translations import HUB, hub_jobs, losses_of, meaning, unsaid
from tfjob.dialects.base import Conversion
from tfjob.dialects.tensorstack import conversion


def entry(kind: str = "worker", count: int | None = 1, policy: str | None = None) -> Json:
    return {"type": kind, **replica(count, restart=policy)}


def of(*entries: Json, **spec: Any) -> Json:
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": {"name": "j", "labels": {"team": "a"}},
        "spec": {"replicaSpecs": list(entries), **spec},
    }


def specs_of(found: Conversion) -> Json:
    specs: Json = found.manifest["spec"]["tfReplicaSpecs"]
    return specs


def up(*entries: Json, **spec: Any) -> Conversion:
    """The job as one of the hub, which has no faults."""
    found = conversion.to_hub(of(*(entries or (entry(),)), **spec))
    assert HUB.validate(found.manifest) == []
    return found


def down(manifest: Json) -> Conversion:
    assert HUB.validate(manifest) == []
    return conversion.from_hub(manifest)


def test_types_counts_templates_and_metadata_go_over() -> None:
    found = up(entry("chief", None), entry(count=0), entry("ps", 0), entry("evaluator", 0))
    assert found.losses == []
    assert found.manifest["apiVersion"] == "kubeflow.org/v1"
    assert found.manifest["kind"] == "TFJob"
    assert found.manifest["metadata"] == {"name": "j", "labels": {"team": "a"}}
    assert found.manifest["spec"] == {
        "tfReplicaSpecs": {
            "Chief": replica(None),
            "Worker": replica(0),
            "PS": replica(0),
            "Evaluator": replica(0),
        }
    }


@pytest.mark.parametrize(
    ("entries", "policy", "said"),
    [
        ([entry(policy="OnFailure")], "OnFailure", "in place instead of with a new pod"),
        ([entry("ps", policy="Always"), entry()], "Always", "in place instead of with a new pod"),
        ([entry(policy="Always")], "OnFailure", "it becomes OnFailure"),
        ([entry(policy="ExitCode")], "ExitCode", "not only 130, 137, 138 and 143"),
        (
            [entry(count=2, policy="Never")],
            "Never",
            "any Worker that fails permanently fails the job",
        ),
        (
            [entry("ps", policy="ExitCode"), entry()],
            "ExitCode",
            "any PS that fails permanently fails the job",
        ),
    ],
)
def test_policies_go_over_and_what_differs_is_named(
    entries: list[Json], policy: str, said: str
) -> None:
    found = up(*entries)
    assert next(iter(specs_of(found).values()))["restartPolicy"] == policy
    assert set(losses_of(found.losses)) == {"spec.replicaSpecs[0].restartPolicy"}
    assert any(said in loss.message for loss in found.losses)


@pytest.mark.parametrize(
    ("given_policy", "policy", "lost"),
    [
        ({"cleanUpPolicy": "Unfinished"}, {"cleanPodPolicy": "Running"}, []),
        ({"cleanPodPolicy": "all"}, {"cleanPodPolicy": "All"}, []),
        ({"cleanUpPolicy": "none"}, {"cleanPodPolicy": "None"}, []),
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 9}, []),
        ({"backoffLimit": 0}, {"backoffLimit": 0}, ["spec.runPolicy.backoffLimit"]),
        ({"patience": 3}, None, ["spec.runPolicy.patience"]),
    ],
)
def test_run_policy_goes_over(given_policy: Json, policy: Json | None, lost: list[str]) -> None:
    found = up(runPolicy=given_policy)
    assert found.manifest["spec"].get("runPolicy") == policy
    assert losses_of(found.losses) == lost


@pytest.mark.parametrize(
    ("mode", "policy", "lost"),
    [
        ({"pause": {"enabled": True}}, {"suspend": True}, []),
        ({"pause": {"enable": True}}, {"suspend": True}, []),
        ({"pause": {"enabled": False}}, None, []),
        ({"pause": {"resumeSpecs": [{"type": "worker"}]}}, None, ["pause.resumeSpecs"]),
        ({"debug": {"enabled": False, "replicaSpecs": []}}, None, []),
        (
            {"debug": {"enable": True, "replicaSpecs": [{"type": "worker"}]}},
            None,
            ["debug.enable", "debug.replicaSpecs"],
        ),
        ({"elastic": {"enabled": True}}, None, ["elastic"]),
    ],
)
def test_pause_goes_over_and_other_modes_are_lost(
    mode: Json, policy: Json | None, lost: list[str]
) -> None:
    found = up(runMode=mode)
    assert found.manifest["spec"].get("runPolicy") == policy
    assert losses_of(found.losses) == [f"spec.runMode.{each}" for each in lost]


@pytest.mark.parametrize(("priority", "is_loss"), [(None, False), (0, False), (50, True)])
def test_queue_goes_over_and_a_priority_is_lost(priority: int | None, is_loss: bool) -> None:
    found = up(scheduler={"t9kScheduler": {"queue": "q", "priority": priority}})
    assert found.manifest["spec"]["runPolicy"] == {"schedulingPolicy": {"queue": "q"}}
    path = "spec.scheduler.t9kScheduler.priority"
    assert losses_of(found.losses) == ([path] if is_loss else [])


def test_port_named_as_the_hub_names_addresses_gets_the_number_of_this_api() -> None:
    given_entry = entry()
    ports = [{"name": "tfjob-port", "containerPort": 9}]
    given_entry["template"]["spec"]["containers"] = [container(ports=ports)]
    found = up(given_entry)
    (trained,) = specs_of(found)["Worker"]["template"]["spec"]["containers"]
    assert trained["ports"] == [{"name": "tfjob-port", "containerPort": 2222}]
    path = "spec.replicaSpecs[0].template.spec.containers[0].ports[0].containerPort"
    assert losses_of(found.losses) == [path]


def test_nothing_is_lost_in_silence() -> None:
    source = of(
        {**entry(count=4, policy="OnFailure"), "extra": "x"},
        runPolicy={"cleanUpPolicy": "Unfinished", "backoffLimit": 20, "activeDeadlineSeconds": 72},
        scheduler={"t9kScheduler": {"queue": "q", "priority": 50}, "other": "o"},
        runMode={"pause": {"enabled": True, "resumeSpecs": [{"type": "worker"}], "p": "p"}},
        tensorboardSpec={"image": "tb", "trainingLogFilesets": ["t9k://pvc/p/log"]},
        surprise={"a": "b"},
    )
    found = conversion.to_hub(source)
    assert unsaid(source, found.manifest, found.losses) == [
        "spec.replicaSpecs[0].type",
        "spec.runPolicy.cleanUpPolicy",
    ], "these are said in the hub's own words"


def test_losses_have_the_paths_of_the_source() -> None:
    found = up(
        entry("ps"),
        entry(),
        runPolicy={"cleanPodPolicy": "All"},
        runMode={"pause": {"enable": True}},
        scheduler={"t9kScheduler": {"queue": "q"}},
    )
    assert found.origins == {
        "spec.tfReplicaSpecs[PS]": "spec.replicaSpecs[0]",
        "spec.tfReplicaSpecs[Worker]": "spec.replicaSpecs[1]",
        "spec.runPolicy.cleanPodPolicy": "spec.runPolicy.cleanPodPolicy",
        "spec.runPolicy.suspend": "spec.runMode.pause.enable",
        "spec.runPolicy.schedulingPolicy": "spec.scheduler.t9kScheduler",
    }


def test_hub_job_of_one_worker_loses_nothing() -> None:
    policy = {
        "cleanPodPolicy": "Running",
        "suspend": True,
        "activeDeadlineSeconds": 5,
        "schedulingPolicy": {"queue": "q", "minAvailable": 1},
    }
    found = down(tfjob("W1:Never", run_policy=policy))
    assert found.losses == []
    assert found.manifest["apiVersion"] == "batch.tensorstack.dev/v1beta1"
    assert found.manifest["kind"] == "TensorFlowTrainingJob"
    assert found.manifest["spec"] == {
        "runPolicy": {"cleanUpPolicy": "Unfinished", "activeDeadlineSeconds": 5},
        "scheduler": {"t9kScheduler": {"queue": "q"}},
        "runMode": {"pause": {"enabled": True}},
        "replicaSpecs": [entry(policy="Never")],
    }


@pytest.mark.parametrize(
    ("roles", "path", "said"),
    [
        ("M1", "spec.tfReplicaSpecs[Master]", "becomes chief"),
        ("C0 W1", "spec.tfReplicaSpecs[Chief]", "left out"),
        ("P1", "spec.tfReplicaSpecs", "without a chief or a worker"),
        ("W1:OnFailure", "spec.tfReplicaSpecs[Worker].restartPolicy", "with a new pod"),
        ("W1:Always", "spec.tfReplicaSpecs[Worker].restartPolicy", "success of this replica"),
        ("W1:ExitCode", "spec.tfReplicaSpecs[Worker].restartPolicy", "130, 137, 138 and 143"),
        ("C1 W1", "spec.tfReplicaSpecs[Worker].restartPolicy", "any other worker"),
    ],
)
def test_what_types_and_policies_lose_is_named(roles: str, path: str, said: str) -> None:
    losses = down(tfjob(roles)).losses
    assert (path, True) in [(loss.path, said in loss.message) for loss in losses]


@pytest.mark.parametrize(
    ("policy", "lost"),
    [
        ({"ttlSecondsAfterFinished": 0}, "ttlSecondsAfterFinished"),
        ({"backoffLimit": 3}, "backoffLimit"),
        ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds"),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, "managedBy"),
        ({"schedulingPolicy": {"queue": "q", "minAvailable": 7}}, "schedulingPolicy.minAvailable"),
        ({"schedulingPolicy": {"minAvailable": 1}}, "schedulingPolicy.minAvailable"),
        ({"schedulingPolicy": {"priorityClass": "p"}}, "schedulingPolicy.priorityClass"),
        ({"schedulingPolicy": {"minResources": {"cpu": 1}}}, "schedulingPolicy.minResources"),
        (
            {"schedulingPolicy": {"scheduleTimeoutSeconds": 1}},
            "schedulingPolicy.scheduleTimeoutSeconds",
        ),
    ],
)
def test_what_a_run_policy_loses_is_named(policy: Json, lost: str) -> None:
    losses = down(tfjob("W1:Never", run_policy=policy)).losses
    assert losses_of(losses) == [f"spec.runPolicy.{lost}"]


def test_success_of_all_workers_dynamic_ones_and_ports_are_lost() -> None:
    job = tfjob("W1:Never", successPolicy="AllWorkers", enableDynamicWorker=True)
    ports = [{"name": "tfjob-port", "containerPort": 9}]
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    worker["template"]["spec"]["containers"] = [container(ports=ports)]
    assert losses_of(down(job).losses) == [
        "spec.tfReplicaSpecs[Worker].template.spec.containers[0].ports[0].containerPort",
        "spec.successPolicy",
        "spec.enableDynamicWorker",
    ]


def test_limit_of_no_time_at_all_becomes_a_second() -> None:
    found = down(tfjob("W1", run_policy={"activeDeadlineSeconds": 0}))
    assert found.manifest["spec"]["runPolicy"] == {"activeDeadlineSeconds": 1}


@given(hub_jobs("C C W W CW PW P M CPWE E", leader="Never", others="Never"))
def test_a_round_trip_that_loses_nothing_changes_nothing(job: Json) -> None:
    found = down(job)
    if not found.losses:
        back = conversion.to_hub(found.manifest)
        assert back.losses == []
        assert meaning(back.manifest) == meaning(job)


def test_round_trip_is_exact_to_the_letter_where_no_default_is_spelt_out() -> None:
    policy = {"cleanPodPolicy": "All", "suspend": True, "schedulingPolicy": {"queue": "q"}}
    job = tfjob("C1 W0:Never", run_policy=policy)
    assert conversion.to_hub(down(job).manifest).manifest == job
