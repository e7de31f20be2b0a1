"""Conversion of TfJobs to the hub and back, with all losses reported."""

from typing import Any

import pytest
from hypothesis import given

from tests.support.tfjobs import Json, container, replica, tfjob
from tests.support.translations import HUB, hub_jobs, losses_of, meaning, unsaid
from tfjob.dialects.base import Conversion
from tfjob.dialects.tensorflow import conversion


def entry(kind: str | None = "MASTER", count: int | None = 1, **fields: Any) -> Json:
    """An entry of replicaSpecs; `policy` is that of its pods."""
    spec: Json = {"containers": [container()]}
    if "policy" in fields:
        spec["restartPolicy"] = fields.pop("policy")
    found = {"tfReplicaType": kind, "replicas": count, "template": {"spec": spec}, **fields}
    return {key: value for key, value in found.items() if value is not None}


def of(*entries: Json, **spec: Any) -> Json:
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": "j", "labels": {"team": "a"}},
        "spec": {"replicaSpecs": list(entries), **spec},
    }


def chief(kind: str, index: int) -> Json:
    return {"chief": {"replicaName": kind, "replicaIndex": index}}


def specs_of(found: Conversion) -> Json:
    specs: Json = found.manifest["spec"]["tfReplicaSpecs"]
    return specs


def up(*entries: Json, **spec: Any) -> Conversion:
    """The job as one of the hub, which has no faults."""
    found = conversion.to_hub(of(*entries, **spec))
    assert HUB.validate(found.manifest) == []
    return found


def down(manifest: Json) -> Conversion:
    assert HUB.validate(manifest) == []
    return conversion.from_hub(manifest)


def test_types_counts_templates_and_metadata_go_over() -> None:
    found = up(entry(policy="Never"), entry("WORKER", 3), entry("PS", 2, policy="OnFailure"))
    assert found.losses == []
    assert found.manifest["apiVersion"] == "kubeflow.org/v1"
    assert found.manifest["kind"] == "TFJob"
    assert found.manifest["metadata"] == {"name": "j", "labels": {"team": "a"}}
    assert specs_of(found) == {
        "Master": replica(1, restart="ExitCode"),
        "Worker": replica(3, restart="OnFailure"),
        "PS": replica(2, restart="OnFailure"),
    }


def test_defaults_of_an_entry_stay_unsaid() -> None:
    assert specs_of(up(entry(None, None))) == {"Master": replica(None, restart="ExitCode")}


def test_keys_are_read_however_they_are_written() -> None:
    odd = of()
    odd["spec"] = {
        "replica_specs": [{"TFREPLICATYPE": "MASTER", "Template": entry()["template"]}],
        "runtimeid": "abcd",
        "tensorBoard": {"logDir": "/logs"},
    }
    found = conversion.to_hub(odd)
    assert list(specs_of(found)) == ["Master"]
    assert losses_of(found.losses) == [
        "spec.replica_specs[0].Template.spec.restartPolicy",
        "spec.tensorBoard",
        "spec.runtimeid",
    ]


def test_port_becomes_the_port_of_that_name() -> None:
    found = up(entry(policy="Never", tfPort=42), entry("WORKER", tfPort=2222))
    ports = [{"name": "tfjob-port", "containerPort": 42}]
    assert specs_of(found)["Master"]["template"]["spec"]["containers"] == [container(ports=ports)]
    assert specs_of(found)["Worker"]["template"]["spec"]["containers"] == [container()]
    assert found.losses == []


def test_port_of_that_name_and_another_number_gives_way() -> None:
    ports = [{"name": "tfjob-port", "containerPort": 9}, {"name": "web", "containerPort": 80}]
    given = entry(policy="Never")
    given["template"]["spec"]["containers"] = [container("a"), container(ports=ports)]
    found = up(given)
    (_, trained) = specs_of(found)["Master"]["template"]["spec"]["containers"]
    assert trained["ports"] == [{"name": "tfjob-port", "containerPort": 2222}, ports[1]]
    (path,) = losses_of(found.losses)
    assert path == "spec.replicaSpecs[0].template.spec.containers[1].ports[0].containerPort"


@pytest.mark.parametrize("policy", [{}, {"policy": "OnFailure"}])
def test_restart_in_place_by_exit_code_is_lost(policy: Json) -> None:
    (loss,) = up(entry(**policy)).losses
    assert loss.path == "spec.replicaSpecs[0].template.spec.restartPolicy"
    assert "becomes ExitCode" in loss.message


def test_new_pods_for_others_are_lost() -> None:
    (loss,) = up(entry(policy="Never"), entry("WORKER", policy="Never")).losses
    assert loss.path == "spec.replicaSpecs[1].template.spec.restartPolicy"
    assert "in place" in loss.message


