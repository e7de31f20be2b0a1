"""The schema of a TFJob. All versions share it, so that none prunes fields of another.

Pod templates are stored as written; only the fields that the rules need are declared.
"""

from tfjob.core.job import MAX_REPLICAS
from tfjob.dialects import diagnosis_field
from tfjob.dialects.kubeflow import api, cel_rules, defaults, validation_messages
from tfjob.dialects.schema import (
    Schema,
    array,
    boolean,
    integer,
    mapping,
    moment,
    pod_metadata,
    quantities,
    record,
    ruled,
    text,
    with_remedies,
)

CLEAN_POLICIES = ("", "All", "None", "Running")
SUCCESS_POLICIES = ("", "AllWorkers")
RESTART_POLICIES = ("", "Always", "ExitCode", "Never", "OnFailure")
MAX_TYPES = 10
"""More than there are types, so that an unknown type gets an error that names it."""
MAX_CONTAINERS = 100
MAX_PORT = 65535
INT64 = 2**63 - 1


def schema(*, clean_pod_policy: str | None = None) -> Schema:
    """The whole object, with the version's default for the top-level cleanPodPolicy."""
    return record(
        "A distributed TensorFlow training job.",
        {
            "apiVersion": text("Version of this object's schema, such as kubeflow.org/v1."),
            "kind": text("Always TFJob."),
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": spec(clean_pod_policy),
            "status": _status(),
        },
        rules=cel_rules.of_object(),
    )


def spec(clean_pod_policy: str | None = None) -> Schema:
    older = "Older form of runPolicy.{}, used if that is absent."
    types = ", ".join(api.TYPES)
    return record(
        "The desired state of the job.",
        {
            "tfReplicaSpecs": with_remedies(
                mapping(
                    f"The replicas by type: {types}. Types are case-insensitive.",
                    _replica(),
                    at_most=MAX_TYPES,
                    rules=cel_rules.of_types(),
                ),
                absent=(validation_messages.REQUIRED, validation_messages.NO_TYPES_REMEDY),
            ),
            "runPolicy": _run_policy(),
            "successPolicy": text(
                "When a job without Chief or Master succeeds: if empty, with worker 0;"
                " AllWorkers, with all workers.",
                among=SUCCESS_POLICIES,
            ),
            "enableDynamicWorker": boolean(
                "Workers may be added and removed: the TF_CONFIG of a worker lists itself and the"
                " PS only, and its failure does not fail the job."
            ),
            "cleanPodPolicy": text(
                older.format("cleanPodPolicy"), among=CLEAN_POLICIES, default=clean_pod_policy
            ),
            **{key: _limit(key, older.format(key)) for key in _LIMITS},
        },
        required=["tfReplicaSpecs"],
        rules=cel_rules.of_spec(),
    )


_LIMITS = {
    "ttlSecondsAfterFinished": (
        "Seconds after which a finished job is deleted; absent means never."
    ),
    "activeDeadlineSeconds": "Seconds after startTime after which an unfinished job fails.",
    "backoffLimit": "Restarts of all replicas together after which the job fails.",
}


def _limit(key: str, about: str) -> Schema:
    return integer(about, at_most=INT64) if key == "activeDeadlineSeconds" else integer(about)


def _run_policy() -> Schema:
    return record(
        "How the job runs and finishes.",
        {
            "cleanPodPolicy": text(
                "Which pods are deleted when the job finishes: None (default), Running or All.",
                among=CLEAN_POLICIES,
            ),
            **{key: _limit(key, about) for key, about in _LIMITS.items()},
            "suspend": boolean(
                "If true, all pods are deleted until it is false.", default=defaults.SUSPEND
            ),
            "managedBy": with_remedies(
                text(
                    "The controller that runs the job; absent means the operator. Immutable.",
                    among=sorted(api.MANAGERS),
                ),
                remedy=validation_messages.MANAGER_REMEDY,
            ),
            "schedulingPolicy": _scheduling_policy(),
        },
    )


def _scheduling_policy() -> Schema:
    about = "Queue of the PodGroup. Immutable once set."
    queue = ruled(text(about), cel_rules.of_queue())
    return record(
        "How a gang scheduler schedules the job's pods.",
        {
            "minAvailable": integer("Pods that must be schedulable together; absent means all."),
            "queue": queue,
            "minResources": quantities("Resources that must be available; computed if absent."),
            "priorityClass": text("PriorityClass of the PodGroup."),
            "scheduleTimeoutSeconds": integer("Seconds after which the scheduler gives up."),
        },
    )


