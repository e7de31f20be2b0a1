"""New TFJobs and the verdict on each: what a real API server and the offline check must agree on.

The texts are parts of what the API server says; the offline check may say more.
"""

from typing import Any

from tests.support.tfjobs import container, of_types, replica, tfjob

Json = dict[str, Any]
CONTAINERS = "spec.tfReplicaSpecs[Worker].template.spec.containers"
DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NO_CONTAINERS = f"{CONTAINERS}: Required value: must be specified"
NO_TENSORFLOW = (
    f"{CONTAINERS}: Required value: must have at least one container with name tensorflow"
)
NO_SPECS = "spec.tfReplicaSpecs: Required value"
TWO_LEADERS = "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"
MANAGERS = '"kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"'
EXTERNAL = "kueue.x-k8s.io/multikueue"


def unsupported(key: str) -> str:
    types = '"Chief", "Evaluator", "Master", "PS", "Worker"'
    return (
        f'spec.tfReplicaSpecs: Invalid value: Unsupported value: "{key}": supported values: {types}'
    )


def long_name(limit: int) -> str:
    return (
        f"metadata.name: Invalid value: must be no more than {limit} characters because pod and "
        "service names are derived from it"
    )


def spec(value: Any) -> Json:
    return {**tfjob(), "spec": value}


def worker(*containers: Any, **fields: Any) -> Json:
    return of_types(Worker=replica(1, containers=list(containers), **fields))


def ports(*found: Any) -> Json:
    return worker(container(ports=list(found)))


def policy(**fields: Any) -> Json:
    return tfjob(run_policy=fields)


def scheduling(**fields: Any) -> Json:
    return policy(schedulingPolicy=fields)


def template_metadata(**fields: Any) -> Json:
    job = tfjob()
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = fields
    return job


def old(job: Json) -> Json:
    return {**job, "apiVersion": "kubeflow.org/v1beta1"}


def named(name: str, *keys: str) -> Json:
    job = of_types(**{key: replica() for key in keys or ("Worker",)})
    return {**job, "metadata": {"name": name}}


ACCEPTED: dict[str, Json] = {
    "smallest": tfjob(),
    "all types": tfjob("C1 P2 W4 E1"),
    "master": tfjob("M1 W2"),
    "types in other letters": named("j", "WORKER", "ps", "eVALUATOR"),
    "no replicas at all": tfjob("W0"),
    "most replicas": tfjob("W4998 P1 C1", enableDynamicWorker=True),
    "replicas absent": of_types(Worker=replica(None)),
    "replicas null": of_types(Worker={**replica(), "replicas": None}),
    "longest name": named("a" * 54),
    "longest name of a type without replicas": {
        **of_types(PS=replica(), Evaluator=replica(0)),
        "metadata": {"name": "a" * 58},
    },
    "generated name": {**tfjob(), "metadata": {"generateName": "tfjob"}},
    "generated name from a long beginning": {**tfjob(), "metadata": {"generateName": "a" * 49}},
    "empty restart policy": tfjob(restart=""),
    "exit code": tfjob(restart="ExitCode"),
    "empty clean-up policy": policy(cleanPodPolicy=""),
    "old places": tfjob(
        cleanPodPolicy="All", ttlSecondsAfterFinished=0, activeDeadlineSeconds=1, backoffLimit=2
    ),
    "old place and new one": tfjob(cleanPodPolicy="All", run_policy={"cleanPodPolicy": "None"}),
    "wide deadline": policy(activeDeadlineSeconds=2**40),
    "null policies": policy(suspend=None, cleanPodPolicy=None, backoffLimit=None),
    "null run policy": tfjob(run_policy=None, runPolicy=None),
    "null success policy": tfjob(successPolicy=None),
    "all workers": tfjob(successPolicy="AllWorkers", enableDynamicWorker=True),
    "our manager": policy(managedBy="kubeflow.org/training-operator"),
    "another manager": policy(managedBy=EXTERNAL),
    "scheduling policy": scheduling(
        minAvailable=0,
        queue="q",
        priorityClass="high",
        scheduleTimeoutSeconds=1,
        minResources={"cpu": 1, "memory": "1.5Gi", "x.com/y": "1e3"},
    ),
    "sidecar and fields of tomorrow": worker(
        container(fieldOfTomorrow={"a": [None, 1.5]}, env=[{"name": "A", "value": "1"}]),
        container("sidecar"),
        otherFieldOfTomorrow=[1],
    ),
    "null in a container": worker(container(command=None, ports=None, env=None)),
    "ports": ports({"containerPort": 1}, {"containerPort": 65535, "protocol": "UDP", "name": "x"}),
    "template metadata": template_metadata(
        labels={"a": "b"},
        annotations={"c": "d"},
        finalizers=["example.com/x"],
        name="n",
        namespace="m",
        creationTimestamp=None,
    ),
    "most containers": worker(container(), *[container(f"c{n}") for n in range(99)]),
    "old version": old(tfjob()),
    "old version with both policies": old(
        tfjob(cleanPodPolicy="All", run_policy={"cleanPodPolicy": "None", "suspend": True})
    ),
}

