"""The TensorBoard of a job: its kind, its log sources, its status and warnings."""

from typing import Any

import pytest

from tests.support.builders import events_of
from tests.unit.dialects.tensorstack.jobs import (
    ID,
    UID,
    Json,
    Play,
    decoded,
    made,
    pod,
    training_job,
)
from tests.unit.dialects.tensorstack.verdicts import board
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.k8s.child_types import CompanionObject, CompanionSpec, CompanionStatus
from tfjob.k8s.meta import ObjectMeta, OwnerReference

NAME = f"j-{ID}"
SERVED = frozenset({"tensorstack.dev/v1beta1/tensorboards"})
LOGS: Json = {"trainingLogFilesets": ["t9k://pvc/p/log"]}
OWN_KEY, VENDOR_KEY = ("Deployment", NAME), ("TensorBoard", NAME)


def standing(**status: Any) -> CompanionObject:
    return CompanionObject(
        metadata=ObjectMeta(
            name=NAME, uid="board", owner_references=[OwnerReference(uid=UID, controller=True)]
        ),
        spec=CompanionSpec(replicas=1),
        status=CompanionStatus(**status),
    )


def first(play: Play) -> tuple[Job, Plan]:
    job = play.job
    assert isinstance(job, Job)
    return job, play.go()


@pytest.mark.scenario("B-32")
def test_vendors_kind_is_used_where_the_cluster_has_it() -> None:
    play = Play(board(**LOGS), served=SERVED)
    job, plan = first(play)
    (found,) = made(job, plan, "TensorBoard").values()
    assert found["apiVersion"] == "tensorstack.dev/v1beta1"
    assert found["metadata"]["name"] == NAME
    assert found["metadata"]["ownerReferences"][0]["uid"] == UID
    assert found["spec"] == board(**LOGS)["spec"]["tensorboardSpec"]
    assert made(job, plan, "Deployment") == {}
    play.go(pod(), companions={VENDOR_KEY: standing(phase="Running")})
    assert play.status["tensorboard"] == {
        "name": NAME,
        "dependent": {
            "apiVersion": "tensorstack.dev/v1beta1",
            "kind": "TensorBoard",
            "name": NAME,
            "namespace": "n",
            "uid": "board",
        },
        "ready": True,
        "reason": "DependentReady",
        "action": "NOP",
        "note": f"TensorBoard [{NAME}] is ready",
        "type": "Normal",
    }


@pytest.mark.scenario("B-32")
@pytest.mark.parametrize("policy", ["None", "All", "Unfinished"])
def test_tensorboard_stays_after_the_end(policy: str) -> None:
    given = training_job(
        tensorboardSpec={"image": "i", **LOGS}, runPolicy={"cleanUpPolicy": policy}
    )
    play = Play(given, served=SERVED)
    there = {VENDOR_KEY: standing(phase="Running")}
    for _ in range(3):
        plan = play.go(pod("worker", 0, "Succeeded"), companions=there)
        assert NAME not in [each.name for each in plan.deletes]
    assert play.status["phase"] == "Succeeded"
    assert play.status["tensorboard"]["ready"] is True


@pytest.mark.scenario("B-33")
def test_a_deployment_and_a_service_are_created_where_the_kind_is_missing() -> None:
    job, plan = first(Play(board(**LOGS)))
    deployment = made(job, plan, "Deployment")[NAME]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "t9kpublic/tensorboard:2.11.0"
    assert container["command"] == [
        *("tensorboard", "--logdir", "/t9k/tensorboard"),
        *("--host", "0.0.0.0", "--port", "6006"),  # noqa: S104 - text of the contract
    ]
    (mount,) = container["volumeMounts"]
    (volume,) = deployment["spec"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"] == {"claimName": "p", "readOnly": True}
    assert mount == {
        "name": volume["name"],
        "mountPath": "/t9k/tensorboard/0-p",
        "subPath": "log",
        "readOnly": True,
    }
    labels = {"tensorflowtrainingjob": "j", "app": "tensorboard"}
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["selector"] == {"matchLabels": labels}
    watched = {"tensorstack.dev/component": "tensorflowtrainingjob"}
    assert deployment["spec"]["template"]["metadata"]["labels"] == labels | watched
    service = made(job, plan, "Service")[NAME]
    assert service["spec"]["selector"] == labels
    assert service["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": 6006}]