@pytest.mark.parametrize(
    ("entries", "policy", "decides"),
    [
        ([entry(policy="Never"), entry("WORKER", 2)], ("WORKER", 0), "Master 0"),
        ([entry("WORKER", 3, policy="Never")], ("WORKER", 2), "Worker 0"),
        ([entry("PS", 2, policy="Never")], ("PS", 0), "success of all replicas"),
    ],
)
def test_choice_of_who_decides_is_lost(
    entries: list[Json], policy: tuple[str, int], decides: str
) -> None:
    losses = up(*entries, terminationPolicy=chief(*policy)).losses
    assert losses[0].path == "spec.terminationPolicy.chief"
    assert decides in losses[0].message


@pytest.mark.parametrize("kind", ["WORKER", "PS"])
def test_choice_that_is_the_rule_of_the_hub_is_no_loss(kind: str) -> None:
    found = up(entry(kind, policy="Never"), terminationPolicy=chief(kind, 0))
    assert found.losses == []


def test_one_policy_for_all_workers_is_a_loss_where_one_of_them_decides() -> None:
    (loss,) = up(entry("WORKER", 2, policy="Never"), terminationPolicy=chief("WORKER", 0)).losses
    assert "any Worker fails the job" in loss.message


def test_server_of_the_operators_own_becomes_a_container() -> None:
    found = up(entry(policy="Never"), {"tfReplicaType": "PS", "replicas": 2}, tfImage="img")
    (server,) = specs_of(found)["PS"]["template"]["spec"]["containers"]
    assert (server["name"], server["image"]) == ("tensorflow", "img")
    assert server["command"][:2] == ["python", "-c"]
    compile(server["command"][2], "server", "exec")
    assert losses_of(found.losses) == ["spec.replicaSpecs[1].template"]


def test_server_is_added_to_containers_that_stand_beside_it() -> None:
    beside = {"tfReplicaType": "PS", "template": {"spec": {"containers": [container("side")]}}}
    found = up(entry(policy="Never"), beside)
    names = [
        (each["name"], each["image"])
        for each in specs_of(found)["PS"]["template"]["spec"]["containers"]
    ]
    assert names[0] == ("side", "example.invalid/tensorflow")
    assert names[1] == ("tensorflow", "tensorflow/tensorflow:1.3.0")


@pytest.mark.parametrize("others", [[], [{"name": "data", "mountPath": "/data"}]])
def test_server_that_the_operator_has_stored_is_known_again(others: list[Json]) -> None:
    mounts = [{"name": "ps-config-volume", "mountPath": "/ps-server"}, *others]
    stored = entry("PS", IsDefaultPS=True)
    stored["template"]["spec"]["containers"] = [container(volumeMounts=mounts)]
    found = up(entry(policy="Never", IsDefaultPS=False), stored)
    (server,) = specs_of(found)["PS"]["template"]["spec"]["containers"]
    assert server["command"][:2] == ["python", "-c"]
    assert server.get("volumeMounts", []) == others


def test_extras_and_unknown_fields_are_lost_by_name() -> None:
    source = of(
        entry(policy="Never", extra="a"),
        tfImage="img",
        RuntimeId="abcd",
        schedulerName="other",
        tensorboard={"logDir": "/logs"},
        terminationPolicy={**chief("MASTER", 0), "quorum": "b"},
    )
    found = conversion.to_hub(source)
    assert sorted(losses_of(found.losses)) == [
        "spec.RuntimeId",
        "spec.replicaSpecs[0].extra",
        "spec.schedulerName",
        "spec.tensorboard",
        "spec.terminationPolicy.quorum",
        "spec.tfImage",
    ]
    assert unsaid(source, found.manifest, found.losses) == [
        "spec.replicaSpecs[0].tfReplicaType",
        "spec.replicaSpecs[0].template.spec.restartPolicy",
        "spec.terminationPolicy.chief.replicaName",
        "spec.terminationPolicy.chief.replicaIndex",
    ], "these are said in the hub's own way"


def test_losses_have_the_paths_of_the_source() -> None:
    found = up(entry(policy="Never"), entry("WORKER", tfPort=3333))
    worker, port = "spec.tfReplicaSpecs[Worker]", "template.spec.containers[0].ports[0]"
    assert found.origins[worker] == "spec.replicaSpecs[1]"
    assert found.origins[f"{worker}.{port}.containerPort"] == "spec.replicaSpecs[1].tfPort"


