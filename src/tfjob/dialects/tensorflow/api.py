"""Constants of the tensorflow.org API: names, labels, replica types, phases and messages.

Scripts match these texts byte for byte.
"""

from tfjob.core.messages import Messages, MessageTemplate

GROUP = "tensorflow.org"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "TfJob"
LIST_KIND = "TfJobList"
PLURAL = "tfjobs"
SINGULAR = "tfjob"
SHORT_NAME = "tfjalpha"
OPERATOR = "tf-job-operator"

MASTER = "MASTER"
PS = "PS"
WORKER = "WORKER"
TYPES = (MASTER, PS, WORKER)
PORT_NAME = "tf-port"
PORT = 2222
IMAGE = "tensorflow/tensorflow:1.3.0"
"""The default image of parameter servers and TensorBoard."""

LABEL_GROUP = GROUP
LABEL_TYPE = "job_type"
LABEL_INDEX = "task_index"
LABEL_RUNTIME = "runtime_id"
LABEL_JOB = "tf_job_name"
LABEL_APP = "app"
CHILD_SELECTOR = f"{LABEL_GROUP}="

MAX_RUNTIME_ID_LENGTH = 40
RUNTIME_ID_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
STAND_IN = "xxxx"
"""Placeholder for the runtime id in names of children that are only displayed."""

CREATING = "Creating"
RUNNING = "Running"
CLEAN_UP = "CleanUp"
DONE = "Done"
FAILED = "Failed"
SUCCEEDED = "Succeeded"
UNKNOWN = "Unknown"

_SUCCEEDED = "JobSucceeded"
_FAILED = "JobFailed"
INVALID = "InvalidSpec"
INVALID_TEXT = "invalid job spec: "
TROUBLE_TEXT = "Could not create job resources; "
BOARD_TROUBLE = "TensorBoard {name} cannot start: {problem}"

MESSAGES = Messages(
    created=MessageTemplate("JobCreated", "TfJob {name} is created."),
    running=MessageTemplate("JobRunning", "TfJob {name} is running."),
    restarting=MessageTemplate("JobRestarting", "TfJob {name} is restarting {child}."),
    succeeded=MessageTemplate(_SUCCEEDED, "{child} exited with code {code}"),
    suspended=MessageTemplate("JobSuspended", "TfJob {name} is suspended."),
    resumed=MessageTemplate("JobResumed", "TfJob {name} is resumed."),
    failed=MessageTemplate(_FAILED, "{child} exited with code {code}", "Warning"),
    failed_exit_code=MessageTemplate(_FAILED, "{child} exited with code {code}", "Warning"),
    failed_backoff=MessageTemplate(
        _FAILED, "TfJob {name} has reached its limit of restarts.", "Warning"
    ),
    failed_deadline=MessageTemplate(_FAILED, "TfJob {name} has reached its deadline.", "Warning"),
    invalid=MessageTemplate(INVALID, INVALID_TEXT + "{detail}"),
    exited=MessageTemplate("ExitedWithCode", "Pod {pod} exited with code {code}"),
    template_policy=MessageTemplate(
        "RestartPolicyIgnored", "The template's restartPolicy is ignored."
    ),
    other_scheduler=MessageTemplate("SchedulerKept", "The template's schedulerName is kept."),
    container_terminated=MessageTemplate(
        "", "Pod {pod}: container {container} exited with code {code}: {msg}"
    ),
    container_waiting=MessageTemplate("", "Pod {pod}: container {container} is waiting: {msg}"),
    pod_condition=MessageTemplate("", "Pod {pod}: {msg}"),
    stuck_terminating=MessageTemplate(
        "PodStuckTerminating",
        "Pod {pod} on {node} is still terminating 5 minutes after its grace period",
    ),
    group_terminated=MessageTemplate(
        "PodGroupDeleted", "Deleted the PodGroup of a job that has ended"
    ),
    child_created=MessageTemplate("SuccessfulCreate", "Created {noun}: {child}"),
    child_create_failed=MessageTemplate("FailedCreate", "Error creating: {error}"),
    child_deleted=MessageTemplate("SuccessfulDelete", "Deleted {noun}: {child}"),
    child_delete_failed=MessageTemplate("FailedDelete", "Error deleting: {error}"),
    component=OPERATOR,
    master_advice="pass the cluster to a SimpleClusterResolver with the task type chief, or convert"
    " the job to kubeflow.org/v1 and name the replica type Chief",
    coordinator_advice="add a MASTER, which the program passes to TensorFlow as chief",
)