@pytest.mark.scenario("B-33")
def test_status_follows_the_deployment() -> None:
    play = Play(board(**LOGS))
    reasons = []
    for ready in (0, 1):
        play.go(pod(), companions={OWN_KEY: standing(ready_replicas=ready)})
        reasons.append((play.status["tensorboard"]["ready"], play.status["tensorboard"]["reason"]))
    assert reasons == [(False, "DependentNotReady"), (True, "DependentReady")]
    assert play.status["tensorboard"]["dependent"]["kind"] == "Deployment"


def test_tensorboard_that_cannot_start_says_why() -> None:
    play = Play(board(**LOGS))
    refused = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: q"}
    play.go(pod(), companions={OWN_KEY: standing(conditions=[refused])})
    found = play.status["tensorboard"]
    assert (found["ready"], found["type"]) == (False, "Warning")
    assert found["note"] == f"TensorBoard [{NAME}] is not ready: exceeded quota: q"


def test_one_volume_serves_all_folders_of_a_claim() -> None:
    given = board(
        trainingLogFilesets=["t9k://pvc/p/a", "t9k://pvc/q"],
        logDir={"pvc": [{"name": "p", "subPath": ["b", "/c/"]}, {"name": "q"}]},
    )
    deployment = next(each for each in decoded(given).companions if each.kind == "Deployment")
    pod_spec = deployment.manifest["spec"]["template"]["spec"]
    claims = [each["persistentVolumeClaim"]["claimName"] for each in pod_spec["volumes"]]
    assert claims == ["p", "q"]
    mounts = pod_spec["containers"][0]["volumeMounts"]
    assert [(each["mountPath"], each.get("subPath")) for each in mounts] == [
        ("/t9k/tensorboard/0-p", "a"),
        ("/t9k/tensorboard/1-q", None),
        ("/t9k/tensorboard/2-p", "b"),
        ("/t9k/tensorboard/3-p", "c"),
        ("/t9k/tensorboard/4-q", None),
    ]


@pytest.mark.parametrize(
    "logs",
    [
        {"trainingLogFilesets": ["t9k://minio/secret/bucket/a"]},
        {"logDir": {"s3": {"uri": ["s3://bucket/a"]}}},
        {"logDir": {"http": {"url": ["http://example.invalid/a"]}}},
    ],
    ids=["minio", "s3", "http"],
)
def test_logs_that_only_the_vendors_kind_reads_are_reported_and_do_not_block_the_job(
    logs: Json,
) -> None:
    play = Play(board(**logs))
    job, plan = first(play)
    assert made(job, plan, "Deployment") == {}
    assert len(made(job, plan, "Pod")) == 1
    (told,) = [each for each in events_of(plan) if each[1] == "TensorBoardUnsupported"]
    assert told[0] == "Warning"
    assert play.status["tensorboard"]["type"] == "Warning"
    play.go(pod())
    assert play.status["phase"] == "Running"
    vendors = Play(board(**logs), served=SERVED)
    job, plan = first(vendors)
    assert [each for each in events_of(plan) if each[1] == "TensorBoardUnsupported"] == []
    assert len(made(job, plan, "TensorBoard")) == 1


def test_volumes_are_read_although_something_else_cannot_be() -> None:
    filesets = ["t9k://pvc/p/log", "t9k://minio/secret/bucket"]
    job = decoded(board(trainingLogFilesets=filesets))
    assert [each.kind for each in job.companions] == ["Deployment", "Service"]
    ((_, told),) = job.warnings
    assert "t9k://minio/secret/bucket" in told
    assert "t9k://pvc/p/log" not in told


