"""The pods and services of a TensorFlowTrainingJob: names, labels, policies, TF_CONFIG, modes."""

import pytest

from tests.unit.dialects.tensorstack.jobs import (
    ID,
    UID,
    Json,
    Play,
    container,
    decoded,
    first_pods,
    made,
    name_of,
    pod,
    pods,
    replica,
    training_container,
    training_job,
)
from tests.unit.dialects.tensorstack.verdicts import T9K, of
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.meta import ObjectMeta

GROUP = PodGroup(metadata=ObjectMeta(name="j", uid="g"), spec={})


def tf_config(manifest: Json) -> str:
    (found,) = [
        each["value"] for each in training_container(manifest)["env"] if each["name"] == "TF_CONFIG"
    ]
    return str(found)


@pytest.mark.scenario("B-01")
def test_every_worker_has_a_pod_and_a_headless_service_of_one_name() -> None:
    play = Play(training_job("W4", restart="OnFailure"))
    job = play.job
    assert isinstance(job, Job)
    plan = play.go(has_services=False)
    found = made(job, plan, "Pod")
    names = [f"j-{ID}-worker-{index}" for index in range(4)]
    assert list(found) == names
    assert list(made(job, plan, "Service")) == names
    assert [each["spec"]["restartPolicy"] for each in found.values()] == ["Never"] * 4
    assert play.status["phase"] == "Pending"
    assert [each["metadata"]["labels"].get("job-role") for each in found.values()] == [
        "master",
        None,
        None,
        None,
    ]


@pytest.mark.scenario("B-01")
def test_labels_of_a_pod() -> None:
    found = first_pods(training_job("W2"))[name_of("worker", 1)]
    assert found["metadata"]["labels"] == {
        "replica-type": "worker",
        "replica-index": "1",
        "tensorflowtrainingjob": "j",
        "tensorstack.dev/component": "tensorflowtrainingjob",
        "tensorstack.dev/component-type": "user",
    }


@pytest.mark.scenario("B-01")
def test_service_of_a_replica() -> None:
    play = Play(training_job("W1"))
    job = decoded(training_job("W1"))
    found = made(job, play.go(has_services=False), "Service")[name_of("worker", 0)]
    assert found["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {
            "tensorflowtrainingjob": "j",
            "replica-type": "worker",
            "replica-index": "0",
        },
        "ports": [{"name": "tf-port", "port": 2222}],
    }
    assert found["metadata"]["labels"]["tensorstack.dev/component"] == "tensorflowtrainingjob"


def test_children_are_controlled_by_their_job() -> None:
    (found,) = first_pods(training_job("W1")).values()
    assert found["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "TensorFlowTrainingJob",
            "name": "j",
            "uid": UID,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_a_second_job_of_one_name_has_children_of_other_names() -> None:
    job = training_job("W1")
    later = {**job, "metadata": {**job["metadata"], "uid": "another"}}
    assert not first_pods(job).keys() & first_pods(later).keys()


@pytest.mark.scenario("B-02")
def test_tf_config_of_workers_alone() -> None:
    found = first_pods(training_job("W4"))[name_of("worker", 2)]
    hosts = ",".join(f'"j-{ID}-worker-{index}:2222"' for index in range(4))
    assert tf_config(found) == (
        f'{{"cluster":{{"worker":[{hosts}]}},"task":{{"type":"worker","index":2}}}}'
    )


@pytest.mark.scenario("B-03")
def test_tf_config_of_a_parameter_server_byte_for_byte() -> None:
    found = first_pods(training_job("C1 P2 W4"))
    assert len(found) == 7
    j = f"j-{ID}"
    assert tf_config(found[f"{j}-ps-1"]) == (
        f'{{"cluster":{{"chief":["{j}-chief-0:2222"],'
        f'"ps":["{j}-ps-0:2222","{j}-ps-1:2222"],'
        f'"worker":["{j}-worker-0:2222","{j}-worker-1:2222","{j}-worker-2:2222",'
        f'"{j}-worker-3:2222"]}},"task":{{"type":"ps","index":1}}}}'
    )
    leaders = [name for name, each in found.items() if each["metadata"]["labels"].get("job-role")]
    assert leaders == [f"{j}-chief-0"]


@pytest.mark.scenario("B-04")
def test_evaluators_are_in_nobodys_cluster_and_know_what_they_are() -> None:
    found = first_pods(training_job("C1 P2 W4 E1"))
    evaluator = tf_config(found[name_of("evaluator", 0)])
    assert evaluator.endswith('"task":{"type":"evaluator","index":0}}')
    assert not any('"evaluator":[' in tf_config(each) for each in found.values())


def test_types_without_replicas_are_left_out_of_the_cluster() -> None:
    found = first_pods(training_job("C1 W0"))
    assert '"worker"' not in tf_config(found[name_of("chief", 0)])


def test_tf_config_of_the_user_is_replaced() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "TF_CONFIG", "value": "mine"}]
    template = {"spec": {"containers": [container(env=env)]}}
    (found,) = first_pods(of(replica(template=template))).values()
    assert [each["name"] for each in training_container(found)["env"]] == ["A", "TF_CONFIG"]
    assert tf_config(found) != "mine"


@pytest.mark.scenario("B-38")
def test_policy_of_the_template_gives_way() -> None:
    template = {"spec": {"restartPolicy": "Always", "containers": [container()]}}
    (found,) = first_pods(of(replica(template=template))).values()
    assert found["spec"]["restartPolicy"] == "Never"


