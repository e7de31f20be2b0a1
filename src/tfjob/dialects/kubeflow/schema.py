"""The schema of a TFJob, one for all its versions, so that no version drops another's fields.

A pod template passes through as it was written: only what the rules must see is declared of it.
"""

from tfjob.core.job import MAX_REPLICAS
from tfjob.dialects.kubeflow import api, hints, rules
from tfjob.dialects.schema import (
    Schema,
    array,
    boolean,
    hinted,
    integer,
    mapping,
    moment,
    pod_metadata,
    quantities,
    record,
    ruled,
    text,
)

CLEAN_POLICIES = ("", "All", "None", "Running")
SUCCESS_POLICIES = ("", "AllWorkers")
RESTART_POLICIES = ("", "Always", "ExitCode", "Never", "OnFailure")
MAX_TYPES = 10
"""More than there are types, so that a wrong key is refused by its name, not by its number."""
MAX_CONTAINERS = 100
MAX_PORT = 65535
INT64 = 2**63 - 1


def schema(*, clean_pod_policy: str | None = None) -> Schema:
    """The whole object; the version decides which policy an absent top-level one stands for."""
    return record(
        "A distributed TensorFlow training job.",
        {
            "apiVersion": text("Version of this object's schema, such as kubeflow.org/v1."),
            "kind": text("Always TFJob."),
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": spec(clean_pod_policy),
            "status": _status(),
        },
        rules=rules.of_object(),
    )


def spec(clean_pod_policy: str | None = None) -> Schema:
    twin = "Older place of runPolicy.{}, used where that is absent."
    types = ", ".join(api.TYPES)
    return record(
        "What shall run.",
        {
            "tfReplicaSpecs": mapping(
                f"The replicas by type: {types}. Case does not matter.",
                _replica(),
                at_most=MAX_TYPES,
                rules=rules.of_types(),
            ),
            "runPolicy": _run_policy(),
            "successPolicy": text(
                "When a job without Chief or Master has succeeded: empty, with worker 0;"
                " AllWorkers, with all workers.",
                among=SUCCESS_POLICIES,
            ),
            "enableDynamicWorker": boolean(
                "Workers may come and go: each is told of itself and the PS only, and its failure"
                " does not fail the job."
            ),
            "cleanPodPolicy": text(
                twin.format("cleanPodPolicy"), among=CLEAN_POLICIES, default=clean_pod_policy
            ),
            **{key: _limit(key, twin.format(key)) for key in _LIMITS},
        },
        required=["tfReplicaSpecs"],
        rules=rules.of_spec(),
    )


_LIMITS = {
    "ttlSecondsAfterFinished": (
        "Seconds after its end when the job is deleted; absent means never."
    ),
    "activeDeadlineSeconds": "Seconds after startTime when a job that still runs fails.",
    "backoffLimit": "Restarts of all replicas together before the job fails.",
}


def _limit(key: str, about: str) -> Schema:
    return integer(about, at_most=INT64) if key == "activeDeadlineSeconds" else integer(about)


def _run_policy() -> Schema:
    return record(
        "How the job runs and ends.",
        {
            "cleanPodPolicy": text(
                "Which pods are deleted when the job ends: None (default), Running or All.",
                among=CLEAN_POLICIES,
            ),
            **{key: _limit(key, about) for key, about in _LIMITS.items()},
            "suspend": boolean("True takes all pods away until it is false again.", default=False),
            "managedBy": hinted(
                text(
                    "Which controller runs the job; absent means the operator. Cannot be changed.",
                    among=sorted(api.MANAGERS),
                ),
                remedy=hints.MANAGER,
            ),
            "schedulingPolicy": _scheduling_policy(),
        },
    )


def _scheduling_policy() -> Schema:
    about = "Queue of the PodGroup. Cannot be changed once it is set."
    queue = ruled(text(about), rules.of_queue())
    return record(
        "How a gang scheduler places the job's pods.",
        {
            "minAvailable": integer("Pods that must fit at once; absent means all."),
            "queue": queue,
            "minResources": quantities("Resources that must be free at once; absent: computed."),
            "priorityClass": text("PriorityClass of the PodGroup."),
            "scheduleTimeoutSeconds": integer("Seconds the scheduler may try before it gives up."),
        },
    )


