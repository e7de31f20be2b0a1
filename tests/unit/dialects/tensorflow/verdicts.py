"""New TfJobs and the verdict on each: what an API server and the offline check must agree on.

Faults of keys that may stand in other letters, or that are absent, are found by the offline check
alone: they are the second list.
"""

from typing import Any

from tests.unit.dialects.tensorflow.jobs import Json, entry, example, stored, template, tfjob


def chief(name: str | None = None, index: int | None = None) -> Json:
    named = {"replicaName": name, "replicaIndex": index}
    return {"chief": {key: value for key, value in named.items() if value is not None}}


def spec(**fields: Any) -> Json:
    return {**tfjob(), "spec": fields}


ACCEPTED: dict[str, Json] = {
    "published example": example(),
    "stored example": stored(example()),
    "template alone": tfjob({"template": template()}),
    "older key": spec(replica_specs=[entry()]),
    "keys in other letters": spec(
        REPLICASPECS=[{"TfReplicaType": "WORKER", "Template": template()}],
        TerminationPolicy={"Chief": {"ReplicaName": "WORKER"}},
        TensorBoard={"LogDir": "d"},
    ),
    "chief is a worker": tfjob(entry("WORKER", 2), terminationPolicy=chief("WORKER", 1)),
    "chief without an index": tfjob(entry("WORKER", 2), terminationPolicy=chief("WORKER")),
    "nulls": tfjob(
        entry(replicas=None, tfPort=None, tfReplicaType=None, IsDefaultPS=None),
        RuntimeId=None,
        tensorboard=None,
        terminationPolicy=None,
        tfImage=None,
    ),
    "own runtime id": tfjob(entry(), RuntimeId="run-1"),
    "empty runtime id": tfjob(entry(), RuntimeId=""),
    "zero workers and servers": tfjob(entry(), entry("WORKER", 0), entry("PS", 0)),
    "server with a sidecar alone": tfjob(entry(), entry("PS", template=template("side"))),
    "template as it is exported": tfjob(
        entry(template={"metadata": {"creationTimestamp": None}, **template()})
    ),
    "tensorboard as it is exported": tfjob(
        entry(),
        tensorboard={"logDir": "d", "serviceType": "", "volumes": None, "volumeMounts": None},
    ),
    "pods that never restart": tfjob(entry(template=template(restartPolicy="Never"))),
    "fields of later versions": tfjob(entry(), schedulerName="x"),
}
REFUSED: dict[str, tuple[Json, str]] = {
    "two masters": (tfjob(entry("MASTER", 2)), "The MASTER must have Replicas = 1"),
    "no master": (tfjob(entry("MASTER", 0)), "The MASTER must have Replicas = 1"),
    "unknown type": (
        tfjob(entry(), entry("EVALUATOR")),
        "tfReplicaSpec.TfReplicaType is EVALUATOR but must be one of [MASTER PS WORKER]",
    ),
    "type in small letters": (
        tfjob(entry(), entry("worker")),
        "tfReplicaSpec.TfReplicaType is worker but must be one of [MASTER PS WORKER]",
    ),
    "master without its container": (
        tfjob(entry("MASTER", template=template("main"))),
        "Replica type MASTER is missing a container named tensorflow",
    ),
    "worker without containers": (
        tfjob(entry(), entry("WORKER", template={"spec": {}})),
        "Replica type WORKER is missing a container named tensorflow",
    ),
    "chief of a type that is absent": (
        tfjob(entry("MASTER"), terminationPolicy=chief("WORKER", 0)),
        "Missing ReplicaSpec for chief: WORKER",
    ),
    "empty log folder": (
        tfjob(entry(), tensorboard={"logDir": ""}),
        "tbReplicaSpec.LogDir must be specified",
    ),
    "twins": (
        tfjob(entry(), entry("PS"), entry("PS")),
        "duplicate ReplicaSpec for type PS",
    ),
    "negative number": (tfjob(entry(), entry("WORKER", -1)), "replicas must not be negative"),
    "port zero": (tfjob(entry(tfPort=0)), "tfPort must be in 1..65535"),
    "port too high": (tfjob(entry(tfPort=65536)), "tfPort must be in 1..65535"),
    "negative chief": (
        tfjob(entry(), terminationPolicy=chief(index=-1)),
        "chief index -1 is out of range",
    ),
    "chief beyond the last": (
        tfjob(entry("WORKER", 2), terminationPolicy=chief("WORKER", 2)),
        "chief index 2 is out of range",
    ),
    "runtime id in capitals": (tfjob(entry(), RuntimeId="Ab"), "RuntimeId is not a DNS label"),
    "runtime id with a dot": (tfjob(entry(), RuntimeId="a.b"), "RuntimeId is not a DNS label"),
    "long runtime id": (tfjob(entry(), RuntimeId="a" * 41), "RuntimeId is not a DNS label"),
    "pods that always restart": (
        tfjob(entry(template=template(restartPolicy="Always"))),
        "restartPolicy must be OnFailure or Never",
    ),
    "entries that are no list": ({**tfjob(), "spec": {"replicaSpecs": {}}}, "must be of type"),
    "too many containers": (
        tfjob(entry(template=template(*["tensorflow"] * 101))),
        "100 items",
    ),
    "mark of default servers that is no mark": (
        tfjob(entry(IsDefaultPS="yes")),
        "must be of type boolean",
    ),
    "number as text": (tfjob({**entry(), "replicas": "1"}), "must be of type integer"),
}
REFUSED_OFFLINE: dict[str, tuple[Json, str]] = {
    "no entries": (spec(), "replicaSpecs must be specified"),
    "policy without a chief": (
        tfjob(entry(), terminationPolicy={"a": 1}),
        'invalid termination policy: {"a":1}',
    ),
    "no template": (
        tfjob({"tfReplicaType": "WORKER", "replicas": 2}),
        'Replica is missing Template; {"replicas":2,"tfPort":2222,"tfReplicaType":"WORKER"}',
    ),
    "two masters by default": (tfjob(entry(replicas=2)), "The MASTER must have Replicas = 1"),
    "no master by default": (tfjob(entry("WORKER")), "Missing ReplicaSpec for chief: MASTER"),
    "tensorboard of nothing": (
        tfjob(entry(), tensorboard={}),
        "tbReplicaSpec.LogDir must be specified",
    ),
    "chief beyond the default number": (
        tfjob(entry("WORKER"), terminationPolicy=chief("WORKER", 1)),
        "chief index 1 is out of range",
    ),
    "too many replicas": (
        tfjob(entry(), entry("WORKER", 9_000), entry("PS", 1_000)),
        "must be no more than 5000 replicas in total",
    ),
    "variables that are no objects": (
        tfjob(entry(template={"spec": {"containers": [{"name": "tensorflow", "env": [1]}]}})),
        'containers[0].env[0] in body must be of type object: "integer"',
    ),
}
