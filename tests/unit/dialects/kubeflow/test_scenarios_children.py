"""The pods and services of a TFJob: names, labels, owners, policies, ports."""

from typing import Any

import pytest

from tests.support.builders import (
    OWNER,
    a_job,
    container,
    decide,
    decoded,
    events_of,
    manifest,
    replica_spec,
)
from tests.unit.dialects.rendering import children_of, pods_of, services_of
from tfjob.dialects.base import Settings
from tfjob.dialects.naming import child_prefix, label_value

OPERATOR = "training.kubeflow.org/operator-name"
JOB = "training.kubeflow.org/job-name"
TYPE = "training.kubeflow.org/replica-type"
INDEX = "training.kubeflow.org/replica-index"
ROLE = "training.kubeflow.org/job-role"
OVERRULED = (
    "Warning",
    "SetPodTemplateRestartPolicy",
    "Restart policy in pod template will be overwritten by restart policy in replica spec",
)


def four_labels(kind: str, index: int) -> dict[str, str]:
    return {OPERATOR: "tfjob-controller", JOB: "j", TYPE: kind, INDEX: str(index)}


def job_with_template(**template: Any) -> Any:
    template.setdefault("spec", {"containers": [container()]})
    return decoded(manifest(tfReplicaSpecs={"Worker": replica_spec(template=template)}))


@pytest.mark.scenario(20)
def test_slashes_of_a_job_name_become_dashes_in_names_of_children() -> None:
    assert child_prefix("1/2/3/4/5", "WORKER".lower()) + "1" == "1-2-3-4-5-worker-1"


@pytest.mark.scenario(21)
def test_slashes_of_a_job_name_become_dashes_in_its_label() -> None:
    assert label_value("test/key") == "test-key"
    assert pods_of(a_job())["j-worker-0"]["metadata"]["labels"][OPERATOR] == "tfjob-controller"


@pytest.mark.scenario(22)
def test_every_child_is_controlled_by_its_job_as_v1() -> None:
    job = a_job("C1 P2 W3")
    children = [*pods_of(job).values(), *services_of(job).values()]
    assert len(children) == 12
    for child in children:
        assert child["metadata"]["ownerReferences"] == [OWNER]


@pytest.mark.scenario(23)
def test_labels_and_annotations_of_the_template_reach_the_pod() -> None:
    metadata = {"labels": {"label1": "1"}, "annotations": {"annotation1": "1"}}
    pod = pods_of(job_with_template(metadata=metadata))["j-worker-0"]
    assert pod["metadata"]["annotations"] == {"annotation1": "1"}
    assert pod["metadata"]["labels"] == {"label1": "1", ROLE: "master", **four_labels("worker", 0)}


def test_operator_labels_win_over_equal_ones_of_the_template() -> None:
    labels = {TYPE: "ps", INDEX: "7", JOB: "other", OPERATOR: "other", ROLE: "slave"}
    pod = pods_of(job_with_template(metadata={"labels": labels}))["j-worker-0"]
    assert pod["metadata"]["labels"] == {ROLE: "master", **four_labels("worker", 0)}


def test_finalizers_are_kept_and_names_of_the_template_ignored() -> None:
    metadata = {
        "finalizers": ["example.com/wait"],
        "name": "mine",
        "namespace": "elsewhere",
        "generateName": "mine-",
        "creationTimestamp": None,
        "ownerReferences": [{"uid": "x"}],
    }
    pod = pods_of(job_with_template(metadata=metadata))["j-worker-0"]
    assert set(pod["metadata"]) == {"name", "labels", "finalizers", "ownerReferences"}
    assert pod["metadata"]["finalizers"] == ["example.com/wait"]
    assert pod["metadata"]["ownerReferences"] == [OWNER]


def test_labels_and_annotations_of_the_job_stay_with_the_job() -> None:
    given = manifest()
    given["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    job = decoded(given)
    for child in (pods_of(job)["j-worker-0"], services_of(job)["j-worker-0"]):
        assert "a" not in child["metadata"]["labels"]
        assert "annotations" not in child["metadata"]


@pytest.mark.scenario(24)
@pytest.mark.parametrize(
    ("policy", "own"),
    [
        ("ExitCode", "Never"),
        ("Never", "Never"),
        ("Always", "Always"),
        ("OnFailure", "OnFailure"),
    ],
)
def test_pods_own_restart_policy_follows_from_the_replicas(policy: str, own: str) -> None:
    pod = pods_of(a_job("W1", restart=policy))["j-worker-0"]
    assert pod["spec"]["restartPolicy"] == own


@pytest.mark.scenario(25)
def test_restart_policy_of_the_template_is_overruled_with_a_warning() -> None:
    spec = {"containers": [container()], "restartPolicy": "OnFailure"}
    job = job_with_template(spec=spec)
    assert pods_of(job)["j-worker-0"]["spec"]["restartPolicy"] == "Never"
    assert events_of(decide(job)).count(OVERRULED) == 1


def test_template_without_a_restart_policy_is_not_warned_about() -> None:
    assert OVERRULED not in events_of(decide(a_job()))


@pytest.mark.scenario(26)
@pytest.mark.parametrize(
    ("roles", "leading"),
    [
        ("C1 W2", ["j-chief-0"]),
        ("M1 W2", ["j-master-0"]),
        ("P2 W2", ["j-worker-0"]),
        ("C0 W2", ["j-worker-0"]),
        ("P2 E1", []),
    ],
)
def test_role_master_is_on_the_deciding_pods_alone(roles: str, leading: list[str]) -> None:
    job = a_job(roles)
    marked = [name for name, pod in pods_of(job).items() if ROLE in pod["metadata"]["labels"]]
    assert marked == leading
    for service in services_of(job).values():
        assert ROLE not in service["metadata"]["labels"]


@pytest.mark.scenario(27)
def test_children_have_exactly_the_expected_names() -> None:
    job = a_job("C1 P2 W3 E1")
    names = ["j-chief-0", "j-ps-0", "j-ps-1", "j-worker-0", "j-worker-1", "j-worker-2"]
    assert list(pods_of(job)) == [*names, "j-evaluator-0"]
    assert list(services_of(job)) == [*names, "j-evaluator-0"]


@pytest.mark.scenario("R43", 28)
def test_service_is_headless_and_selects_its_one_pod() -> None:
    service = services_of(a_job("W2"))["j-worker-1"]
    assert service == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "j-worker-1",
            "labels": four_labels("worker", 1),
            "ownerReferences": [OWNER],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": four_labels("worker", 1),
            "ports": [{"name": "tfjob-port", "port": 2222}],
        },
    }


