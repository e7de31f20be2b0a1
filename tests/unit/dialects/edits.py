"""Edits of stored TFJobs and the verdict of a real API server on each.

The second half are objects from before the rules existed: they may stay as bad as they are.
"""

from typing import Any, NamedTuple

from tests.support.tfjobs import container, of_types, replica, tfjob
from tests.unit.dialects.verdicts import EXTERNAL, TWO_LEADERS, Json, long_name, unsupported

OURS = "kubeflow.org/training-operator"
MANAGER = "spec.runPolicy.managedBy: Invalid value: field is immutable"
QUEUE = "spec.runPolicy.schedulingPolicy.queue is immutable"
TYPES = "spec.tfReplicaSpecs"


class Update(NamedTuple):
    """A stored spec, a merge patch of it, and what is said: nothing where it is taken."""

    before: Json
    change: Json
    says: str = ""


def policy(**fields: Any) -> Json:
    return {"runPolicy": fields}


def queue(name: str | None) -> Json:
    return policy(schedulingPolicy={"queue": name})


UPDATES: dict[str, Update] = {
    "manager set": Update(policy(suspend=True), policy(managedBy=EXTERNAL), MANAGER),
    "manager set with its policy": Update({}, policy(managedBy=EXTERNAL), MANAGER),
    "our own manager set": Update({}, policy(managedBy=OURS), MANAGER),
    "manager unset": Update(policy(managedBy=EXTERNAL), policy(managedBy=None), MANAGER),
    "manager unset with its policy": Update(
        policy(managedBy=EXTERNAL), {"runPolicy": None}, MANAGER
    ),
    "manager changed": Update(policy(managedBy=EXTERNAL), policy(managedBy=OURS), MANAGER),
    "manager kept": Update(policy(managedBy=EXTERNAL), policy(suspend=True)),
    "policy added": Update({}, policy(suspend=True)),
    "policy removed": Update(policy(suspend=True), {"runPolicy": None}),
    "queue changed": Update(queue("a"), queue("b"), QUEUE),
    "queue set": Update({}, queue("a")),
    "queue removed": Update(queue("a"), queue(None)),
    "queue kept": Update(queue("a"), policy(schedulingPolicy={"minAvailable": 1})),
    "scaled": Update({}, {"tfReplicaSpecs": {"Worker": {"replicas": 5}}}),
    "scaled beyond the name": Update(
        {}, {"tfReplicaSpecs": {"Evaluator": replica(1)}}, long_name(51)
    ),
    "type added": Update({}, {"tfReplicaSpecs": {"PS": replica()}}),
    "unknown type added": Update({}, {"tfReplicaSpecs": {"Foo": replica()}}, unsupported("Foo")),
    "twin added": Update(
        {}, {"tfReplicaSpecs": {"worker": replica()}}, 'Duplicate value: "worker"'
    ),
    "all types removed": Update(
        {}, {"tfReplicaSpecs": {"Worker": None}}, f"{TYPES}: Required value"
    ),
    "limits changed": Update(policy(backoffLimit=1), policy(backoffLimit=2, suspend=True)),
}


class Stored(NamedTuple):
    """An object from before the rules, an edit that makes it worse, and what is said of that."""

    job: Json
    worse: Json
    says: str


def types(**replicas: Any) -> Json:
    return {"spec": {"tfReplicaSpecs": replicas}}


BARE = {"template": {"spec": {"containers": [container(image="")]}}}
STORED: dict[str, Stored] = {
    "0-bad": Stored(tfjob(), types(Foo=replica()), unsupported("Foo")),
    "a" * 60: Stored(tfjob("W20 P1"), types(Worker={"replicas": 200}), long_name(52)),
    "unknown-type": Stored(
        of_types(Worker=replica(), Launcher=replica()), types(Mover=replica()), "Unsupported value"
    ),
    "twins": Stored(
        of_types(Worker=replica(), worker=replica()), types(WORKER=replica()), 'Duplicate value: "'
    ),
    "two-leaders": Stored(
        of_types(Worker=replica(), CHIEF=replica(), Master=replica()),
        types(Chief=replica()),
        TWO_LEADERS,
    ),
    "two-chiefs": Stored(
        of_types(Worker=replica(), Chief=replica(2)),
        types(Chief={"replicas": 3}),
        "spec.tfReplicaSpecs[Chief].replicas in body should be less than or equal to 1",
    ),
    "many-replicas": Stored(
        of_types(Worker=replica(5_000), PS=replica(5)),
        types(PS={"replicas": 6}),
        "must be no more than 5000 replicas in total",
    ),
    "very-many-replicas": Stored(
        of_types(Worker=replica(20_000)),
        types(Worker={"replicas": 20_001}),
        "less than or equal to 5000",
    ),
    "unknown-policies": Stored(
        tfjob(restart="Sometimes", run_policy={"cleanPodPolicy": "Unfinished"}),
        {"spec": policy(cleanPodPolicy="Finished")},
        'Unsupported value: "Finished"',
    ),
    "no-image": Stored(
        of_types(Worker=replica(), PS=BARE),
        types(PS={"template": {"spec": {"containers": [container("main")]}}}),
        "must have at least one container with name tensorflow",
    ),
    "no-types": Stored({**tfjob(), "spec": {}}, types(Foo=replica()), unsupported("Foo")),
}
EDITS: dict[str, Json] = {
    "a label": {"metadata": {"labels": {"a": "b"}}},
    "a finalizer less": {"metadata": {"finalizers": None}},
    "suspension": {"spec": policy(suspend=True)},
    "another type": types(Worker={"restartPolicy": "OnFailure"}),
    "fewer of another type": types(Worker={"replicas": 0}),
}