def test_suspended_tensorboard_has_no_pods_and_can_be_woken() -> None:
    play = Play(board(**LOGS, suspend=True))
    job, plan = first(play)
    assert made(job, plan, "Deployment")[NAME]["spec"]["replicas"] == 0
    there = {OWN_KEY: standing(ready_replicas=1)}
    (change,) = play.go(pod(), companions=there).updates
    assert change.body == {"spec": {"replicas": 0}}
    play.edit(tensorboardSpec=board(**LOGS)["spec"]["tensorboardSpec"])
    assert play.go(pod(), companions=there).updates == []


def test_vendors_tensorboard_is_suspended_in_its_own_words() -> None:
    (companion,) = decoded(board(suspend=True), served=SERVED).companions
    assert companion.enforced_spec == {"suspend": True}


@pytest.mark.parametrize(
    ("key", "before", "after", "kinds"),
    [
        (OWN_KEY, frozenset(), SERVED, ["Deployment", "Service"]),
        (VENDOR_KEY, SERVED, frozenset(), ["TensorBoard"]),
    ],
)
def test_tensorboard_that_stands_stays_of_its_kind(
    key: tuple[str, str], before: frozenset[str], after: frozenset[str], kinds: list[str]
) -> None:
    play = Play(board(**LOGS), served=before)
    play.go(pod(), companions={key: standing()})
    given = {**board(**LOGS), "status": play.status}
    assert [each.kind for each in decoded(given, served=after).companions] == kinds


@pytest.mark.parametrize("stored", [3, {"dependent": 3}, {"dependent": {"uid": 1, "kind": []}}])
def test_malformed_status_of_a_tensorboard_says_nothing(stored: Any) -> None:
    given = {**board(**LOGS), "status": {"tensorboard": stored}}
    assert [each.kind for each in decoded(given, served=SERVED).companions] == ["TensorBoard"]


def test_tensorboard_that_is_not_made_yet_follows_the_cluster() -> None:
    play = Play(board(**LOGS))
    play.go(pod())
    given = {**board(**LOGS), "status": play.status}
    assert [each.kind for each in decoded(given, served=SERVED).companions] == ["TensorBoard"]


def test_queue_and_resources_are_passed_on() -> None:
    given = board(
        scheduler={"t9kScheduler": {"queue": "q"}}, resources={"limits": {"cpu": 1}}, **LOGS
    )
    template = decoded(given).companions[0].manifest["spec"]["template"]
    assert template["spec"]["schedulerName"] == "t9k-scheduler"
    assert template["metadata"]["labels"]["scheduler.tensorstack.dev/queue"] == "q"
    assert template["spec"]["containers"][0]["resources"] == {"limits": {"cpu": 1}}
    other = (
        decoded(given, options={"t9k-pod-group-backend": "none"})
        .companions[0]
        .manifest["spec"]["template"]
    )
    assert "schedulerName" not in other["spec"]


def test_tensorboard_that_cannot_be_created_is_reported_and_does_not_block_the_job() -> None:
    play = Play(board(**LOGS))
    play.go(pod(), create_error="deployments.apps is forbidden")
    told = play.status["tensorboard"]
    assert (told["type"], told["note"]) == ("Warning", "deployments.apps is forbidden")
    assert play.status["phase"] == "Running"
    assert play.conditions["Initialized"] == "True"


def test_trouble_with_pods_is_not_blamed_on_the_tensorboard() -> None:
    play = Play(board(**LOGS))
    play.go(create_error="pods is forbidden")
    assert play.status["tensorboard"]["type"] == "Normal"


def test_job_waits_for_its_tensorboard_to_be_initialized() -> None:
    play = Play(board(**LOGS))
    play.go(pod())
    assert "Initialized" not in play.conditions


def test_job_without_a_tensorboard_says_nothing_of_one() -> None:
    play = Play(training_job())
    play.go()
    assert "tensorboard" not in play.status