def _replica() -> Schema:
    replica = record(
        "One replica type.",
        {
            "replicas": integer("Number of replicas, 1 if absent.", at_most=MAX_REPLICAS),
            "restartPolicy": text(
                "When a replica is restarted: Never (default), OnFailure, Always, or ExitCode: on"
                " exit codes above 128 except 139; other failures fail the job.",
                among=RESTART_POLICIES,
            ),
            "template": template(),
        },
        rules=cel_rules.of_replica(),
    )
    # Otherwise the API server drops a null entry, and the job runs without that type.
    replica["nullable"] = True
    return replica


def template() -> Schema:
    return record(
        "The pod template of a replica. It needs a container named tensorflow.",
        {
            "metadata": pod_metadata(),
            "spec": record(
                "A PodSpec; all fields that the API server knows for pods are allowed.",
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
            "containerPort": with_remedies(
                number, absent=(rule, validation_messages.NO_PORT_REMEDY)
            ),
            "name": text(f"Name of the port; TensorFlow uses {api.PORT_NAME}."),
            "protocol": text("Protocol, TCP if absent."),
        },
        required=["containerPort"],
        keeps_unknown=True,
    )
    container = record(
        "One container.",
        {
            "name": text("Name; the container tensorflow determines the state of the replica."),
            "image": text("Image to run."),
            "ports": array(f"Ports; {api.PORT_NAME} {api.PORT} is added if absent.", port),
            "env": array(
                "Environment variables; TF_CONFIG is added.",
                record("One variable.", {"name": text("Name.")}, keeps_unknown=True),
            ),
        },
        keeps_unknown=True,
        rules=cel_rules.of_container(),
    )
    found = array("Containers of the pod.", container, at_most=MAX_CONTAINERS)
    return with_remedies(found, remedy=validation_messages.MANY_CONTAINERS_REMEDY)


def _status() -> Schema:
    return record(
        "The observed state of the job, written by the operator.",
        {
            "conditions": array("The job's history; the last entry is its state.", _condition()),
            "replicaStatuses": mapping("Counts by replica type.", _replica_status()),
            "startTime": moment("When the job started, or was last resumed."),
            "completionTime": moment("When the job finished."),
            "lastReconcileTime": moment("When the job was last found waiting for its PodGroup."),
            "limitReached": text("The limit that failed it: BackoffLimit or ActiveDeadline."),
            "trainingCompletionTime": moment(
                "When training had succeeded and the job began to wait for its evaluator."
            ),
            diagnosis_field.NAME: diagnosis_field.schema(),
        },
        keeps_unknown=True,
    )


def _condition() -> Schema:
    return record(
        "One condition of the job.",
        {
            "type": text("Created, Running, Restarting, Succeeded, Failed or Suspended."),
            "status": text("True, False or Unknown."),
            "reason": text("Machine-readable reason."),
            "message": text("Human-readable message."),
            "lastUpdateTime": moment("When the entry was last written."),
            "lastTransitionTime": moment("When its status last changed."),
        },
        required=["type", "status"],
        keeps_unknown=True,
    )


def _replica_status() -> Schema:
    restart = record(
        "The decision about one pod.",
        {
            "index": integer("Index of the replica."),
            "uid": text("UID of the pod."),
            "streak": integer("Consecutive failures of the replica."),
            "time": moment("When it was decided."),
            "cause": text("Failed, Disrupted, Consequence, Group, InPlace or Removed."),
            "inPlace": integer("Container restarts that are not in the count yet."),
            "excused": integer("Those of them that do not count."),
            "incident": text("The incident in which its group is restarted."),
        },
        keeps_unknown=True,
    )
    return record(
        "Counts of one replica type.",
        {
            "active": integer("Running pods."),
            "succeeded": integer("Pods that succeeded."),
            "failed": integer("Pods that failed."),
            "restarts": integer("Restarts so far, as backoffLimit counts them."),
            "completedIndexes": text("Indexes of succeeded replicas, such as 0,2-4."),
            "recentRestarts": array("Decisions about pods, by UID.", restart),
            "selector": text("Label selector of the type's pods."),
            "labelSelector": record("Deprecated, never written.", {}, keeps_unknown=True),
        },
        keeps_unknown=True,
    )
