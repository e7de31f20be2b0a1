"""Single lines of the published documents, and what became of each.

A test is named after the document and the line. Where the operator does not do what a line says,
the test shows what it does instead.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import seeds
from tests.support.builders import (
    Passes,
    a_job,
    a_pod,
    at,
    conditions_of,
    created_names,
    decide,
    deleted_names,
    events_of,
    manifest,
    pods,
    status_after,
)
from tests.unit.core.test_last_failures import restarted
from tests.unit.dialects.rendering import pods_of, training_container
from tests.unit.dialects.tensorflow import jobs as v1alpha1
from tests.unit.dialects.tensorstack import jobs as t9k
from tfjob.cli.advice import advice
from tfjob.core.companion_problem import companion_problem
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.kubeflow import api
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.registry import DESCRIPTORS, dialect_for
from tfjob.k8s.child_types import CompanionObject
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
    Terminated,
    Waiting,
)

Json = dict[str, Any]
ROOT = Path(__file__).parents[3]
NO_NODE = PodCondition(
    type="PodScheduled", status="False", reason="Unschedulable", message="0/3 nodes are available"
)
OVERRULED = "Restart policy in pod template will be overwritten by restart policy in replica spec"


def read(name: str) -> Job:
    given = {**seeds.submitted(name)}
    given["metadata"] = {"name": "j", "namespace": "n", "uid": "U", **given["metadata"]}
    dialect = dialect_for(given["apiVersion"], given["kind"])
    assert dialect is not None
    job = dialect.decode(given, Settings())
    assert isinstance(job, Job), job
    return job


def example(folder: str) -> list[Json]:
    text = (ROOT / "examples" / folder / "job.yaml").read_text("utf-8")
    return list(yaml.safe_load_all(text))


def shown(passes: Passes) -> Json:
    """The status as users read it."""
    found: Json = KubeflowV1().encode_status(passes.job, passes.job.status, StatusContext())
    return found


def test_seed_000_line_134_to_559_guide_has_a_section_for_each_topic() -> None:
    text = (ROOT / "docs/guide/kubeflow-v1.md").read_text("utf-8")
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "Replica types",
        "When does a job succeed?",
        "Restart policies",
        "Limits and clean-up",
        "Changing a job",
        "Conditions",
        "Events",
        "GPUs",
        "Secrets and volumes",
        "Logs",
        "What is wrong with my job?",
    ]


def test_seed_000_line_174_example_has_its_job_and_its_volume() -> None:
    claim, job = example("09-mnist-with-summaries")
    assert (claim["kind"], claim["metadata"]["name"]) == (
        "PersistentVolumeClaim",
        "tfevent-volume",
    )
    (volume,) = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == "tfevent-volume"


@pytest.mark.parametrize("folder", ["10-smoke-test", "11-gpu", "12-secret"])
def test_seed_000_line_222_examples_of_the_chapter_are_valid(folder: str) -> None:
    job = example(folder)[-1]
    assert KubeflowV1().validate(job) == []


def test_seed_000_line_340_condition_says_that_the_job_is_created() -> None:
    passes = Passes(manifest("W1", name="mnist", namespace="kubeflow"))
    passes.go()
    (created,) = passes.job.status.conditions
    assert created.message == "TFJob mnist is created."
    assert created.reason == "TFJobCreated"


def test_seed_000_line_346_message_about_running_names_the_namespace() -> None:
    passes = Passes(manifest("W1"))
    passes.go(*pods(worker="R"))
    assert passes.job.status.conditions[-1].message == "TFJob n/j is running."


def test_seed_000_line_352_running_pods_are_counted_as_active() -> None:
    passes = Passes(manifest("W1"))
    passes.go(*pods(worker="R"))
    counted = shown(passes)["replicaStatuses"]["Worker"]
    assert counted["active"] == 1
    assert "running" not in counted


def test_seed_000_line_367_job_runs_with_its_first_deciding_replica() -> None:
    passes = Passes(manifest("W2"))
    passes.go(*pods(worker="RP"))
    assert passes.conditions == ["Created", "Running"]
    assert shown(passes)["replicaStatuses"]["Worker"]["active"] == 1


def test_seed_000_line_368_container_restarted_in_its_pod_leaves_the_job_running() -> None:
    passes = Passes(manifest("W1", restart="OnFailure"))
    passes.go(*pods(worker="R"))
    passes.go(restarted(code=1))
    assert passes.conditions == ["Created", "Running"]


def test_seed_000_line_374_restarted_parameter_server_leaves_the_verdict_to_the_chief() -> None:
    passes = Passes(manifest("C1 P1", restart="ExitCode"))
    passes.go(*pods(chief="R", ps="K"))
    assert passes.conditions == ["Created", "Restarting"]
    passes.go(*pods(chief="S", ps="R"))
    assert passes.conditions[-1] == "Succeeded"


def test_seed_000_line_374_parameter_server_with_never_fails_the_job_and_is_warned_about() -> None:
    job = a_job("C1 P1", restart="Never")
    assert conditions_of(status_after(job, decide(job, *pods(chief="R", ps="F"))))[-1] == "Failed"
    (warning,) = advice(job)
    assert warning.startswith("PS: with restartPolicy Never one lost parameter server fails")


def test_seed_000_line_386_server_that_still_runs_is_counted_as_succeeded() -> None:
    passes = Passes(manifest("P1 W1"))
    plan = passes.go(*pods(ps="R", worker="S"))
    assert passes.conditions[-1] == "Succeeded"
    assert shown(passes)["replicaStatuses"]["PS"]["succeeded"] == 1
    assert plan.deletes == []


def test_seed_000_line_470_events_come_from_tfjob_controller() -> None:
    assert api.OPERATOR == "tfjob-controller"
    assert KubeflowV1().component == api.OPERATOR


def test_seed_000_line_478_failed_pod_keeps_its_log_until_its_successor_is_due() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    passes.go(a_pod("worker", 0, "Failed", exit_code=137, uid="first"))
    failed = a_pod("worker", 0, "Failed", exit_code=137, uid="second")
    assert passes.go(failed, now=at(1)).deletes == []
    assert deleted_names(passes.go(failed, now=at(11)), "Pod") == ["j-worker-0"]
    assert created_names(passes.go(now=at(12)), "Pod") == ["j-worker-0"]


def test_seed_000_line_491_limit_ends_what_runs_and_keeps_its_exit_code() -> None:
    policy = {"backoffLimit": 1, "cleanPodPolicy": "None"}
    passes = Passes(manifest("W2", restart="OnFailure", run_policy=policy))
    plan = passes.go(restarted(code=3, said="no data"), a_pod("worker", 1, "Failed", exit_code=1))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert plan.writes_status_first
    assert passes.job.status.conditions[-1].message.endswith(
        "container tensorflow of pod j-worker-0 exited with code 3 (Error): no data"
    )


def test_seed_000_line_523_policy_inside_the_template_is_overruled_with_an_event() -> None:
    told = events_of(decide(read("000-tf-smoke-gpu")))
    assert ("Warning", "SetPodTemplateRestartPolicy", OVERRULED) in told


def test_seed_001_line_18_example_has_a_parameter_server_without_a_template() -> None:
    (job,) = [each for each in example("07-default-parameter-servers") if each["kind"] == "TfJob"]
    types = {each["tfReplicaType"]: "template" in each for each in job["spec"]["replicaSpecs"]}
    assert types == {"MASTER": True, "WORKER": True, "PS": False}


def test_seed_001_line_24_each_api_has_a_short_name_of_its_own() -> None:
    names = [each.stored.short_name for each in DESCRIPTORS]
    assert names == sorted({*names}, key=names.index) == ["tfj", "tfjalpha", "tj"]


@pytest.mark.parametrize("restarts", [0, 1])
@pytest.mark.parametrize(
    "now", [v1alpha1.up(), ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))]
)
def test_seed_001_line_198_permanent_exit_of_the_master_decides_and_stops_it(
    now: ContainerState, restarts: int
) -> None:
    life = v1alpha1.Life(v1alpha1.example()).go(Children()).go()
    ended = Terminated(exit_code=3, reason="Error", message="no data\n")
    last = ContainerState(terminated=ended)
    master = v1alpha1.a_pod(state=now, last=last, restarts=restarts)
    failed = v1alpha1.around(life.job, master, v1alpha1.a_pod("WORKER"))
    life.go(failed)
    assert life.shown == ("Done", "Failed")
    life.go(failed)
    assert [(each.name, each.body) for each in life.plan.updates] == [
        ("master-76no-0", {"spec": {"suspend": True}})
    ]
    life.go(v1alpha1.around(life.job, v1alpha1.a_pod("WORKER")))  # the pod is gone with its log
    told = life.status["diagnosis"]
    assert (told["cause"], told["replica"]) == ("ProgramFailed", "master-0")
    assert (told["exitCode"], told["lastLines"]) == (3, "no data")


@pytest.mark.parametrize("name", ["001-gpu", "001-tensorboard-on-azure", "001-tensorboard-on-gke"])
def test_seed_001_line_252_and_294_and_334_old_gpu_is_asked_for_under_its_new_name(
    name: str,
) -> None:
    job = read(name)
    container = job.replicas[0].template["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}
    ((reason, message),) = job.warnings
    assert reason == "LegacyGPU"
    assert message.endswith("write nvidia.com/gpu")


def test_seed_001_line_337_tensorboard_reads_the_bucket_that_the_job_writes_to() -> None:
    job = read("001-tensorboard-on-gke")
    (board,) = [each for each in job.companions if each.kind == "Deployment"]
    (container,) = board.manifest["spec"]["template"]["spec"]["containers"]
    said = " ".join([*container.get("command", ()), *container.get("args", ())])
    assert "gs://my-bucket/logdir" in said


def test_seed_001_line_355_proxy_reaches_tensorboard_at_port_80_of_its_service() -> None:
    services = [
        each for each in read("001-example-job-as-stored").companions if each.kind == "Service"
    ]
    assert [(each.name, each.manifest["spec"]["ports"][0]["port"]) for each in services] == [
        ("tensorboard-76no", 80)
    ]


def test_seed_001_line_366_chart_installs_this_api_only_when_asked() -> None:
    values = yaml.safe_load((ROOT / "charts/tfjob/values.yaml").read_text("utf-8"))
    assert values["dialects"]["tensorflow"] is False


def test_seed_001_line_531_guide_shows_the_filter_for_the_log_of_a_pod() -> None:
    text = (ROOT / "docs/guide/tfjob-v1alpha1.md").read_text("utf-8")
    assert 'resource.type="k8s_container"\nresource.labels.pod_name="worker-76no-0-x7k2p"' in text


def test_seed_001_line_372_spec_gains_no_termination_policy() -> None:
    given = seeds.submitted("001-example-job")
    completed = v1alpha1.stored(given)["spec"]
    assert completed.keys() - given["spec"].keys() == {"RuntimeId", "tfImage"}


def test_seed_002_line_154_end_of_the_log_is_the_termination_message() -> None:
    for pod in pods_of(read("002-dist-mnist")).values():
        assert training_container(pod)["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_seed_002_line_191_to_207_spec_has_the_printed_fields() -> None:
    for version in KubeflowV1().crd()["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        assert {"runPolicy", "successPolicy", "tfReplicaSpecs"} <= spec.keys()
        assert "additionalProperties" in spec["tfReplicaSpecs"]


@pytest.mark.parametrize("name", ["003-example-tfjob", "003-module6-ex1-gpu"])
def test_seed_003_line_86_policy_inside_the_template_counts_for_nothing_and_is_warned_about(
    name: str,
) -> None:
    job = read(name)
    (pod,) = pods_of(job).values()
    assert pod["spec"]["restartPolicy"] == "Never"
    assert any("template.spec.restartPolicy is OnFailure" in each for each in advice(job))


def test_seed_003_line_98_state_stands_between_name_and_age() -> None:
    crd = KubeflowV1().crd()
    for version in crd["spec"]["versions"]:
        columns = [each["name"] for each in version["additionalPrinterColumns"]]
        assert columns[:2] == ["State", "Age"]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"waiting": ("ImagePullBackOff", "no such image")}, "ImagePullBackOff"),
        ({"conditions": [NO_NODE]}, "Unschedulable"),
    ],
)
def test_seed_003_line_110_pending_job_says_why(state: Json, reason: str) -> None:
    job = read("003-module6-ex1-gpu")
    plan = decide(job, a_pod("master", phase="Pending", job=job.name, **state))
    assert conditions_of(status_after(job, plan)) == ["Created"]
    assert reason in [each for _, each, _ in events_of(plan)]


@pytest.mark.parametrize("name", ["003-example-tfjob", "003-module6-ex1-gpu"])
def test_seed_003_line_130_pod_gets_no_volume_that_would_outlive_it(name: str) -> None:
    (entry,) = seeds.published(name)["spec"]["tfReplicaSpecs"].values()
    (pod,) = pods_of(read(name)).values()
    assert pod["spec"].get("volumes", []) == entry["template"]["spec"].get("volumes", [])


def test_seed_004_line_70_failed_replica_keeps_its_log_until_its_successor_is_due() -> None:
    play = t9k.running("W2", restart="OnFailure")
    play.go(*t9k.but("W2", t9k.pod("worker", 1, "Failed", uid="first")), now=at(1000))
    failed = t9k.but("W2", t9k.pod("worker", 1, "Failed", uid="second"))
    assert play.go(*failed, now=at(1001)).deletes == []
    assert [each.uid for each in play.go(*failed, now=at(1011)).deletes] == ["second"]


def test_seed_004_line_93_deadline_ends_what_runs_and_the_status_keeps_how_replicas_ended() -> None:
    policy = {"activeDeadlineSeconds": 60, "cleanUpPolicy": "None"}
    play = t9k.running("W2", runPolicy=policy)
    plan = play.go(*t9k.but("W2", t9k.pod("worker", 1, "Failed", code=3)), now=at(61))
    assert play.status["phase"] == "Failed"
    assert deleted_names(plan, "Pod") == [t9k.name_of("worker", 0)]
    assert play.replica("worker", 1)["containers"][0]["exitCode"] == 3


def test_seed_004_line_130_tensorboard_that_cannot_start_says_why() -> None:
    job = read("004-tensorboard")
    (board,) = [each for each in job.companions if each.kind == "Deployment"]
    labels = board.manifest["spec"]["selector"]["matchLabels"]
    waiting = Waiting(reason="ErrImagePull", message="no such image")
    pod = Pod(
        metadata=ObjectMeta(
            name=f"{board.name}-x",
            labels=labels,
            owner_references=[OwnerReference(uid="replicaset", controller=True)],
        ),
        status=PodStatus(
            container_statuses=[
                ContainerStatus(name="tensorboard", state=ContainerState(waiting=waiting))
            ]
        ),
    )
    there = {(board.kind, board.name): CompanionObject(metadata=ObjectMeta(name=board.name))}
    told = companion_problem(board, Children(companions=there, companion_pods=[pod]))
    assert told == "the image of container tensorboard cannot be pulled"