def _replica() -> Schema:
    replica = record(
        "One replica type.",
        {
            "replicas": integer("How many, 1 where absent.", at_most=MAX_REPLICAS),
            "restartPolicy": text(
                "What happens when a replica ends: Never (default), OnFailure, Always, or"
                " ExitCode: again from 128 on (but not 128 and 139), else the job fails.",
                among=RESTART_POLICIES,
            ),
            "template": template(),
        },
        rules=rules.of_replica(),
    )
    # Else the API server would drop a null entry, and run the job without that type.
    replica["nullable"] = True
    return replica


def template() -> Schema:
    return record(
        "The pod of one replica. It needs a container named tensorflow.",
        {
            "metadata": pod_metadata(),
            "spec": record(
                "A PodSpec; every field that the API server knows for pods may stand here.",
                {"containers": _containers()},
                keeps_unknown=True,
            ),
        },
    )


def _containers() -> Schema:
    number = integer("Number of the port.", at_least=1, at_most=MAX_PORT)
    rule = f"must be a port number from 1 to {MAX_PORT}"
    port = record(
        "One port.",
        {
            "containerPort": hinted(number, absent=(rule, hints.NO_PORT)),
            "name": text(f"Name of the port; TensorFlow talks on {api.PORT_NAME}."),
            "protocol": text("TCP where absent."),
        },
        required=["containerPort"],
        keeps_unknown=True,
    )
    container = record(
        "One container.",
        {
            "name": text("Name; the one called tensorflow decides how the replica ends."),
            "image": text("Image to run."),
            "ports": array(f"Ports; {api.PORT_NAME} {api.PORT} is added where it is absent.", port),
            "env": array(
                "Variables; TF_CONFIG is added.",
                record("One variable.", {"name": text("Name.")}, keeps_unknown=True),
            ),
        },
        keeps_unknown=True,
        rules=rules.of_container(),
    )
    found = array("Containers of the pod.", container, at_most=MAX_CONTAINERS)
    return hinted(found, remedy=hints.MANY_CONTAINERS)


def _status() -> Schema:
    return record(
        "What has become of the job; written by the operator.",
        {
            "conditions": array("The job's history; the last entry is its state.", _condition()),
            "replicaStatuses": mapping("Counts by replica type.", _replica_status()),
            "startTime": moment("When the pods were ordered; anew after a suspension."),
            "completionTime": moment("When the job ended."),
            "lastReconcileTime": moment("When the job was last seen waiting for its PodGroup."),
            "limitReached": text("The limit that ended it: BackoffLimit or ActiveDeadline."),
        },
        keeps_unknown=True,
    )


def _condition() -> Schema:
    return record(
        "One thing that is, or was, so.",
        {
            "type": text("Created, Running, Restarting, Succeeded, Failed or Suspended."),
            "status": text("True, False or Unknown."),
            "reason": text("One word for programs."),
            "message": text("One sentence for people."),
            "lastUpdateTime": moment("When the entry was last written."),
            "lastTransitionTime": moment("When its status last changed."),
        },
        required=["type", "status"],
        keeps_unknown=True,
    )


def _replica_status() -> Schema:
    restart = record(
        "What was decided about one pod.",
        {
            "index": integer("Index of the replica."),
            "uid": text("UID of the pod."),
            "streak": integer("How many failures in a row."),
            "time": moment("When."),
            "cause": text("Failed, Disrupted, InPlace or Removed."),
            "inPlace": integer("Container restarts that the count does not hold yet."),
        },
        keeps_unknown=True,
    )
    return record(
        "Counts of one replica type.",
        {
            "active": integer("Pods that run."),
            "succeeded": integer("Pods that succeeded."),
            "failed": integer("Pods that failed."),
            "restarts": integer("Restarts so far, as backoffLimit counts them."),
            "completedIndexes": text("Replicas that have succeeded for good, such as 0,2-4."),
            "recentRestarts": array("What was decided about pods, each by its UID.", restart),
            "selector": text("Label selector of the type's pods."),
            "labelSelector": record("Deprecated, never written.", {}, keeps_unknown=True),
        },
        keeps_unknown=True,
    )