def test_template_passes_through() -> None:
    spec = {
        "nodeSelector": {"a": "b"},
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
        "containers": [container(workingDir="/w"), container("other")],
    }
    metadata = {"labels": {"mine": "1"}, "annotations": {"a": "b"}}
    template = {"metadata": metadata, "spec": spec}
    (found,) = first_pods(of(replica(template=template))).values()
    assert found["spec"]["nodeSelector"] == {"a": "b"}
    assert found["spec"]["volumes"] == spec["volumes"]
    assert found["spec"]["containers"][1] == container("other")
    assert training_container(found)["workingDir"] == "/w"
    assert found["metadata"]["labels"]["mine"] == "1"
    assert found["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.scenario("B-23")
def test_pods_wait_for_their_group_and_carry_its_marks() -> None:
    play = Play(training_job("W4", scheduler=T9K))
    job = play.job
    assert isinstance(job, Job)
    plan = play.go(has_services=False)
    assert made(job, plan, "Pod") == {}
    (group,) = made(job, plan, "PodGroup").values()
    assert group["apiVersion"] == "scheduler.tensorstack.dev/v1beta1"
    assert group["metadata"]["name"] == "j"
    assert group["metadata"]["ownerReferences"][0]["uid"] == UID
    assert group["spec"] == {"minMember": 4, "queue": "default", "priority": 50}
    found = made(job, play.go(pod_group=GROUP), "Pod")
    assert len(found) == 4
    for each in found.values():
        assert each["spec"]["schedulerName"] == "t9k-scheduler"
        labels = each["metadata"]["labels"]
        assert labels["scheduler.tensorstack.dev/group-name"] == "j"
        assert labels["scheduler.tensorstack.dev/queue"] == "default"
        assert labels["scheduler.tensorstack.dev/role"] == "worker"


@pytest.mark.scenario("B-23")
def test_scheduler_of_the_template_gives_way_to_the_one_of_the_job() -> None:
    template = {"spec": {"schedulerName": "other", "containers": [container()]}}
    job = decoded(of(replica(template=template), scheduler=T9K))
    assert job.replicas[0].template["spec"]["schedulerName"] == "t9k-scheduler"
    without = decoded(of(replica(template=template)))
    assert without.replicas[0].template["spec"]["schedulerName"] == "other"


@pytest.mark.scenario("B-24")
def test_no_pod_is_created_where_the_group_cannot_be() -> None:
    play = Play(training_job("W4", scheduler=T9K))
    for _ in range(3):
        plan = play.go(has_services=False, create_error="no matches for kind PodGroup")
        assert [each.kind for each in plan.creates] == ["PodGroup"]
        assert play.status["phase"] == "Pending"
        assert play.condition("Initialized") == (
            "False",
            "PodGroupUnavailable",
            "The PodGroup cannot be created, so no pods are created: no matches for kind PodGroup",
        )
    job = decoded(training_job(scheduler=T9K))
    phrase = job.messages.group_create_failed
    assert phrase is not None
    assert phrase.reason == "PodGroupUnavailable"


def debugged() -> Json:
    init = [{"name": "i", "image": "i"}]
    probes: Json = {"livenessProbe": {}, "readinessProbe": {}, "startupProbe": {}}
    main = container(command=["python"], args=["train.py"], **probes)
    template = {"spec": {"initContainers": init, "containers": [container("side"), main]}}
    entry = {"type": "worker", "skipInitContainer": True, "command": ["/usr/bin/sshd"]}
    return of(
        replica("worker", 1, template=template),
        replica("ps", 1, template=template),
        runMode={"debug": {"enabled": True, "replicaSpecs": [entry]}},
    )


@pytest.mark.scenario("B-28")
def test_debugged_job_starts_something_else() -> None:
    found = first_pods(debugged())
    worker, server = found[name_of("worker", 0)], found[name_of("ps", 0)]
    assert training_container(worker)["command"] == ["/usr/bin/sshd"]
    assert "initContainers" not in worker["spec"]
    assert training_container(server)["command"] == ["sleep", "inf"]
    assert server["spec"]["initContainers"] == [{"name": "i", "image": "i"}]
    for each in found.values():
        main = training_container(each)
        assert not main.keys() & {"args", "livenessProbe", "readinessProbe", "startupProbe"}
        assert tf_config(each)
        assert each["spec"]["containers"][0] == container("side")


@pytest.mark.scenario("B-28")
def test_debugged_job_runs() -> None:
    play = Play(debugged())
    play.go(*pods(worker=1, ps=1))
    assert play.status["phase"] == "Running"


def test_debugging_beats_what_a_resumed_job_would_start() -> None:
    pause = {"resumeSpecs": [{"type": "worker", "command": ["a"], "skipInitContainer": True}]}
    play = Play(training_job(runMode={"pause": {**pause, "enabled": True}}))
    play.go()
    play.edit(runMode={"pause": pause, "debug": {"enabled": True}})
    job = play.job
    assert isinstance(job, Job)
    (found,) = made(job, play.go(), "Pod").values()
    assert training_container(found)["command"] == ["sleep", "inf"]


def planned(given: Json, children: Children) -> Plan:
    play = Play(given)
    return play.go(*children.pods)


def test_pod_that_is_there_is_not_recreated() -> None:
    plan = planned(training_job("W2"), Children(pods=[pod("worker", 0)]))
    assert [each.name for each in plan.creates if each.kind == "Pod"] == [name_of("worker", 1)]
