"""Constants of the batch.tensorstack.dev API: names, labels, phases, conditions and messages.

Workflows and scripts match these texts byte for byte.
"""

from tfjob.core.messages import Messages, MessageTemplate

GROUP = "batch.tensorstack.dev"
VERSION = "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "TensorFlowTrainingJob"
LIST_KIND = "TensorFlowTrainingJobList"
PLURAL = "tensorflowtrainingjobs"
SINGULAR = "tensorflowtrainingjob"
SHORT_NAME = "tj"
OPERATOR = "tensorflowtrainingjob-controller"

CHIEF = "chief"
WORKER = "worker"
EVALUATOR = "evaluator"
TYPES = (CHIEF, WORKER, "ps", EVALUATOR)
RESTART_POLICIES = ("Always", "ExitCode", "Never", "OnFailure")
LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
"""Pattern of a job's name."""
FILESET = r"t9k://(pvc/[a-z0-9]([-a-z0-9.]*[a-z0-9])?(/.*)?|minio/[^/]+/[^/]+(/.*)?)"
"""Pattern of a URL of TensorBoard logs."""
PORT = 2222
PORT_NAME = "tf-port"

LABEL_JOB = "tensorflowtrainingjob"
LABEL_TYPE = "replica-type"
LABEL_INDEX = "replica-index"
LABEL_ROLE = "job-role"
LABEL_COMPONENT = "tensorstack.dev/component"
COMPONENT = "tensorflowtrainingjob"
LABEL_COMPONENT_TYPE = "tensorstack.dev/component-type"
COMPONENT_TYPE = "user"
CHILD_SELECTOR = f"{LABEL_COMPONENT}={COMPONENT}"

SCHEDULER = "t9k-scheduler"
LABEL_GROUP = "scheduler.tensorstack.dev/group-name"
LABEL_QUEUE = "scheduler.tensorstack.dev/queue"
LABEL_GROUP_ROLE = "scheduler.tensorstack.dev/role"

PENDING = "Pending"
RUNNING = "Running"
PAUSED = "Paused"
RESUMING = "Resuming"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

INITIALIZED = "Initialized"
REPLICA_FAILURE = "ReplicaFailure"
COMPLETED = "Completed"
CONDITIONS = (INITIALIZED, RUNNING, REPLICA_FAILURE, COMPLETED, FAILED, PAUSED)
"""The condition types, in the order of the status."""

CREATING = "Creating"
DELETED = "Deleted"
AGGREGATE = (CREATING, PENDING, RUNNING, SUCCEEDED, FAILED, "Unknown", DELETED)
"""The phases of replicas, in the order of the status."""

NO_REASON = "-"
STARTED = MessageTemplate("Start", "The job has been initialized successfully.")
ALL_WELL = "All pods are running normally."
ERROR_IN_POD = MessageTemplate("ErrorInPod", "Pod[{child}] exited with error code {code}")
RESUMED = "Resumed"
"""The condition's reason for what the event calls `Resuming`."""
GROUP_UNAVAILABLE = MessageTemplate(
    "PodGroupUnavailable", "The PodGroup cannot be created, so no pods are created: {error}"
)
TENSORBOARD_UNSUPPORTED = "TensorBoardUnsupported"
CREATED = MessageTemplate("Created", "A TensorFlowTrainingJob has been created: {name}")

_FAILURE = MessageTemplate(
    FAILED,
    "TensorFlowTrainingJob {name} has failed: {child} failed with exit code {code}",
    type="Warning",
)

MESSAGES = Messages(
    created=CREATED,
    running=MessageTemplate(NO_REASON, ALL_WELL),
    restarting=MessageTemplate(
        "Restart",
        "Pod {child} exited with code {code} and is recreated; restarts: {restarts}/{limit}",
        type="Normal",
    ),
    succeeded=MessageTemplate(SUCCEEDED, "The job has finished successfully."),
    suspended=MessageTemplate(
        PAUSED, "TensorFlowTrainingJob {name} is paused; its pods are deleted until it is resumed."
    ),
    resumed=MessageTemplate(
        RESUMING, "TensorFlowTrainingJob {name} is resumed; its pods are created again."
    ),
    failed=_FAILURE,
    failed_exit_code=_FAILURE,
    failed_backoff=MessageTemplate(
        FAILED,
        "TensorFlowTrainingJob {name} has failed: it has reached its backoffLimit",
        type="Warning",
    ),
    failed_deadline=MessageTemplate(
        "DeadlineExceeded",
        "TensorFlowTrainingJob {name} has failed: it ran longer than activeDeadlineSeconds",
        type="Warning",
    ),
    invalid=MessageTemplate(
        "InvalidSpec", "The spec of the job is invalid, so no pods are created: {detail}"
    ),
    exited=MessageTemplate("Exited", "Pod {pod} exited with code {code}"),
    template_policy=MessageTemplate(
        "RestartPolicyOverwritten",
        "The restartPolicy of the pod template is ignored; that of the replica spec applies",
    ),
    other_scheduler=MessageTemplate(
        "SchedulerKept", "The pod template names another scheduler, which is kept"
    ),
    container_terminated=MessageTemplate(
        "", "Pod {pod}: container {container} exited with code {code}: {msg}"
    ),
    container_waiting=MessageTemplate("", "Pod {pod}: container {container} is waiting: {msg}"),
    pod_condition=MessageTemplate("", "Pod {pod}: {msg}"),
    stuck_terminating=MessageTemplate(
        "PodStuckTerminating",
        "Pod {pod} on {node} is still terminating 5 minutes after its grace period;"
        " its replica is recreated once the pod is gone",
    ),
    group_terminated=MessageTemplate(
        "PodGroupDeleted", "The PodGroup is deleted because no pod needs it any more"
    ),
    child_created=MessageTemplate("SuccessfulCreate", "Created {noun}: {child}"),
    child_create_failed=MessageTemplate("FailedCreate", "Error creating: {error}"),
    child_deleted=MessageTemplate("SuccessfulDelete", "Deleted {noun}: {child}"),
    child_delete_failed=MessageTemplate("FailedDelete", "Error deleting: {error}"),
    component=OPERATOR,
    master_advice="name the replica type chief",
    coordinator_advice="add an entry of type chief",
    group_create_failed=GROUP_UNAVAILABLE,
)
