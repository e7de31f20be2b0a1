"""New and edited TensorFlowTrainingJobs and the verdict on each.

What an API server and the offline check must agree on. The texts are parts of what the API server
says; the offline check may say more.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.unit.dialects.tensorstack.jobs import Json, container, replica, training_job
from tfjob.dialects.tensorstack import validation_messages

SPECS = "spec.replicaSpecs"
T9K = {"t9kScheduler": {"queue": "default", "priority": 50}}
BOARD = {"image": "t9kpublic/tensorboard:2.11.0"}


def named(name: str, roles: str = "W1") -> Json:
    return {**training_job(roles), "metadata": {"name": name}}


def of(*replicas: Mapping[str, Any], **spec: Any) -> Json:
    job = training_job(**spec)
    job["spec"]["replicaSpecs"] = list(replicas)
    return job


def policy(**fields: Any) -> Json:
    return training_job(runPolicy=fields)


def queue(**fields: Any) -> Json:
    return training_job(scheduler={"t9kScheduler": fields})


def mode(**fields: Any) -> Json:
    return training_job(runMode=fields)


def board(**fields: Any) -> Json:
    return training_job(tensorboardSpec={**BOARD, **fields})


def containers(*found: Json) -> Json:
    return of(replica(template={"spec": {"containers": list(found)}}))


ACCEPTED: dict[str, Json] = {
    "smallest": training_job(),
    "all types": training_job("C1 P2 W4 E2", restart="OnFailure"),
    "chief alone": training_job("C1"),
    "chief without workers": training_job("C1 W0"),
    "no number": of(replica(count=None)),
    "longest name": named("a" * 45),
    "clean-up": policy(cleanUpPolicy="Unfinished", backoffLimit=0, activeDeadlineSeconds=1),
    "clean-up in small letters": policy(cleanUpPolicy="none"),
    "clean-up in its older place": policy(cleanPodPolicy="ALL"),
    "queue": queue(queue="default", priority=100),
    "no scheduler in its block": training_job(scheduler={}),
    "debug": mode(debug={"enabled": True, "replicaSpecs": [{"type": "worker"}]}),
    "debug in older words": mode(debug={"enable": True}),
    "pause": mode(
        pause={
            "enabled": True,
            "resumeSpecs": [{"type": "worker", "command": ["a"], "args": ["b"]}],
        }
    ),
    "filesets": board(
        trainingLogFilesets=[
            "t9k://pvc/p",
            "t9k://pvc/p/",
            "t9k://pvc/my.claim-1/a/b",
            "t9k://minio/secret/bucket",
            "t9k://minio/secret/bucket/a/b",
        ]
    ),
    "log folders": board(
        logDir={
            "pvc": [{"name": "p", "subPath": ["a", "b"]}, {"name": "q"}],
            "s3": {"secretRef": {"name": "s"}, "uri": ["s3://b/a"]},
            "http": {"url": ["http://example.invalid"]},
        },
        suspend=True,
        scheduler={"t9kScheduler": {"queue": "default"}},
        resources={"limits": {"cpu": 1, "memory": "1Gi"}},
    ),
    "sidecar": containers(container("logger"), container()),
    "policy in the template": of(
        replica(template={"spec": {"restartPolicy": "Always", "containers": [container()]}})
    ),
}

REFUSED: dict[str, tuple[Json, tuple[str, ...]]] = {
    "no entry": (of(), (SPECS, "should have at least 1 items")),
    "no list": ({**training_job(), "spec": {}}, (f"{SPECS}: Required value",)),
    "no type": (
        of({"template": replica()["template"]}),
        (f"{SPECS}[0].type: Required value",),
    ),
    "type in capitals": (
        of(replica("Worker")),
        (f'{SPECS}[0].type: Unsupported value: "Worker"',),
    ),
    "unknown type": (of(replica(), replica("launcher")), (f"{SPECS}[1].type: Unsupported value",)),
    "type twice": (of(replica(), replica()), (SPECS, "two entries have the type worker")),
    "two chiefs": (training_job("C2 W1"), (validation_messages.ONE_CHIEF,)),
    "no chief": (training_job("C0 W1"), (validation_messages.ONE_CHIEF,)),
    "no master": (training_job("P2"), (validation_messages.NO_MASTER,)),
    "no worker": (training_job("P1 W0"), (validation_messages.NO_MASTER,)),
    "less than none": (of(replica(count=-1)), ("greater than or equal to 0",)),
    "too many of one": (of(replica(count=5001)), ("less than or equal to 5000",)),
    "too many together": (training_job("W3000 P3000"), (validation_messages.MANY_REPLICAS,)),
    "no tensorflow": (
        containers(container("trainer")),
        (
            (
                f"{SPECS}[0].template.spec.containers: Required value: "
                f"{validation_messages.NO_CONTAINERS}"
            ),
        ),
    ),
    "no containers": (containers(), (validation_messages.NO_CONTAINERS,)),
    "no template": (of({"type": "worker"}), (f"{SPECS}[0].template",)),
    "no image": (
        containers({"name": "tensorflow"}),
        (
            (
                f"{SPECS}[0].template.spec.containers[0].image: Required value: "
                f"{validation_messages.NO_IMAGE}"
            ),
        ),
    ),
    "unknown policy": (
        training_job(restart="Sometimes"),
        (f'{SPECS}[0].restartPolicy: Unsupported value: "Sometimes"',),
    ),
    "negative limit": (policy(backoffLimit=-1), ("spec.runPolicy.backoffLimit",)),
    "no time": (policy(activeDeadlineSeconds=0), ("spec.runPolicy.activeDeadlineSeconds",)),
    "unknown clean-up": (
        policy(cleanUpPolicy="Running"),
        ("spec.runPolicy.cleanUpPolicy", "None, All or Unfinished"),
    ),
    "unknown clean-up in its older place": (
        policy(cleanPodPolicy=""),
        ("spec.runPolicy.cleanPodPolicy",),
    ),
    "no queue": (
        queue(priority=1),
        (f"t9kScheduler.queue: Required value: {validation_messages.NO_QUEUE}",),
    ),
    "empty queue": (queue(queue=""), (validation_messages.NO_QUEUE,)),
    "high priority": (queue(queue="q", priority=101), ("less than or equal to 100",)),
    "low priority": (queue(queue="q", priority=-1), ("greater than or equal to 0",)),
    "debug of an absent type": (
        mode(debug={"replicaSpecs": [{"type": "ps"}]}),
        ("spec.runMode.debug.replicaSpecs", "the type ps is not among spec.replicaSpecs"),
    ),
    "debug of one type twice": (
        mode(debug={"replicaSpecs": [{"type": "worker"}, {"type": "worker"}]}),
        ("spec.runMode.debug.replicaSpecs",),
    ),
    "resumption of an absent type": (
        mode(pause={"resumeSpecs": [{"type": "chief"}]}),
        ("the type chief is not among spec.replicaSpecs",),
    ),
    "resumption of one type twice": (
        mode(pause={"resumeSpecs": [{"type": "worker"}, {"type": "worker"}]}),
        ("spec.runMode.pause.resumeSpecs",),
    ),
    "resumption without a type": (
        mode(pause={"resumeSpecs": [{"command": ["a"]}]}),
        ("spec.runMode.pause.resumeSpecs[0].type",),
    ),
    "fileset of another kind": (
        board(trainingLogFilesets=["pvc://p/log"]),
        ("spec.tensorboardSpec.trainingLogFilesets[0]", validation_messages.FILESET),
    ),
    "bucket without a name": (
        board(trainingLogFilesets=["t9k://minio/secret"]),
        (validation_messages.FILESET,),
    ),
    "TensorBoard without an image": (
        training_job(tensorboardSpec={"suspend": False}),
        (f"spec.tensorboardSpec.image: Required value: {validation_messages.NO_IMAGE}",),
    ),
    "long name": (
        named("a" * 46),
        ("metadata.name", "must be no more than 45 characters because the names of pods"),
    ),
    "long name and high index": (
        named("a" * 44, "W101"),
        ("metadata.name", "must be no more than 43 characters because the names of pods"),
    ),
    "name that begins with a digit": (
        named("0-j"),
        ("metadata.name", validation_messages.BAD_NAME),
    ),
    "name with a dot": (named("a.b"), ("metadata.name", validation_messages.BAD_NAME)),
    "several faults": (
        of(replica("worker", -1), replica("ps", 1, restartPolicy="No")),
        ("greater than or equal to 0", "restartPolicy"),
    ),
}


class Edit(NamedTuple):
    """A stored spec, a change of its parts, and what is said: nothing where it is taken."""

    before: Json
    change: Json
    says: str = ""


def frozen(part: str) -> str:
    return f"{part} {validation_messages.IMMUTABLE}"


PAUSED = {"runMode": {"pause": {"enabled": True}}}
EDITS: dict[str, Edit] = {
    "pause": Edit({}, PAUSED),
    "resume": Edit(PAUSED, {"runMode": {"pause": {"enabled": False}}}),
    "resume in older words": Edit(
        {"runMode": {"pause": {"enable": True}}}, {"runMode": {"pause": {"enable": False}}}
    ),
    "pause taken out": Edit(PAUSED, {"runMode": {}}),
    "TensorBoard to sleep": Edit(
        {"tensorboardSpec": BOARD}, {"tensorboardSpec": {**BOARD, "suspend": True}}
    ),
    "nothing": Edit({"scheduler": T9K, "runPolicy": {"backoffLimit": 1}}, {}),
    "more replicas": Edit(
        {},
        {"replicaSpecs": [replica(count=2)]},
        f"spec.replicaSpecs: Invalid value: {frozen('replicaSpecs')}",
    ),
    "another image": Edit(
        {},
        {"replicaSpecs": [replica(template={"spec": {"containers": [container(image="other")]}})]},
        frozen("replicaSpecs"),
    ),
    "a field that the schema does not name": Edit(
        {},
        {
            "replicaSpecs": [
                replica(template={"spec": {"nodeName": "n", "containers": [container()]}})
            ]
        },
        frozen("replicaSpecs"),
    ),
    "another limit": Edit(
        {"runPolicy": {"backoffLimit": 1}}, {"runPolicy": {"backoffLimit": 2}}, frozen("runPolicy")
    ),
    "a policy": Edit({}, {"runPolicy": {"backoffLimit": 2}}, frozen("runPolicy")),
    "another queue": Edit(
        {"scheduler": T9K}, {"scheduler": {"t9kScheduler": {"queue": "q"}}}, frozen("scheduler")
    ),
    "no queue any more": Edit({"scheduler": T9K}, {"scheduler": None}, frozen("scheduler")),
    "debugging": Edit(
        PAUSED,
        {"runMode": {"pause": {"enabled": True}, "debug": {"enabled": True}}},
        frozen("runMode.debug"),
    ),
    "another resumption": Edit(
        PAUSED,
        {"runMode": {"pause": {"enabled": True, "resumeSpecs": [{"type": "worker"}]}}},
        frozen("runMode.pause.resumeSpecs"),
    ),
    "a TensorBoard": Edit({}, {"tensorboardSpec": BOARD}, frozen("tensorboardSpec")),
    "no TensorBoard any more": Edit(
        {"tensorboardSpec": BOARD}, {"tensorboardSpec": None}, frozen("tensorboardSpec")
    ),
    "another TensorBoard": Edit(
        {"tensorboardSpec": BOARD}, {"tensorboardSpec": {"image": "b"}}, frozen("tensorboardSpec")
    ),
    "other logs": Edit(
        {"tensorboardSpec": BOARD},
        {"tensorboardSpec": {**BOARD, "trainingLogFilesets": ["t9k://pvc/p"]}},
        frozen("tensorboardSpec"),
    ),
}


def edited(edit: Edit) -> tuple[Json, Json]:
    """The stored job and the one that shall replace it."""
    before = training_job(**edit.before)
    spec = {**before["spec"], **edit.change}
    return before, {**before, "spec": {key: each for key, each in spec.items() if each is not None}}