def test_word_about_a_server_that_is_not_true_is_lost() -> None:
    found = up(entry(policy="Never", IsDefaultPS=True))
    assert losses_of(found.losses) == ["spec.replicaSpecs[0].IsDefaultPS"]


def test_hub_job_of_master_and_workers_loses_nothing() -> None:
    found = down(tfjob("M1:ExitCode W2:OnFailure P1:OnFailure"))
    assert found.losses == []
    assert found.manifest["apiVersion"] == "tensorflow.org/v1alpha1"
    assert found.manifest["kind"] == "TfJob"
    assert found.manifest["spec"]["replicaSpecs"] == [
        entry(policy="Never"),
        entry("WORKER", 2, policy="OnFailure"),
        entry("PS", 1, policy="OnFailure"),
    ]
    assert "terminationPolicy" not in found.manifest["spec"]


def test_job_without_a_master_names_its_first_worker() -> None:
    spec = down(tfjob("W1:ExitCode")).manifest["spec"]
    assert spec["terminationPolicy"] == chief("WORKER", 0)


@pytest.mark.parametrize(
    ("roles", "path", "said"),
    [
        ("C1:ExitCode", "spec.tfReplicaSpecs[Chief]", "becomes MASTER"),
        ("M1:ExitCode E1", "spec.tfReplicaSpecs[Evaluator]", "left out"),
        ("M0 W1:ExitCode", "spec.tfReplicaSpecs[Master]", "left out"),
        ("W0", "spec.tfReplicaSpecs", "no replica decides"),
        ("P2:ExitCode", "spec.tfReplicaSpecs[PS].replicas", "success of PS 0 ends the job"),
        ("M1", "spec.tfReplicaSpecs[Master].restartPolicy", "its pods get Never"),
        ("M1:Always", "spec.tfReplicaSpecs[Master].restartPolicy", "its pods get OnFailure"),
        ("W2:ExitCode", "spec.tfReplicaSpecs[Worker].restartPolicy", "only Worker 0"),
        ("M1:ExitCode W1", "spec.tfReplicaSpecs[Worker].restartPolicy", "Never becomes OnFailure"),
    ],
)
def test_what_types_and_policies_lose_is_named(roles: str, path: str, said: str) -> None:
    losses = down(tfjob(roles)).losses
    assert (path, True) in [(loss.path, said in loss.message) for loss in losses]


@pytest.mark.parametrize(
    ("policy", "is_loss"),
    [
        ({"cleanPodPolicy": "None"}, False),
        ({"cleanPodPolicy": "Running"}, True),
        ({"ttlSecondsAfterFinished": 0}, True),
        ({"activeDeadlineSeconds": 5}, True),
        ({"backoffLimit": 0}, True),
        ({"suspend": False}, False),
        ({"suspend": True}, True),
        ({"schedulingPolicy": {"queue": "q"}}, True),
        ({"managedBy": "kubeflow.org/training-operator"}, False),
        ({"managedBy": "kueue.x-k8s.io/multikueue"}, True),
    ],
)
def test_run_policy_is_lost_unless_it_says_what_holds_anyway(policy: Json, is_loss: bool) -> None:
    losses = down(tfjob("M1:ExitCode", run_policy=policy)).losses
    assert losses_of(losses) == ([f"spec.runPolicy.{next(iter(policy))}"] if is_loss else [])


def test_success_of_all_workers_and_dynamic_ones_are_lost() -> None:
    job = tfjob("M1:ExitCode", successPolicy="AllWorkers", enableDynamicWorker=True)
    assert losses_of(down(job).losses) == ["spec.successPolicy", "spec.enableDynamicWorker"]


def test_policy_of_the_template_that_never_counted_is_lost() -> None:
    job = tfjob()
    job["spec"]["tfReplicaSpecs"] = {"Master": replica(restart="ExitCode", restartPolicy="Always")}
    assert losses_of(down(job).losses) == [
        "spec.tfReplicaSpecs[Master].template.spec.restartPolicy"
    ]


@given(hub_jobs("M MW MPW W PW P C CPWE E", leader="ExitCode", others="OnFailure"))
def test_a_round_trip_that_loses_nothing_changes_nothing(job: Json) -> None:
    found = down(job)
    if not found.losses:
        back = conversion.to_hub(found.manifest)
        assert back.losses == []
        assert meaning(back.manifest) == meaning(job)


def test_round_trip_is_exact_to_the_letter_where_no_default_is_spelt_out() -> None:
    job = tfjob("M1:ExitCode W2:OnFailure")
    ports = [{"name": "tfjob-port", "containerPort": 3333}, {"name": "web", "containerPort": 80}]
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"] = [
        container(ports=ports)
    ]
    assert conversion.to_hub(down(job).manifest).manifest == job