REFUSED: dict[str, tuple[Json, list[str]]] = {
    "name begins with a digit": (
        named("00test"),
        [f"metadata.name: Invalid value: should match: {DNS_1035}"],
    ),
    "dot in the name": (named("a.b"), [f"metadata.name: Invalid value: should match: {DNS_1035}"]),
    "long name": (
        named("a" * 64),
        ["metadata.name: Invalid value: should match: must be no more than 63 characters"],
    ),
    "long name that begins with a digit": (
        named("0" * 64),
        [f"should match: must be no more than 63 characters,{DNS_1035}"],
    ),
    "generated name begins with a digit": (
        {**tfjob(), "metadata": {"generateName": "0-"}},
        [f"metadata.name: Invalid value: should match: {DNS_1035}"],
    ),
    "too long for a worker": (named("a" * 55), [long_name(54)]),
    "too long for the longest type": (named("a" * 55, "PS", "Evaluator"), [long_name(51)]),
    "too long for the last index": (
        {**tfjob("W1001"), "metadata": {"name": "a" * 52}},
        [long_name(51)],
    ),
    "generated name too long": (
        {**tfjob(), "metadata": {"generateName": "a" * 50}},
        [long_name(54)],
    ),
    "no spec": ({key: value for key, value in tfjob().items() if key != "spec"}, [NO_SPECS]),
    "null spec": (spec(None), [f"{NO_SPECS}: must be required"]),
    "list as spec": (spec([]), ["spec in body must be of type object"]),
    "spec without types": (spec({}), [NO_SPECS]),
    "null types": (spec({"tfReplicaSpecs": None}), [NO_SPECS]),
    "no types": (spec({"tfReplicaSpecs": {}}), [f"{NO_SPECS}: must be required"]),
    "list of types": (spec({"tfReplicaSpecs": []}), ["must be of type object"]),
    "null type": (
        of_types(Worker=None),
        ["spec.tfReplicaSpecs: Required value: Worker must be specified"],
    ),
    "null type beside another": (
        of_types(Worker=None, PS=replica()),
        ["spec.tfReplicaSpecs: Required value: Worker must be specified"],
    ),
    "unknown type": (of_types(Foo=replica()), [unsupported("Foo")]),
    "type in letters of another alphabet": (
        named("j", "Wor\u212aer"),
        [unsupported("Wor\u212aer")],
    ),
    "twins": (
        of_types(Worker=replica(), worker=replica()),
        ['spec.tfReplicaSpecs: Invalid value: Duplicate value: "worker"'],
    ),
    "two leaders": (tfjob("C1 M1 W1"), [TWO_LEADERS]),
    "two leaders in other letters": (named("j", "CHIEF", "master"), [TWO_LEADERS]),
    "two leaders and a twin": (
        named("j", "CHIEF", "chief", "master"),
        [TWO_LEADERS, 'Duplicate value: "chief"'],
    ),
    "two chiefs": (
        tfjob("C2"),
        ["spec.tfReplicaSpecs[Chief].replicas in body should be less than or equal to 1"],
    ),
    "two masters": (
        of_types(MASTER=replica(2)),
        ["spec.tfReplicaSpecs[MASTER].replicas in body should be less than or equal to 1"],
    ),
    "negative replicas": (
        of_types(Worker=replica(-1)),
        ["replicas in body should be greater than or equal to 0"],
    ),
    "a billion replicas": (
        tfjob("W1000000000"),
        ["replicas in body should be less than or equal to 5000"],
    ),
    "too many replicas in total": (
        tfjob("W4999 P1 C1"),
        ["spec.tfReplicaSpecs: Invalid value: must be no more than 5000 replicas in total"],
    ),
    "replicas as text": (
        of_types(Worker={**replica(), "replicas": "2"}),
        ['replicas in body must be of type integer: "string"'],
    ),
    "half a replica": (of_types(Worker={**replica(), "replicas": 1.5}), ["replicas"]),
    "unknown restart policy": (
        tfjob(restart="Sometimes"),
        ['Unsupported value: "Sometimes": supported values: "", "Always", "ExitCode", "Never"'],
    ),
    "no template": (of_types(Worker={"replicas": 1}), [NO_CONTAINERS, NO_TENSORFLOW]),
    "empty template": (of_types(Worker={"template": {}}), [NO_CONTAINERS, NO_TENSORFLOW]),
    "no containers": (worker(), [NO_CONTAINERS, NO_TENSORFLOW]),
    "null container": (worker(None), ['containers[0] in body must be of type object: "null"']),
    "container of another name": (worker(container("main")), [NO_TENSORFLOW]),
    "container without a name": (worker({"image": "img"}), [NO_TENSORFLOW]),
    "number as the name of a container": (
        worker(container(), {"name": 5, "image": "img"}),
        ["containers[1].name in body must be of type string"],
    ),
    "empty image": (
        worker(container(image="")),
        [f"{CONTAINERS}[0].image: Required value: must be required"],
    ),
    "no image": (
        worker(container(), {"name": "sidecar"}),
        [f"{CONTAINERS}[1].image: Required value: must be required"],
    ),
    "too many containers": (
        worker(container(), *[container(f"c{n}") for n in range(100)]),
        ["must have at most 100 items"],
    ),
    "port out of range": (ports({"containerPort": 65536}), ["less than or equal to 65535"]),
    "port without a number": (ports({"name": "x"}), ["ports[0].containerPort: Required value"]),
    "null port": (ports(None), ['ports[0] in body must be of type object: "null"']),
    "env as an object": (worker(container(env={})), ["env in body must be of type array"]),
    "null in env": (
        worker(container(env=[None])),
        ['env[0] in body must be of type object: "null"'],
    ),
    "label that is a number": (template_metadata(labels={"a": 1}), ["template.metadata.labels.a"]),
    "finalizers as text": (template_metadata(finalizers="x"), ["template.metadata.finalizers"]),
    "unknown manager": (
        policy(managedBy="other-job-controller"),
        [
            (
                'spec.runPolicy.managedBy: Unsupported value: "other-job-controller": '
                f"supported values: {MANAGERS}"
            )
        ],
    ),
    "empty manager": (
        policy(managedBy=""),
        [f'spec.runPolicy.managedBy: Unsupported value: "": supported values: {MANAGERS}'],
    ),
    "run policy as a list": (
        tfjob(runPolicy=[]),
        ["spec.runPolicy in body must be of type object"],
    ),
    "unknown clean-up": (
        policy(cleanPodPolicy="Unfinished"),
        [
            (
                'spec.runPolicy.cleanPodPolicy: Unsupported value: "Unfinished": '
                'supported values: "", "All", "None", "Running"'
            )
        ],
    ),
    "unknown clean-up in the old place": (
        tfjob(cleanPodPolicy="x", run_policy={"cleanPodPolicy": "All"}),
        ['spec.cleanPodPolicy: Unsupported value: "x"'],
    ),
    "negative time to live": (policy(ttlSecondsAfterFinished=-1), ["ttlSecondsAfterFinished"]),
    "negative deadline": (policy(activeDeadlineSeconds=-1), ["activeDeadlineSeconds"]),
    "negative limit": (policy(backoffLimit=-1), ["backoffLimit in body should be greater"]),
    "negative limit in the old place": (tfjob(backoffLimit=-1), ["spec.backoffLimit"]),
    "suspend as text": (policy(suspend="true"), ["suspend in body must be of type boolean"]),
    "unknown success policy": (
        tfjob(successPolicy="Any"),
        ['spec.successPolicy: Unsupported value: "Any": supported values: "", "AllWorkers"'],
    ),
    "negative minimum": (scheduling(minAvailable=-1), ["minAvailable in body should be greater"]),
    "queue as a number": (scheduling(queue=1), ["queue in body must be of type string"]),
    "no amount": (scheduling(minResources={"cpu": "lots"}), ["minResources.cpu in body should"]),
    "half an amount": (scheduling(minResources={"cpu": 1.5}), ["minResources.cpu"]),
    "old version is judged alike": (old(tfjob("C1 M1")), [TWO_LEADERS]),
    "old version without types": (old(spec({"tfReplicaSpecs": {}})), [f"{NO_SPECS}: must be"]),
}