@pytest.mark.scenario(29)
def test_unnamed_port_is_published_under_its_number() -> None:
    entry = replica_spec(containers=[container(ports=[{"containerPort": 8000}])])
    job = decoded(manifest(tfReplicaSpecs={"Worker": entry}))
    ports = services_of(job)["j-worker-0"]["spec"]["ports"]
    assert [(port["name"], port["port"]) for port in ports] == [
        ("port-8000", 8000),
        ("tfjob-port", 2222),
    ]
    assert "j-worker-0" in pods_of(job)


def test_nothing_else_of_the_template_is_touched() -> None:
    spec = {
        "containers": [container(resources={"limits": {"cpu": 1}}), {"name": "s", "image": "i"}],
        "initContainers": [{"name": "init", "image": "i"}],
        "serviceAccountName": "robot",
        "hostNetwork": True,
        "tolerations": [{"operator": "Exists"}],
        "dnsPolicy": "None",
        "fieldOfTomorrow": {"a": [1, 2.5, None]},
    }
    made = pods_of(job_with_template(spec=spec))["j-worker-0"]["spec"]
    first, *others = made.pop("containers")
    assert first.pop("ports") == [{"name": "tfjob-port", "containerPort": 2222}]
    assert first.pop("terminationMessagePolicy") == "FallbackToLogsOnError"
    assert [first, *others] == spec.pop("containers")
    assert made == spec | {"restartPolicy": "Never"}


def test_the_template_and_a_setting_decide_about_the_last_lines() -> None:
    job = job_with_template(spec={"containers": [container(terminationMessagePolicy="File")]})
    (own,) = pods_of(job)["j-worker-0"]["spec"]["containers"]
    assert own["terminationMessagePolicy"] == "File"
    off = a_job("W1", Settings(keeps_last_lines=False))
    (plain,) = pods_of(off)["j-worker-0"]["spec"]["containers"]
    assert "terminationMessagePolicy" not in plain


def test_legacy_labels_are_on_pods_only_and_give_way_to_the_template() -> None:
    given = manifest("W2")
    template = given["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": {"job-name": "mine"}}
    job = decoded(given, Settings(has_legacy_labels=True))
    labels = pods_of(job)["j-worker-0"]["metadata"]["labels"]
    legacy = {key: value for key, value in labels.items() if "/" not in key}
    assert legacy == {
        "group-name": "kubeflow.org",
        "job-name": "mine",
        "replica-type": "worker",
        "replica-index": "0",
        "job-role": "master",
    }
    assert "job-role" not in pods_of(job)["j-worker-1"]["metadata"]["labels"]
    assert services_of(job)["j-worker-0"]["spec"]["selector"] == four_labels("worker", 0)
    assert services_of(job)["j-worker-0"]["metadata"]["labels"] == four_labels("worker", 0)


@pytest.mark.scenario(127)
@pytest.mark.parametrize(
    ("schedulers", "is_warned"),
    [((None, None), False), (("mine", "mine"), True), (("mine", None), True)],
)
def test_scheduler_that_a_template_names_is_kept_with_a_warning(
    schedulers: tuple[str | None, str | None], is_warned: bool
) -> None:
    given = manifest("P1 W1")
    for kind, scheduler in zip(("PS", "Worker"), schedulers, strict=True):
        if scheduler is not None:
            given["spec"]["tfReplicaSpecs"][kind]["template"]["spec"]["schedulerName"] = scheduler
    job = decoded(given, Settings(gang_scheduler_name="gang"))
    names = [pod["spec"]["schedulerName"] for pod in children_of(job, "Pod").values()]
    assert names == [scheduler or "gang" for scheduler in schedulers]
    message = (
        "Another scheduler is specified when gang-scheduling is enabled"
        " and it will not be overwritten"
    )
    warning = ("Warning", "SetPodTemplateSchedulerName", message)
    assert (warning in events_of(decide(job))) == is_warned
